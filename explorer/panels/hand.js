// A click on a figure, by mouse, pen or finger: what lies there is told to the page.
//
// Plotly knows what lies under the pointer, and tells of it as a click; but of one tap it tells
// twice (of the finger, and of the mouse that browsers make of it), and it also tells of the end of
// a drag, and late of a swipe that has scrolled the page. So one click is taken for each press of
// the pointer that is let go where it began.

const STILL = 10; // pixels that a finger may slip without meaning to

export default function ({ parentElement, setTriggerValue }) {
  parentElement.hand ??= new Hand(parentElement);
  parentElement.hand.tell = (values) => setTriggerValue("picked", values);
  return () => {
    parentElement.hand?.leave();
    delete parentElement.hand;
  };
}

// What is clicked. Plotly looks where the pointer is every 50 ms at most, and a click that comes
// sooner would be taken for one on the cell that the pointer came from.
function under({ customdata, fullData, xaxis, yaxis }, { clientX, clientY }, plot) {
  if (fullData.type !== "heatmap" || !fullData.customdata) return customdata;
  const area = plot.querySelector(".nsewdrag").getBoundingClientRect();
  const row = nearest(fullData.y, yaxis.p2d(clientY - area.y));
  return fullData.customdata[row][nearest(fullData.x, xaxis.p2d(clientX - area.x))];
}

// The place of the nearest of ascending values; between two cells it is the later one.
function nearest(values, at) {
  const away = Array.from(values, (value) => Math.abs(value - at));
  const least = Math.min(...away) + 1e-6;
  return away.findLastIndex((one) => one <= least);
}

class Hand {
  constructor(root) {
    this.take = this.take.bind(this);
    this.left = new AbortController();
    const { signal } = this.left;
    const figure = root.getRootNode().host.closest(".stVerticalBlock");
    figure.addEventListener("pointerdown", (event) => this.press(event), { signal });
    // Plotly lays a cover over the page while the mouse is down.
    window.addEventListener("pointerup", (event) => this.release(event), { signal, capture: true });
    window.addEventListener("pointercancel", () => this.end(), { signal });
  }

  leave() {
    this.end();
    this.left.abort();
  }

  press(event) {
    this.end();
    this.plot = event.target.closest(".js-plotly-plot");
    if (!this.plot || !event.isPrimary || event.button !== 0) return;
    this.from = event;
    this.plot.on("plotly_click", this.take);
  }

  release(event) {
    if (!this.from || event.pointerId !== this.from.pointerId) return;
    const away = Math.hypot(event.clientX - this.from.clientX, event.clientY - this.from.clientY);
    if (away > STILL) this.end();
  }

  end() {
    this.plot?.removeListener("plotly_click", this.take);
    this.plot = this.from = null;
  }

  take({ points: [point], event }) {
    const found = point && under(point, event, this.plot);
    this.end();
    if (found === undefined || found === null) return;
    this.tell(ArrayBuffer.isView(found) ? Array.from(found) : [found].flat());
  }
}
