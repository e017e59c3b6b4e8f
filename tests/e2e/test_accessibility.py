"""What people who cannot see well, or use no mouse, have of every page: light and dark."""

from collections.abc import Iterator
from importlib.resources import files

import pytest
from driving import App
from playwright.sync_api import Browser, Page
from screen import PAGES

SERIOUS = ("serious", "critical")
OF_STREAMLIT: dict[str, str] = {}
"""What the pages cannot mend: the selector of an element of Streamlit's own, and why."""
CHECK = """async without => {
  const found = await axe.run(
    { exclude: [...without, '.js-plotly-plot svg'] },
    { resultTypes: ['violations'], rules: { region: { enabled: false } } },
  );
  return found.violations.flatMap(rule => rule.nodes.map(node =>
    [rule.impact, rule.id, node.target.join(' '), node.any.map(why => why.message).join('; ')]));
}"""
"""Plotly's drawings have an alternative text, and are left out: axe takes a minute for their
thousands of parts."""
DRAWN = """() => !document.querySelector('[data-testid=stStatusWidget], [data-testid=stSkeleton]')
  && [...document.querySelectorAll('.stPlotlyChart')].every(one => one.querySelector('.main-svg'))
  && document.querySelector('.stMain h1, .stMain h2, .stMain .main-svg')
  && [...document.querySelectorAll('.stElementContainer')]
    .every(one => getComputedStyle(one).opacity === '1')"""
"""And nothing is pale any more, as what is of the last run of the script is."""
AT_REST = f"""() => {{
  if (!({DRAWN})()) {{ window.drawnSince = 0; return false }}
  window.drawnSince ||= performance.now();
  return performance.now() - window.drawnSince > 1000;
}}"""
"""And stays so for a second: on a busy machine another run may be on its way."""
FAINT = """([least, kinds]) => {
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
WORDS = (
    "[data-testid=stCaptionContainer] p, .js-plotly-plot :is(.xtick, .ytick, .cbaxis, .cbtitle, "
    ".infolayer, .legend) text, .js-plotly-plot .annotation-text"
)

DARK = ("Start", "Training", "Directions", "Spectrum")
"""Pages that are looked at in the dark by default: with a map, tags, a table and a button. The
others are looked at in the light, and each in its other scheme where slow tests run."""
CASES = [
    pytest.param(
        scheme, title, marks=pytest.mark.slow if (title in DARK) == (scheme == "light") else ()
    )
    for scheme in ("light", "dark")
    for title in PAGES
]


def address(title: str) -> str:
    """Of a page."""
    name = PAGES[title].rpartition("/")[2].removesuffix(".py")
    return "/" if title == "Start" else "/" + name.partition("_")[2]


@pytest.fixture(scope="module")
def axe() -> str:
    """The script of axe-core."""
    return files("axe_playwright_python").joinpath("axe.min.js").read_text()


@pytest.fixture(scope="module")
def window(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Page]:
    """A window of a reader who has chosen a light or a dark screen."""
    context = browser.new_context(
        viewport={"width": 1280, "height": 720}, color_scheme=request.param
    )
    yield context.new_page()
    context.close()


@pytest.mark.parametrize(("window", "title"), CASES, indirect=["window"])
def test_no_page_has_a_serious_fault(window: Page, app: App, axe: str, title: str) -> None:
    window.goto(app.url + address(title))
    window.wait_for_function(AT_REST)
    window.evaluate(axe)
    found = window.evaluate(CHECK, list(OF_STREAMLIT))
    assert [one for one in found if one[0] in SERIOUS] == []
    assert window.evaluate(FAINT, [4.5, WORDS]) == []
