// A stop is read from its top: the one before may have been longer than the screen.

export default function ({ data }) {
  const main = document.querySelector("[data-testid=stMain]");
  if (main.dataset.stop !== undefined && main.dataset.stop !== `${data.stop}`) main.scrollTop = 0;
  main.dataset.stop = data.stop;
}
