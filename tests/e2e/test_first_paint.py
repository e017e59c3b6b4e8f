"""The first figures are painted before the browser has those below the fold to mount."""

import pytest
from driving import Visit, wait_for_chart

COUNT = """
window.atFirst = 0;
new MutationObserver(() => {
  if (!window.atFirst && document.querySelector(".js-plotly-plot .main-svg"))
    window.atFirst = document.querySelectorAll(".stPlotlyChart").length;
}).observe(document, { childList: true, subtree: true });
"""


@pytest.mark.parametrize(
    ("name", "last"),
    [pytest.param("What_if", "exchange", marks=pytest.mark.slow), ("Depth", "angles")],
)
def test_what_is_below_the_fold_comes_after_the_first_figures(
    visit: Visit, name: str, last: str
) -> None:
    page = visit("/Method")  # which has no figure
    page.add_init_script(COUNT)
    page.goto(page.url.replace("Method", name))
    wait_for_chart(page, last)
    assert 1 <= page.evaluate("window.atFirst") <= 2
