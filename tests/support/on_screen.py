"""Where the parts of figures are on a browser's screen, and what the figures draw."""

import random
import re
from typing import Any

from accessible import AT_REST
from driving import DOUBLE_CLICK, wait_for_chart
from playwright.sync_api import Page, expect

MAPS = ("scores", "matrix-trained", "matrix-untrained")
"""Of the page Start."""
BASIS = "Block l' (basis)"
PLACES = 5
"""Of a cell: its middle and its corners."""

_PLACES_OF_A_CELL = """([key, [row, column]]) => {
  const plot = document.querySelector(`.st-key-${key} .js-plotly-plot`);
  document.querySelector(`.st-key-${key}`).scrollIntoView({block: 'nearest', behavior: 'instant'});
  const {xaxis, yaxis} = plot._fullLayout;
  const area = plot.querySelector('.nsewdrag').getBoundingClientRect();
  const {x, y} = plot._fullData.find(trace => trace.name === 'pairs');
  const ends = (start, axis, middles, at) => [-0.5, 0, 0.5].map(way =>
    start + axis.d2p(middles[at - 1] + way * (middles[1] - middles[0])));
  const [left, centre, right] = ends(area.x, xaxis, x, column);
  const [top, middle, bottom] = ends(area.y, yaxis, y, row);
  const [first, last] = [Math.ceil(left), Math.ceil(right) - 1];
  const [upper, lower] = [Math.ceil(top), Math.ceil(bottom) - 1];
  return [[Math.round(centre), Math.round(middle)],
    [first, upper], [last, upper], [first, lower], [last, lower]];
}"""
_POINTS = """([key, name]) => {
  const plot = document.querySelector(`.st-key-${key} .js-plotly-plot`);
  const {xaxis, yaxis} = plot._fullLayout;
  const area = plot.querySelector('.nsewdrag').getBoundingClientRect();
  return plot.calcdata.filter(([{trace}]) =>
    trace.customdata && (!name || trace.name === name)).flatMap(points =>
    points.map((point, i) => [String(points[0].trace.customdata[i]),
      xaxis.d2p(point.x) + area.x, yaxis.d2p(point.y) + area.y]));
}"""
_PAIRS = """key => document.querySelector(`.st-key-${key} .js-plotly-plot`)
  ._fullData.find(trace => trace.name === 'pairs').customdata"""
_IS_HOVERED = """([key, pair]) => document.querySelector(`.st-key-${key} .js-plotly-plot`)
  ._hoverdata?.some(({customdata}) => [...customdata].join() === pair.join())"""
_DRAWN = """() => [...document.querySelectorAll('.js-plotly-plot')].map(plot => JSON.stringify(
  plot.data.map(t => [t.name, t.x, t.y, t.z, t.text])))"""
_LISTEN = """() => {
  const send = WebSocket.prototype.send;
  window.asked = 0;
  WebSocket.prototype.send = function (...said) {
    window.asked += 1;
    return send.apply(this, said);
  };
}"""
_PLOT = """key => {
  const figure = document.querySelector(`.st-key-${key}`);
  const drawn = figure.querySelector('.nsewdrag').getBoundingClientRect();
  const title = figure.querySelector('.xtitle, .g-xtitle').getBoundingClientRect();
  return [drawn.width, drawn.height, Math.max(drawn.bottom, title.bottom),
    figure.getBoundingClientRect().bottom, title.top - drawn.bottom];
}"""
"""Sides of a map, how far down its axis, which is its lowest part, and its frame reach, and how far
the axis' title is below the map."""
NODES = "document.querySelectorAll('*:not(.katex *)').length"
"""Elements of a page, but for those of its formulas."""


def spread(page: Page, key: str, count: int) -> list[tuple[int, int]]:
    """Rows and columns from 1 of cells all over a map, the same at each run; none selected yet."""
    wait_for_chart(page, key)
    n = len(page.evaluate(_PAIRS, key))
    cells = [(row, column) for row in range(1, n + 1) for column in range(1, n + 1)]
    return random.Random(0).sample(
        [(i, j) for i, j in cells if i not in (j, 12) and j != 11], count
    )


def places(page: Page, key: str, cell: tuple[int, int]) -> list[tuple[int, int]]:
    """Pixels in the middle and the corners of a cell; the map is brought into view."""
    return [(x, y) for x, y in page.evaluate(_PLACES_OF_A_CELL, [key, cell])]


def hover_everywhere(page: Page, key: str, cells: list[tuple[int, int]]) -> None:
    """Have the pointer at every place of cells, of another one each time, and hear of that cell."""
    page.wait_for_function(AT_REST)
    pairs = page.evaluate(_PAIRS, key)
    for place in range(PLACES):
        for row, column in cells:
            page.mouse.move(*places(page, key, (row, column))[place])
            page.wait_for_function(_IS_HOVERED, arg=[key, pairs[row - 1][column - 1]])


