"""Who has a keyboard and no mouse reaches all that can be used, and sees where they are."""

import re

import pytest
from driving import Visit, wait_for_chart
from playwright.sync_api import Page, expect

MOST_STOPS = 250
MARK = """() => {
  const seen = one => one.checkVisibility({ visibilityProperty: true, opacityProperty: true })
    && one.getBoundingClientRect().width > 0 && !one.closest('[inert], [aria-hidden=true]');
  const kinds = 'a[href], button, input, textarea, select, summary, [role=radio], [tabindex]';
  const every = root => [...root.querySelectorAll('*')].flatMap(one =>
    [...(one.matches(kinds) ? [one] : []), ...(one.shadowRoot ? every(one.shadowRoot) : [])]);
  const used = every(document).filter(one => seen(one) && !one.disabled
    && one.getAttribute('tabindex') !== '-1' || one.matches('[role=radio]') && seen(one));
  window.groups = new Map();
  window.look = one => { const { outlineStyle, outlineWidth, boxShadow, borderColor,
    backgroundColor } = getComputedStyle(one);
    return [outlineStyle !== 'none' && outlineWidth !== '0px', boxShadow, borderColor,
      backgroundColor].join(); };
  window.around = one => { const line = [];
    for (let at = one; at && line.length < 6; at = at.parentElement) line.push(window.look(at));
    return line; };
  window.before = new Map(used.map(one => [one, window.around(one)]));
  for (const one of used) {
    const group = one.closest('[role=radiogroup]') ?? one;
    if (!window.groups.has(group)) window.groups.set(group, one.ariaLabel || one.textContent.trim()
      || one.closest('[data-testid]')?.dataset.testid || one.outerHTML.slice(0, 90));
  }
}"""
"""Everything on the page that can be used: a group of radio buttons is one stop, of arrow keys."""
STOP = """async () => {
  const frame = () => new Promise(requestAnimationFrame);
  await frame();  // who reacts to the keyboard draws it in the next one
  await frame();
  let at = document.activeElement;
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  if (!at || at === document.body) return null;
  window.groups.delete(at.closest('[role=radiogroup]') ?? at);
  const outline = getComputedStyle(at);
  const isDrawn = outline.outlineStyle !== 'none' && outline.outlineWidth !== '0px';
  const before = window.before.get(at) ?? [];
  return [at.ariaLabel || at.textContent.trim().slice(0, 40) || at.outerHTML.slice(0, 90),
    isDrawn || window.around(at).some((look, i) => look !== before[i])];
}"""
"""Where the keyboard is, and whether that is seen."""

AT_ONCE = "* { transition: none !important }"
"""What is looked at the moment that the keyboard comes has no time to change by and by."""


@pytest.mark.parametrize(
    ("address", "key"),
    [
        ("/", "matrix-untrained"),
        pytest.param("/Depth", "angles", marks=pytest.mark.slow),
        pytest.param("/Tokens", "singular-values", marks=pytest.mark.slow),
        ("/Training", "paths"),
    ],
)
def test_the_tab_key_comes_to_all_that_can_be_used(visit: Visit, address: str, key: str) -> None:
    page = visit(address, width=1280, height=720)
    wait_for_chart(page, key)
    page.add_style_tag(content=AT_ONCE)
    page.evaluate(MARK)
    unseen, stops = [], 0
    while stops < MOST_STOPS and page.evaluate("groups.size"):
        page.keyboard.press("Tab")
        stops += 1
        if stop := page.evaluate(STOP):
            name, is_seen = stop
            unseen += [name] * (not is_seen)
    assert page.evaluate("[...groups.values()]") == []
    assert unseen == []


def test_a_pair_is_chosen_without_a_mouse(visit: Visit) -> None:
    page = visit("/")
    wait_for_chart(page, "matrix-untrained")
    tab_to(page, "Block l (Jacobian)")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"block=\d+"))
    block = re.search(r"block=(\d+)", page.url)
    assert block is not None
    expect(page.get_by_text(f"Blocks {block[1]} and ").first).to_be_visible()


def test_a_step_of_training_is_chosen_without_a_mouse(visit: Visit) -> None:
    page = visit("/Training")
    wait_for_chart(page, "paths")
    tab_to(page, "Training step")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_text(re.compile("^Step 1: mean"))).to_be_visible()


def tab_to(page: Page, label: str) -> None:
    """Press the tab key until the keyboard is where this label is."""
    there = page.get_by_label(label, exact=True)
    for _ in range(MOST_STOPS):
        page.keyboard.press("Tab")
        if there.evaluate(
            "one => one.getRootNode().activeElement === one || document.activeElement === one"
        ):
            return
    raise AssertionError(f"the tab key does not come to {label}")
