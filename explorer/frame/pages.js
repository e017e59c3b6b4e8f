// The link to the page that is shown: named as such to screen readers, and, where the links are a
// row that is swept sideways, brought into sight.

const PATIENCE = 100; // frames for which the links may be missing, as the page is being drawn

export default function ({ data }) {
  mark(data.here, PATIENCE);
}

function mark(here, patience) {
  const links = [...document.querySelectorAll("[class*=st-key-pages] a")];
  const shown = links.filter((link) => link.textContent.trim() === here);
  if (shown.length < 2) {
    if (patience) requestAnimationFrame(() => mark(here, patience - 1));
    return;
  }
  for (const link of links) link.removeAttribute("aria-current");
  for (const link of shown) {
    link.setAttribute("aria-current", "page");
    const row = link.closest(".st-key-pages");
    if (row) keepInSight(link, row);
  }
}

// The links take their widths late, from a font that is still to come and from neighbours that are
// drawn after them: whenever one of them does, the row is swept to the page again.
function keepInSight(link, row) {
  const sweep = () => (row.scrollLeft += middle(link) - middle(row));
  row.widths?.disconnect();
  row.widths = new ResizeObserver(sweep);
  for (const part of [row, ...row.children]) row.widths.observe(part);
}

function middle(element) {
  const { left, width } = element.getBoundingClientRect();
  return left + width / 2;
}
