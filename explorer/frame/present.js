// A lecture: arrow keys lead from figure to figure, and on the tour past answered questions from
// stop to stop; Escape leaves; a spot follows the pointer, so that the last row sees where it points.

const NEXT = ["ArrowRight", "ArrowDown", "PageDown"];
const BACK = ["ArrowLeft", "ArrowUp", "PageUp"];
const OWN = "input, textarea, select, [role=slider], [role=radio], [role=tab], [contenteditable]";
const UNANSWERED = "[class*='st-key-tour-'][class*='-skip']"; // a question of the tour
const HEADING = 2; // letters of the root's size that a figure leaves of the screen for its heading
const EDGE = 8; // pixels that a figure may be off where it is taken for the one on the screen

export default function () {
  const spot = document.createElement("div");
  spot.className = "present-spot";
  document.body.append(spot);
  const follow = (event) => {
    spot.style.transform = `translate(${event.clientX}px, ${event.clientY}px)`;
    spot.style.visibility = "visible";
  };
  const press = (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "Escape") return click(".st-key-present-leave");
    if (event.target.closest(OWN)) return; // where arrows have a meaning of their own
    const way = NEXT.includes(event.key) ? 1 : BACK.includes(event.key) ? -1 : 0;
    if (!way) return;
    event.preventDefault();
    if (move(way) || (way > 0 && document.querySelector(UNANSWERED))) return;
    click(way > 0 ? ".st-key-tour-next" : ".st-key-tour-back");
  };
  document.addEventListener("pointermove", follow);
  document.addEventListener("keydown", press);
  return () => {
    spot.remove();
    document.removeEventListener("pointermove", follow);
    document.removeEventListener("keydown", press);
  };
}

function click(where) {
  document.querySelector(`${where} button:not(:disabled)`)?.click();
}

// To the figure or question before or behind the one on the screen; whether there is one.
function move(way) {
  const main = document.querySelector("[data-testid=stMain]");
  const heading = HEADING * parseFloat(getComputedStyle(document.documentElement).fontSize);
  const tops = [...document.querySelectorAll("[class*='st-key-'][class*='-frame']")]
    .map((one) => one.getBoundingClientRect().top + main.scrollTop - heading)
    .sort((a, b) => a - b);
  const here = main.scrollTop;
  const end = main.scrollHeight - main.clientHeight;
  const further = tops.map((top) => Math.min(top, end)).filter((top) => (top - here) * way > EDGE);
  const to = way > 0 ? further[0] : further.at(-1) ?? (here > EDGE ? 0 : undefined);
  if (to === undefined) return false;
  main.scrollTo({ top: to, behavior: "smooth" });
  return true;
}
