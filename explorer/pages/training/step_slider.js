// A slider over the checkpoints of a training run, with buttons and a way to play them.
//
// Streamlit's own tells of a value when the mouse is let go; this one while it moves. It asks for
// one step at a time and for the next once the figures of the last are here, so that however fast
// it is dragged, figures keep coming, and the last one is that of the step where it rests.
//
// Beside the step it tells its pace: "dragged" wants what changes most, at once; "resting" all that
// belongs to the step, and "playing" all but the link. For what a resting step still lacks the next
// step does not wait: it cuts that short, and answers to anything older are passed over.

const PAUSE = 600; // milliseconds for which each step stays while it plays
const CALM = 500; // after which a slider that was let go rests: quick steps need not wait for all
const AWAY = 2000; // after a click elsewhere by which a script runs, if it led to another page
const ENDED = 300; // after a script by which the page that it drew is there
const SOON = 100; // after which it looks again whether a script runs
const BUSY = ["running", "rerunRequested", "stopRequested"]; // Streamlit's words for it
const PATIENCE = 5000; // after which an answer is taken for lost

export default function ({ parentElement, data, setStateValue }) {
  parentElement.slider ??= new StepSlider(parentElement);
  parentElement.slider.answer(data, setStateValue);
}

class StepSlider {
  constructor(root) {
    const find = (name) => root.querySelector(name);
    this.root = root;
    this.input = find("input");
    this.output = find("output");
    this.ticks = find(".ticks");
    this.player = find(".play");
    this.wanted = null; // what is not asked for yet: { index, pace }
    this.asked = null; // what the last answer has to be of: { step, pace }
    this.lostAt = 0; // when that answer counts as lost
    this.heldUntil = 0; // until when a click elsewhere may still lead to another page
    this.input.addEventListener("input", () => this.drag(this.index));
    this.input.addEventListener("change", () => this.rest());
    find(".back").addEventListener("click", () => this.drag(this.index - 1).rest());
    find(".on").addEventListener("click", () => this.drag(this.index + 1).rest());
    this.player.addEventListener("click", () => (this.playing ? this.rest() : this.play()));
    this.heedClicks();
  }

  get index() {
    return Number(this.input.value);
  }

  get waits() {
    return this.asked !== null && Date.now() < this.lostAt;
  }

  answer(data, tell) {
    this.tell = tell;
    if (this.waits && !(data.step === this.asked.step && data.pace === this.asked.pace)) return;
    this.asked = null;
    if (String(data.steps) + data.measured !== this.drawn) this.drawTicks(data);
    this.data = data;
    if (this.wanted) return this.ask();
    this.show(data.steps.indexOf(data.step));
    if (this.playing) this.later(() => this.advance(), PAUSE);
  }

  // A click elsewhere may lead to another page, which the server would take back to draw a
  // fragment that is no longer there: until it is clear that it did not, nothing is asked for.
  heedClicks() {
    const heed = (event) => {
      if (!this.root.isConnected) document.removeEventListener("click", heed, true);
      else if (!event.composedPath().includes(this.root)) this.heldUntil = Date.now() + AWAY;
    };
    document.addEventListener("click", heed, true);
  }

  get mayLeave() {
    if (!this.heldUntil) return false;
    const { testScriptState } = document.querySelector("[data-testid=stApp]").dataset;
    if (BUSY.includes(testScriptState))
      this.heldUntil = Math.max(this.heldUntil, Date.now() + ENDED);
    if (Date.now() > this.heldUntil) this.heldUntil = 0;
    return this.heldUntil > 0;
  }

  drag(index) {
    this.stop();
    this.heldUntil = 0;
    this.want(index, "dragged");
    return this;
  }

  rest() {
    this.stop();
    this.later(() => this.want(this.index, "resting"), CALM);
  }

  want(index, pace) {
    index = Math.min(Math.max(index, 0), this.data.steps.length - 1);
    this.wanted = { index, pace };
    this.show(index);
    this.ask();
  }

  ask() {
    if (!this.wanted || !this.root.isConnected) return;
    if (this.mayLeave) return this.later(() => this.ask(), SOON);
    if (this.waits && this.asked.pace !== "resting")
      return this.later(() => this.ask(), this.lostAt - Date.now());
    const step = this.data.steps[this.wanted.index];
    const { pace } = this.wanted;
    this.wanted = null;
    const last = this.waits ? this.asked : this.data;
    if (step === last.step && pace === last.pace) return;
    this.asked = { step, pace };
    this.lostAt = Date.now() + PATIENCE;
    this.tell("at", this.asked);
  }

  play() {
    this.playing = true;
    this.showPlayer();
    if (this.next() < 0) this.want(this.data.measured.indexOf(true), "playing");
    else this.advance();
  }

  advance() {
    const next = this.next();
    if (next < 0) this.rest();
    else this.want(next, "playing");
  }

  // What is not measured is left out.
  next() {
    return this.data.measured.indexOf(true, this.index + 1);
  }

  stop() {
    this.playing = false;
    clearTimeout(this.timer);
    this.showPlayer();
  }

  later(act, milliseconds) {
    clearTimeout(this.timer);
    this.timer = setTimeout(act, milliseconds);
  }

  show(index) {
    const step = this.data.steps[index].toLocaleString("en");
    this.input.value = index;
    this.input.setAttribute("aria-valuetext", `step ${step}`);
    this.output.textContent = `Step ${step}`;
  }

  showPlayer() {
    this.player.textContent = this.playing ? "❚❚" : "▶";
    this.player.setAttribute("aria-label", this.playing ? "Pause" : "Play");
  }

  drawTicks({ steps, measured }) {
    this.drawn = String(steps) + measured;
    this.input.max = steps.length - 1;
    const stride = Math.ceil(steps.length / 16);
    this.ticks.replaceChildren(
      ...steps.map((step, index) => {
        const tick = document.createElement("span");
        tick.style.left = `${(100 * index) / Math.max(1, steps.length - 1)}%`;
        tick.classList.toggle("missing", !measured[index]);
        tick.textContent = index % stride ? "" : step;
        return tick;
      }),
    );
  }
}
