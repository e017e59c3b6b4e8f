"""One look for every figure: colours, fonts, colour ranges and the words on colour bars.

Grounds are transparent and every colour reads on white as well as on near-black, so that one figure
serves a light page, a dark page and print.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.colors as colors
import plotly.graph_objects as go
from jaxtyping import Float

from coupling_core.analysis.scores import definition_name
from coupling_core.base.records import View
from coupling_core.base.units import with_minus

ACCENT = "#e4572e"
SECOND = "#2a9d8f"
INK = "#7d838c"
"""Text and axes: a grey whose contrast is near 4 on white and on a dark page alike."""
BLACK = "#24292f"
"""Ink on paper: of the one line that stands out from all others."""
INKED = "inked"
"""The `meta` of traces in that ink, and the `legendgroup` of shapes, which have no `meta`: a dark
page draws them in white (see `reink`)."""
NOTHING = "rgba(0, 0, 0, 0)"
FAINT = "rgba(125, 131, 140, 0.28)"
BAND = "rgba(125, 131, 140, 0.16)"
"""Between two curves; the other, behind a curve in the accent colour."""
ACCENTED_BAND = "rgba(228, 87, 46, 0.18)"
NOT_COMPUTED = "rgba(140, 146, 155, 0.7)"
"""Flat grey of a cell that has no value, whatever the reason; no page, light or dark, makes it look
like the lowest colour."""

SEQUENTIAL: tuple[str, ...] = tuple(colors.sequential.Viridis)
_BELOW = ("rgb(250, 188, 200)", "rgb(196, 82, 134)", SEQUENTIAL[0])
"""From the deepest up to 0: no colour of `SEQUENTIAL`, which begins there."""
DIVERGING = (
    (0.0, "rgba(47, 118, 196, 1)"),
    (0.5, "rgba(47, 118, 196, 0)"),
    (0.5, "rgba(214, 80, 48, 0)"),
    (1.0, "rgba(214, 80, 48, 1)"),
)
"""Blue below zero, red above it, and at zero the ground of the page, be it light or dark."""

_BY_DEPTH = ["rgb(61, 127, 208)", "rgb(31, 160, 147)", "rgb(121, 178, 56)", "rgb(201, 160, 0)"]
DEPTH: tuple[str, ...] = tuple(colors.sample_colorscale(_BY_DEPTH, list(np.linspace(0, 1, 16))))
"""For thin lines: no part of it vanishes on a light ground or on a dark one."""

DIFFERENCE_LIMIT = 0.3
"""End of the range of a difference of two scores: 95 of 100 pairs of a trained model differ from
their untrained twins by less than half of it."""

CATEGORIES = (
    *("#2f7fc1", "#e69f00", "#2a9d8f", "#cc79a7"),
    *("#56b4e9", "#8c6bb1", "#a3a500", "#b07d62"),
)
"""Colours of things without an order; neighbours differ for colour-blind eyes too."""
FONT = "'Source Sans Pro', 'Helvetica Neue', Helvetica, Arial, sans-serif"
AUTO = "; auto range"  # said wherever the colours are stretched over what is drawn

RAW_RANGE = (0.0, 1.0)
CORRECTED_RANGE = (0.0, 0.25)
CORRECTED_COLORS = (-0.1, 0.25)
"""Ends of the colours of corrected scores; of another upper end the lower is in proportion."""
"""Where trained models lie: most pairs of SmolLM2 between 0.01 and 0.15, of small models at their
most coupled up to 0.35. Untrained twins stay within 0.01 of 0, and so have one colour."""
MATRIX_LIMIT = 0.15
"""Entries of A in units of s_1. Off l = l' they seldom pass it: 99 % lie below 0.07 in a trained
model, whose diagonals this range shows on a ground that stays dark."""

_AXIS = {
    "showgrid": False,
    "zeroline": False,
    "showline": False,
    "ticks": "outside",
    "ticklen": 4,
    "tickcolor": FAINT,
    "title": {"font": {"size": 14}},
}

UNDER_AXIS = {"orientation": "h", "x": 0, "y": -0.2, "yanchor": "top"}
"""Place of the legend of lines, close to their axis."""
BELOW = dict(orientation="h", x=0, xref="container", y=0, yref="container", yanchor="bottom")
"""The same where the colour bar is above: the lower end of the figure."""
BAR_ROOM = 118  # pixels above a map for its colour bar, of which the upper quarter is empty
DOTTED = {"color": INK, "width": 2, "dash": "dot"}  # a line that marks a place
PICKED = {"size": 6, "opacity": 0}
"""Invisible points that take clicks: of those no larger plotly takes the nearest."""
SVG_POINTS = 40 * 40  # more points than this are drawn by WebGL, so that a page stays light
GRID = {"showgrid": True, "gridcolor": FAINT, "gridwidth": 1}
"""Faint lines for reading a curve's values."""

