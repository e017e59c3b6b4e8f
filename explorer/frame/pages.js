// The link to the page that is shown, named as such to screen readers; and the sidebar, which begins
// at its top on each page.

const PATIENCE = 100; // frames in which links may still come, as a page or the menu is being drawn

export default function ({ data }) {
  mark(data.here, PATIENCE);
  begin(data.here);
  const listen = (event) => {
    // The links of the menu are there while it is open.
    if (event.target.closest(".st-key-pages-menu")) mark(data.here, PATIENCE);
  };
  document.addEventListener("click", listen);
  return () => document.removeEventListener("click", listen);
}

function mark(here, patience) {
  for (const link of document.querySelectorAll("[class*=st-key-pages] a"))
    if (link.textContent.trim() !== here) link.removeAttribute("aria-current");
    else link.setAttribute("aria-current", "page");
  if (patience) requestAnimationFrame(() => mark(here, patience - 1));
}

function begin(here) {
  const side = document.querySelector("[data-testid=stSidebarContent]");
  if (!side || side.dataset.page === here) return;
  side.dataset.page = here;
  side.scrollTop = 0;
}
