// The camera's files are for paper, whatever the page's theme: plotly takes what it draws from the
// figure while its button is clicked, and for as long the figure is one for paper.

export default function ({ data }) {
  const click = (event) => {
    const button = event.target.closest(".modebar-btn[data-title^=Download]");
    const plot = button?.closest(".js-plotly-plot");
    if (!plot) return;
    const { data: traces, layout } = plot;
    plot.data = traces.map((trace) => inked(trace, trace.meta, data));
    plot.layout = onPaper(layout, data);
    setTimeout(() => Object.assign(plot, { data: traces, layout }));
  };
  document.addEventListener("click", click, true);
  return () => document.removeEventListener("click", click, true);
}

function onPaper(layout, paper) {
  const shapes = layout.shapes?.map((shape) => inked(shape, shape.legendgroup, paper));
  const template = { ...layout.template, layout: colored(layout.template.layout, paper) };
  return { ...layout, ...(shapes && { shapes }), template };
}

// What a dark page has in white.
function inked(part, mark, { ink, inked }) {
  if (mark !== inked) return part;
  const found = { ...part };
  for (const name of ["line", "marker", "textfont"])
    if (found[name]) found[name] = { ...found[name], color: ink };
  return found;
}

// The theme's colours: of words, of grounds, and of the lines of axes.
function colored(part, paper) {
  if (Array.isArray(part) || typeof part !== "object" || part === null) return part;
  const of = ([name, value]) => {
    if (typeof value !== "string") return [name, colored(value, paper)];
    if (name === "color") return [name, paper.ink];
    if (name.endsWith("bgcolor")) return [name, "white"];
    return [name, /^(grid|zeroline|line|tick)color$/.test(name) ? paper.faint : value];
  };
  return Object.fromEntries(Object.entries(part).map(of));
}