TEMPLATE = go.layout.Template(
    layout={
        "font": {"family": FONT, "size": 13, "color": INK},
        "paper_bgcolor": NOTHING,
        "plot_bgcolor": NOTHING,
        "colorway": [ACCENT, SECOND, INK],
        "margin": {"l": 60, "r": 16, "t": 16, "b": 52},
        "xaxis": _AXIS,
        "yaxis": _AXIS,
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        "hoverlabel": {"align": "left", "font": {"family": FONT, "size": 13}},
        "hovermode": "closest",
    }
)


def new_figure(
    alt: str, caption: str, told: Mapping[str, object] | None = None, /, **layout: object
) -> go.Figure:
    """An empty figure in the house style, with its alternative text and caption in `layout.meta`.

    `told` adds to these: the "title" and "source" of its file, the "summary" before its caption,
    "on_page", which only a page adds to the caption, and "below", the pixels that its axis takes.
    """
    meta = {"alt": alt, "caption": caption, **(told or {})}
    return go.Figure(layout={"template": TEMPLATE, "meta": meta, **layout})


def score_name(corrected: bool) -> str:
    """What a map of scores colours."""
    return "Chance-corrected score" if corrected else "Score c"


def score_terms(view: View) -> str:
    """Definition, K and unit of a score, which every colour bar names."""
    return f"{definition_name(view)}; K = {view.k}; no unit"


def matrix_name(view: View, magnitude: bool) -> str:
    """The matrix drawn, with its definition."""
    name = "A = UᵀJV" if view.role == "A" else "B = VᵀJU"
    return f"|{name[0]}|, {name}" if magnitude else name


def reink(figure: go.Figure, color: str) -> go.Figure:
    """Draw what is in ink in another colour: black on paper, white on a dark page."""
    for trace in figure.select_traces({"meta": INKED}):
        trace.update({part: {"color": color} for part in ("line", "marker") if part in trace})
        trace.update(textfont={"color": color})
    for shape in figure.select_shapes({"legendgroup": INKED}):
        shape.line.color = color
    return figure


def span(values: Float[np.ndarray, "*any"]) -> tuple[float, float]:
    """Smallest and largest number, NaN left out; (0, 1) where there is none."""
    numbers = values[np.isfinite(values)]
    return (float(numbers.min()), float(numbers.max())) if numbers.size else (0.0, 1.0)


def with_room(values: Float[np.ndarray, "*any"], room: float) -> list[float]:
    """Ends of an axis of these numbers, with room, a part of their range, at both."""
    low, high = span(values)
    more = room * ((high - low) or 1)
    return [low - more, high + more]


def axis(title: str, **more: object) -> dict[str, object]:
    """An axis with its title, and faint lines for reading a curve's values."""
    return {"title": {"text": title}, **GRID, **more}


def line(
    x: object, y: object, name: str, color: str = INK, width: float = 2, **more: object
) -> go.Scatter:
    """A curve; `line_dash` and whatever else plotly knows may follow."""
    look = {"color": color, "width": width}
    return go.Scatter(x=x, y=y, mode="lines", line=look, name=name, **more)


def dots(
    x: Any, y: Any, name: str, marker: dict[str, Any], texts: Sequence[str] = (), **more: object
) -> go.Scatter | go.Scattergl:
    """Points, of which the mouse shows the texts."""
    if texts:
        more |= {"text": texts, "hovertemplate": "%{text}<extra></extra>"}
    trace = go.Scatter if len(x) <= SVG_POINTS else go.Scattergl
    return trace(x=x, y=y, mode="markers", name=name, marker=marker, **more)


def band(
    x: Any, low: Any, high: Any, name: str, color: str = BAND, *, listed: bool = False
) -> go.Scatter:
    """The ground between two curves over the same places; `listed` in the legend by its name."""
    x, y = np.concatenate([x, x[::-1]]), np.concatenate([low, high[::-1]])
    look: dict[str, Any] = {"fill": "toself", "fillcolor": color, "showlegend": listed}
    return line(x, y, name, width=0, hoverinfo="skip", **look)


def bars(y: Any, low: Any, high: Any, color: str, **look: object) -> dict[str, object]:
    """Error bars of numbers from the ends of their intervals; none where an end is NaN."""
    look = {"color": color, "thickness": 1, "width": 0, **look}
    return {"type": "data", "array": high - y, "arrayminus": y - low, **look}


