// Tells the page once the browser has painted its first figure, or that none came.

const PATIENCE = 10_000; // milliseconds

export default function ({ setTriggerValue }) {
  const end = performance.now() + PATIENCE;
  const look = () => {
    if (document.querySelector(".js-plotly-plot .main-svg") || performance.now() > end)
      setTimeout(() => setTriggerValue("painted", true)); // after the frame that shows it
    else requestAnimationFrame(look);
  };
  look();
}