def click_point(page: Page, key: str, x: float, y: float) -> None:
    """Click a figure at a point given in the units of its axes."""
    at = page.evaluate(
        """([key, x, y]) => {
            const plot = document.querySelector(`.st-key-${key} .js-plotly-plot`);
            const {xaxis, yaxis} = plot._fullLayout;
            return [xaxis._offset + xaxis.d2p(x), yaxis._offset + yaxis.d2p(y)];
        }""",
        [key, x, y],
    )
    plot = page.locator(f".st-key-{key} .js-plotly-plot").first
    plot.click(position={"x": at[0], "y": at[1]})
    page.wait_for_timeout(DOUBLE_CLICK)


def click_loneliest(page: Page, key: str, trace: str = "", name: str = "") -> str:
    """Click the point (of a trace, or of this custom data) farthest from others; gives its data."""
    page.locator(f".st-key-{key}").scroll_into_view_if_needed()
    points = page.evaluate(_POINTS, [key, trace])

    def room(point: list[Any]) -> float:
        others = [p for p in points if p[0] != point[0]]
        return min((point[1] - p[1]) ** 2 + (point[2] - p[2]) ** 2 for p in others)

    best = max((p for p in points if name in ("", p[0])), key=room)
    page.mouse.click(*best[1:])
    page.wait_for_timeout(DOUBLE_CLICK)
    return best[0]


def expect_the_same_figures(page: Page, other: Page) -> None:
    """Wait until every figure of a page draws the numbers of those of another."""
    other.wait_for_function(AT_REST)
    expected = other.evaluate(_DRAWN)
    assert any(expected)
    same = f"expected => ({_DRAWN})().join() === expected.join()"
    page.wait_for_function(same, arg=expected)


def data(page: Page, key: str) -> str:
    """All that a figure draws."""
    return page.evaluate(
        "key => JSON.stringify(document.querySelector(`.st-key-${key} .js-plotly-plot`).data)", key
    )


def expect_step(page: Page, step: int, *keys: str) -> None:
    """Wait until the page Training tells of a step, and these figures show it."""
    expect(page.get_by_text(re.compile(f"^Step {step:,}: mean"))).to_be_visible()
    page.wait_for_function(
        """([keys, step]) => keys.every(key => {
            const plot = document.querySelector(`.st-key-${key} .js-plotly-plot`);
            return plot?.layout?.meta?.alt.includes(`@step${step} `);
        })""",
        arg=[keys, step],
    )


def asked_of_others(page: Page, url: str) -> list[str]:
    """From now on, the addresses that a page asks for elsewhere than at this one."""
    asked: list[str] = []
    own = (url, "data:", "blob:")
    page.on("request", lambda one: None if one.url.startswith(own) else asked.append(one.url))
    return asked


def frame(page: Page, key: str) -> object:
    """The ranges of a figure's axes."""
    return page.evaluate(
        """key => {
            const {xaxis, yaxis} = document.querySelector(
                `.st-key-${key} .js-plotly-plot`)._fullLayout;
            return [xaxis.range, yaxis.range];
        }""",
        key,
    )


def hear_no_question(page: Page) -> None:
    """From now on, count how often the page asks the server for something."""
    page.evaluate(_LISTEN)


def swipe(page: Page, x: float, y: float, by: int) -> None:
    """A finger put down, moved up or down by so many pixels, and lifted."""
    browser = page.context.new_cdp_session(page)

    def finger(kind: str, *at: dict[str, float]) -> None:
        browser.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": list(at)})

    finger("touchStart", {"x": x, "y": y})
    for step in range(1, 13):
        finger("touchMove", {"x": x, "y": y + by * step / 12})
        page.wait_for_timeout(16)
    finger("touchEnd")


def drag(page: Page, key: str) -> None:
    """Press, move and release the mouse over a figure, and click it twice."""
    box = page.locator(f".st-key-{key} .nsewdrag").first.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] * 0.3, box["y"] + box["height"] * 0.3
    page.mouse.move(x, y)
    page.wait_for_timeout(DOUBLE_CLICK)  # plotly knows what lies there, and would tell of a click
    page.mouse.down()
    page.mouse.move(x + 60, y + 90, steps=5)
    page.mouse.up()


def expect_above_the_fold(page: Page, height: int, least: int, *keys: str) -> None:
    """Maps come to be whole, square and large before anybody scrolls."""
    seen = f"""([key, height, least]) => {{
        const [wide, high, bottom, end, apart] = ({_PLOT})(key);
        const whole = apart > 0 && bottom <= Math.min(height, end);
        return whole && Math.abs(wide - high) <= 1 && wide >= least;
    }}"""
    for key in keys:
        page.wait_for_function(seen, arg=[key, height, least])


def expect_selected(page: Page, cell: tuple[int, int]) -> None:
    """Wait until a pair is selected, and the map drawn anew: a click before that is lost."""
    row, column = cell
    expect(page).to_have_url(re.compile(rf"block={row}&basis={column}$"))
    expect(page.get_by_label(BASIS)).to_have_value(str(column))
    page.wait_for_function(
        """column => {
            const plot = document.querySelector('.st-key-scores .js-plotly-plot');
            const outline = plot?._fullLayout?.shapes.find(shape => shape.name === 'selected');
            return outline && Math.round((outline.x0 + outline.x1) / 2) === column - 1;
        }""",
        arg=column,
    )
    wait_for_chart(page, "scores")