def log_axis(values: Float[np.ndarray, "*any"]) -> dict[str, object]:
    """A logarithmic axis, with more than the powers of ten where the values span few of them."""
    positive = values[np.isfinite(values) & (values > 0)]
    low, high = np.log10(span(positive) if positive.size else (1, 1))
    if high - low >= 2:
        return {"type": "log", "dtick": 1}
    # Each by its number: plotly would set what is no power of ten in smaller letters.
    within = (1, 2, 5) if high - low >= 0.7 else (1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9)
    powers = range(int(np.floor(low)) - 1, int(np.ceil(high)) + 1)
    at = [round(number * 10.0**power, 6 - power) for power in powers for number in within]
    return {"type": "log", "tickvals": at, "ticktext": [f"{value:g}" for value in at]}


def score_range(corrected: bool, *curves: Float[np.ndarray, " k"]) -> list[float]:
    """The fixed range of an axis of scores, widened where a curve would leave it."""
    fixed = CORRECTED_RANGE if corrected else RAW_RANGE
    low, high = span(np.concatenate([fixed, *curves]))
    return [low, high + 0.03 * (high - low)]


def two_lines(title: str, terms: str = "") -> str:
    """A title with its definition, K and unit set smaller under it, where it has any."""
    return f"{title}<br><span style='font-size: 12px'>{terms}</span>" if terms else title


def color_bar(name: str, terms: str, **more: object) -> dict[str, object]:
    """A horizontal colour bar above the plot: what is coloured, and its definition, K and unit."""
    return {
        "orientation": "h",
        "title": {"text": two_lines(name, terms), "font": {"size": 14}, "side": "top"},
        "thickness": 10,
        "lenmode": "pixels",
        "len": 230,
        "x": 0,
        "xanchor": "left",
        "xpad": 0,
        "ypad": 0,
        "y": 1.02,
        "yanchor": "bottom",
        "outlinewidth": 0,
        "ticks": "outside",
        "ticklen": 3,
        "tickcolor": FAINT,
        **more,
    }


def scale(
    low: float, high: float, colors: object, name: str, terms: str, **bar: object
) -> dict[str, Any]:
    """Range and colours of a map, with the colour bar that says what they are."""
    colored = {"zmin": low, "zmax": high, "colorscale": colors}
    return {**colored, "colorbar": color_bar(name, terms, **bar)}


def around_zero(low: float, high: float) -> list[tuple[float, str]]:
    """`SEQUENTIAL` over a range, and other colours for its part below 0."""
    zero = min(max(0.0, -low / (high - low)), 1.0) if high > low else 0.0
    below = list(zip(np.linspace(0, zero, len(_BELOW)), _BELOW, strict=True)) if zero else []
    above = list(zip(np.linspace(zero, 1, len(SEQUENTIAL)), SEQUENTIAL, strict=True))
    return below + (above if zero < 1 else [])


def open_ends(low: float, high: float, n: int, every: int = 1) -> dict[str, object]:
    """Numbers on a colour bar whose end colours are those of all that lies beyond, too.

    There are `n` marks, of which every so many are numbered while there is room, and both ends.
    """
    at = np.linspace(low, high, n).round(6) + 0.0  # no "-0"
    texts = [with_minus(f"{value:g}") for value in at]
    room = [mark % every == 0 and mark < n - every for mark in range(n)]
    within = [text * has_room for text, has_room in zip(texts, room, strict=True)][1:-1]
    return {"tickvals": at, "ticktext": [f"≤ {texts[0]}", *within, f"≥ {texts[-1]}"]}


def place_bar(last: int, name: str, terms: str, dimensions: int = 2) -> go.Scatter | go.Scatter3d:
    """No point, only the colour bar that says which colour of `DEPTH` is which of 1..last."""
    return (go.Scatter if dimensions == 2 else go.Scatter3d)(
        **{axis: [None] for axis in "xyz"[:dimensions]},
        mode="markers",
        marker={
            "color": [1],
            "cmin": 1,
            "cmax": max(2, last),
            "colorscale": DEPTH,
            "colorbar": color_bar(name, terms),
        },
        showlegend=False,
        hoverinfo="skip",
        name="places",
    )


def fix_margins(figure: go.Figure, left: int = 70, below: int = 60, legend: int = 28) -> go.Figure:
    """Give a map the margins in pixels that its colour bar, labels, axis and legend need.

    Plotly would find them by drawing the figure twice, which doubles the time to the first paint
    and to the answer to a click.
    """
    below += legend * any(trace.showlegend for trace in figure.data)
    figure.update_xaxes(automargin=False)
    figure.update_yaxes(automargin=False)
    return figure.update_layout(
        margin={"l": left, "r": 8, "t": BAR_ROOM, "b": below, "autoexpand": False}
    )
