"""What people who cannot see well, or use no mouse, have of a page."""

from functools import cache
from importlib.resources import files

from playwright.sync_api import Page

_SERIOUS = ("serious", "critical")
_CHECK = """async () => {
  const found = await axe.run(
    { exclude: ['.js-plotly-plot svg'] },
    { resultTypes: ['violations'], rules: { region: { enabled: false } } },
  );
  return found.violations.flatMap(rule => rule.nodes.map(node =>
    [rule.impact, rule.id, node.target.join(' '), node.any.map(why => why.message).join('; ')]));
}"""
"""Plotly's drawings have an alternative text, and are left out: axe takes a minute for their
thousands of parts."""
_DRAWN = """() => !document.querySelector('[data-testid=stStatusWidget], [data-testid=stSkeleton]')
  && [...document.querySelectorAll('.stPlotlyChart')].every(one => one.querySelector('.main-svg'))
  && document.querySelector('.stMain h1, .stMain h2, .stMain .main-svg')
  && [...document.querySelectorAll('.stElementContainer')]
    .every(one => getComputedStyle(one).opacity === '1')"""
"""And nothing is pale any more, as what is of the last run of the script is."""
AT_REST = f"""() => {{
  if (!({_DRAWN})()) {{ window.drawnSince = 0; return false }}
  window.drawnSince ||= performance.now();
  return performance.now() - window.drawnSince > 1000;
}}"""
"""And stays so for a second: on a busy machine another run may be on its way."""
_FAINT = """([least, kinds]) => {
  const numbers = text => text.match(/[\\d.]+/g).map(Number);
  const over = ([r, g, b, a = 1], under) => [r, g, b].map((c, i) => a * c + (1 - a) * under[i]);
  const light = color => color.map(c => c / 255)
    .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = numbers(getComputedStyle(document.querySelector('.stApp')).backgroundColor);
  return [...document.querySelectorAll(kinds)]
    .filter(text => text.textContent.trim() && getComputedStyle(text).visibility !== 'hidden')
    .map(text => {
      const { fill, color, fillOpacity, opacity } = getComputedStyle(text);
      const own = text.closest('svg') ? fill : color;
      const [r, g, b, a = 1] = own.startsWith('color(srgb')
        ? numbers(own.slice(10)).map((c, i) => i < 3 ? 255 * c : c) : numbers(own);
      const shown = [light(over([r, g, b, a * fillOpacity * opacity], ground)), light(ground)];
      const [high, low] = shown.sort((x, y) => y - x);
      return [(high + 0.05) / (low + 0.05), text.textContent];
    })
    .filter(([contrast]) => contrast < least)
    .map(([contrast, text]) => `${contrast.toFixed(2)}: ${text}`);
}"""
"""Texts whose contrast with the page is less than this."""
_WORDS = (
    "[data-testid=stCaptionContainer] p, .js-plotly-plot :is(.xtick, .ytick, .cbaxis, .cbtitle, "
    ".infolayer, .legend) text, .js-plotly-plot .annotation-text"
)
_MOST_STOPS = 250
_MARK = """() => {
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
_STOP = """async () => {
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

_AT_ONCE = "* { transition: none !important }"
"""What is looked at the moment that the keyboard comes has no time to change by and by."""
COVERED = """() => [...document.querySelectorAll('.js-plotly-plot')].flatMap(plot => {
  const bar = plot.querySelector('.modebar')?.getBoundingClientRect();
  const all = plot.getBoundingClientRect();
  const around = [plot, plot.closest('.stElementContainer')];
  if (bar && around.some(one => getComputedStyle(one).overflow !== 'visible')) return ['cut off'];
  const words = [...plot.querySelectorAll('.infolayer text, .legend text, .xtick text')]
    .filter(word => getComputedStyle(word).visibility !== 'hidden'
      && word.getBoundingClientRect().width);
  return words.filter(word => {
    const box = word.getBoundingClientRect();
    if (box.left < all.left - 2 || box.right > all.right + 2) return true;
    return bar && box.width && box.left < bar.right && bar.left < box.right
      && box.top < bar.bottom && bar.top < box.bottom;
  }).map(word => word.textContent);
})"""
"""The words of figures that their buttons lie on, or that are cut off; and buttons out of reach."""

_IS_AT = """label => {
  let at = document.activeElement;
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  const whole = at?.closest('button, label, [role=radiogroup]');
  return at?.ariaLabel === label || Boolean(whole?.textContent.includes(label));
}"""


@cache
def _axe() -> str:
    return files("axe_playwright_python").joinpath("axe.min.js").read_text()


def faults(page: Page) -> list[object]:
    """What axe finds that is serious, and texts that are too faint, once the page is at rest."""
    page.wait_for_function(AT_REST)
    page.evaluate(_axe())
    found = page.evaluate(_CHECK)
    return [one for one in found if one[0] in _SERIOUS] + page.evaluate(_FAINT, [4.5, _WORDS])


def tab_through(page: Page) -> tuple[list[str], list[str]]:
    """What the tab key does not come to, and where it is not seen that the keyboard is there."""
    page.add_style_tag(content=_AT_ONCE)
    page.evaluate(_MARK)
    unseen = []
    for _ in range(_MOST_STOPS):
        page.keyboard.press("Tab")
        if stop := page.evaluate(_STOP):
            name, is_seen = stop
            unseen += [name] * (not is_seen)
        if not page.evaluate("groups.size"):
            break
    return page.evaluate("[...groups.values()]"), unseen


def tab_to(page: Page, label: str) -> None:
    """Press the tab key until the keyboard is at what has this label, or holds this text."""
    for _ in range(_MOST_STOPS):
        page.keyboard.press("Tab")
        if page.evaluate(_IS_AT, label):
            return
    raise AssertionError(f"the tab key does not come to {label}")
