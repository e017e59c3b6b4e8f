"""The Generalization page in a browser: a click on a model shows its prompts, and a link does."""

import re
from urllib.parse import quote_plus

import pytest
from driving import DOUBLE_CLICK, App, Visit, wait_for_chart
from playwright.sync_api import Page, expect
from sweep_table import plant, sweep_of, zoo

from coupling_core.analysis.findings import Question
from coupling_core.experiments.sweeps.report import report
from coupling_core.store.disk import Store

pytestmark = pytest.mark.slow

MOST_NODES = 5000
PHONE = 390
TABLE = sweep_of(zoo())
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>"

WHERE = """() => {
  const plot = document.querySelector('.st-key-performance .js-plotly-plot');
  const area = plot.querySelector('.nsewdrag').getBoundingClientRect();
  const {xaxis, yaxis} = plot._fullLayout;
  return plot.calcdata.filter(points => points[0].trace.customdata).flatMap(points =>
    points.map((point, i) => ({
      model: points[0].trace.customdata[i],
      x: xaxis.d2p(point.x) + area.x, y: yaxis.d2p(point.y) + area.y})));
}"""
"""Where each model's point is on the screen."""


@pytest.fixture(scope="module", autouse=True)
def planted(app: App) -> None:
    """A sweep in the server's store."""
    plant(Store(app.store), TABLE)


def click_loneliest(page: Page) -> str:
    """Click the point that is farthest from all others, and say whose it is."""
    page.locator(".st-key-performance").scroll_into_view_if_needed()
    points = page.evaluate(WHERE)

    def room(point):
        others = [p for p in points if p is not point]
        return min((point["x"] - p["x"]) ** 2 + (point["y"] - p["y"]) ** 2 for p in others)

    best = max(points, key=room)
    page.mouse.click(best["x"], best["y"])
    page.wait_for_timeout(DOUBLE_CLICK)
    return best["model"]


def prompts(page: Page) -> tuple[str, list[float]]:
    """The alternative text of the figure of one model's prompts, and its dots."""
    wait_for_chart(page, "prompt")
    plot = page.locator(".st-key-prompt .js-plotly-plot").first
    dots = plot.evaluate(
        "plot => plot.calcdata.find(points => points[0].trace.name === 'prompts').map(p => p.y)"
    )
    return plot.evaluate("plot => plot.layout.meta.alt"), dots


def test_a_click_on_a_model_shows_its_prompts_and_a_link_carries_it(visit: Visit) -> None:
    page = visit("/Generalization")
    wait_for_chart(page, "correlation-by-k")
    assert page.evaluate("document.querySelectorAll('*').length") < MOST_NODES
    before, model = prompts(page), click_loneliest(page)
    expect(page).to_have_url(re.compile(rf"[?&]of={re.escape(quote_plus(model))}(&|$)"))
    page.wait_for_function(
        """model => document.querySelector('.st-key-prompt .js-plotly-plot')
            ?.layout.meta.alt.startsWith(`Coupling of ${model} against `)""",
        arg=model,
    )
    alt, dots = prompts(page)
    own = TABLE[(TABLE["model"] == model) & (TABLE["k"] == 4)]["corrected"]
    assert dots != before[1]
    assert dots == pytest.approx(list(own), rel=1e-5)
    fresh = visit(page.url.split("/", 3)[-1].join(("/", "")))
    wait_for_chart(fresh, "correlation-by-k")
    assert prompts(fresh) == (alt, dots)
    expect(fresh.get_by_test_id("stException")).to_have_count(0)


def test_it_fits_a_phone(visit: Visit) -> None:
    page = visit("/Generalization", width=PHONE, height=800)
    wait_for_chart(page, "correlation-by-k")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE
    wider = """width => [...document.querySelectorAll('.stMain .js-plotly-plot, .stMain p')]
        .filter(one => one.getBoundingClientRect().right > width + 1).map(one => one.outerHTML)"""
    assert page.evaluate(wider, PHONE) == []


def test_a_report_opens_without_the_network_and_runs_no_name(browser, tmp_path) -> None:
    hostile = {"model": {"Alpha-0": HOSTILE}, "family": {"Beta": HOSTILE}}
    plan = {"title": HOSTILE, "origins": [{"source": HOSTILE, "n": 1, "sha256": HOSTILE}]}
    path = tmp_path / "report.html"
    path.write_bytes(report(plan, TABLE.replace(hostile), Question(4)))
    context = browser.new_context()
    page, asked, said = context.new_page(), [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(path.as_uri())
    page.wait_for_function("document.querySelectorAll('[role=img] .main-svg').length >= 10")
    expect(page.get_by_role("heading", level=1)).to_have_text(HOSTILE)
    assert [url for url in asked if not url.startswith("data:")] == [path.as_uri()]
    assert said == []
    context.close()
