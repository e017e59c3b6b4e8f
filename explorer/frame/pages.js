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
    if (row) row.scrollLeft += middle(link) - middle(row);
  }
}

function middle(element) {
  const { left, width } = element.getBoundingClientRect();
  return left + width / 2;
}
