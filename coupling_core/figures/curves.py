"""Any figure of curves: its plot and alternative text follow from a record and the curves.

The alternative text says where each curve begins, ends and turns.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np
import plotly.colors as colors
import plotly.graph_objects as go
from jaxtyping import Real

from coupling_core.base.curves import Curves
from coupling_core.base.numbers import Number, array_of, number_of
from coupling_core.base.records import AnyView
from coupling_core.base.results import Result
from coupling_core.base.wording import paragraph
from coupling_core.figures import style

if TYPE_CHECKING:  # half a second to import
    from pandas import DataFrame

MOST_DESCRIBED = 8  # up to so many curves are described one by one
COLORS = (style.ACCENT, style.SECOND, style.INK, *style.CATEGORIES)
Points = Real[np.ndarray, " point"]


@dataclass(frozen=True, eq=False)
class Series:
    """One curve, and the band between two more; without `y` the band alone.

    Line and marks have sizes in pixels, 0 draws none. The legend lists a band that has a name.
    """

    name: str
    x: Points
    y: Points | None
    color: str = style.INK
    width: float = 2
    dash: str = "solid"
    marks: float = 0
    symbol: str = "circle"
    band: tuple[Points, Points] | None = None
    band_name: str = ""
    tint: str = style.BAND
    at: Points | None = None
    """What `x` stands for where it is a place on the axis only, such as a training step."""
    hover: bool = True
    uid: str = ""
    more: Mapping[str, object] = field(default_factory=dict)

    @property
    def untrained(self) -> "Series":
        """The same as the curve of an untrained model is drawn."""
        return replace(self, name=f"{self.name}, untrained", dash="dot", band=None)


def curves(
    series: Sequence[Series],
    spec: Curves,
    of: str,
    words: Mapping[str, object] | None = None,
    *,
    also: str = "",
    xaxis: Mapping[str, object] | None = None,
    yaxis: Mapping[str, object] | None = None,
    told: Mapping[str, object] | None = None,
) -> go.Figure:
    """Draw curves, the lowest first: a trace each, named as it is, after that of its band.

    `of` is the model and prompt, `words` fill templates in titles and caption, `also` stands after
    the alternative text, and `told` is for `style.new_figure`.
    """
    x_title, y_title, caption = (
        text.format(**words) if words else text for text in (spec.x_title, spec.y, spec.caption)
    )
    if any(one.name.endswith(", untrained") for one in series):
        caption += " Dotted: the untrained model."
    x_axis: dict[str, object] = {"title": {"text": x_title}}
    y_axis = style.axis(y_title)
    if spec.log:
        parts = [part for one in series for part in (one.y, *(one.band or ())) if part is not None]
        y_axis |= style.log_axis(np.concatenate(parts).astype(np.float64))
    if spec.zero:
        y_axis |= {"rangemode": "tozero"}
    if spec.y_range:
        y_axis |= {"range": list(spec.y_range)}
    figure = style.new_figure(
        f"{plain(y_title)}, {of}; horizontal axis: {plain(x_title)}. "
        f"{described(series, spec.at)}{also}",
        caption,
        told,
        height=spec.height,
        xaxis=x_axis | dict(xaxis or {}),
        yaxis=y_axis | dict(yaxis or {}),
        hovermode="closest" if spec.at else "x unified",
    )
    return figure.add_traces([trace for one in series for trace in _traces(one, spec)])


def number_curves(
    result: Result, view: AnyView, spec: Curves, *, twin: Result | None = None
) -> go.Figure:
    """The curves over blocks, or states, of the numbers that a record names; a twin is dotted."""
    series = number_lines(result, view, spec, twin)
    return curves(series, of_numbers(result.request.kind, spec), result.subject)


def number_lines(
    result: Result, view: AnyView, spec: Curves, twin: Result | None = None, width: float = 2
) -> list[Series]:
    """The curves of the numbers that a record names, and those of a twin."""

    def series(of: Result) -> list[Series]:
        kind = of.request.kind
        named = {_called(number_of(kind, name)): array_of(of, view, name) for name in spec.numbers}
        return lines(_places(spec, named), named, width)

    beside = [] if twin is None else [one.untrained for one in series(twin)]
    return [*series(result), *beside]


def of_numbers(kind: str, spec: Curves) -> Curves:
    """A record of curves with what it leaves to its numbers to say: axis and caption."""
    numbers = [number_of(kind, name) for name in spec.numbers]
    y = spec.y or ", ".join(map(_called, numbers))
    whats = [one.what if len(numbers) == 1 else f"{_called(one)}: {one.what}" for one in numbers]
    return replace(
        spec,
        y=y,
        caption=spec.caption or paragraph(*(f"{what[0].upper()}{what[1:]}." for what in whats)),
    )


def numbers_table(result: Result, view: AnyView, spec: Curves) -> "DataFrame":
    """Twin of a figure of numbers: a row a place, a column a number, or of one a token."""
    from pandas import DataFrame, Index

    named = {name: array_of(result, view, name) for name in spec.numbers}
    index = Index(_places(spec, named), name=spec.x)
    if spec.each:
        columns = [f"{i} {text}" for i, text in enumerate(result.tokens, 1)]
        return DataFrame(named[spec.numbers[0]], index, columns)
    texts = {"text": result.tokens} if spec.x == "token" else {}
    return DataFrame(texts | named, index)


def _called(number: Number) -> str:
    return number.title or number.heading or number.name.replace("_", " ")


def _places(spec: Curves, named: Mapping[str, np.ndarray]) -> np.ndarray:
    return np.arange(spec.first, spec.first + len(next(iter(named.values()))))


def lines(
    x: Points, values: Mapping[str, Points], width: float = 2, marks: float = 0
) -> list[Series]:
    """A curve for each name, in the colours of the house."""
    return [
        Series(name, x, y, color, width, marks=marks)
        for (name, y), color in zip(values.items(), cycle(COLORS), strict=False)
    ]


def chance(
    x: Points, y: Points | float, name: str = "chance", dash: str = "dash", width: float = 1.5
) -> Series:
    """The chance level: one for all places, or one for each."""
    level = np.broadcast_to(np.asarray(y, np.float64), np.shape(x))
    return Series(name, x, level, width=width, dash=dash)


def one_deviation(mean: Series, spread: Points) -> Series:
    """A mean with the band of one standard deviation."""
    y, name = np.asarray(mean.y), "one standard deviation"
    return replace(mean, band=(y - spread, y + spread), band_name=name, tint=style.ACCENTED_BAND)


def depth_colors(shares: Iterable[float]) -> list[str]:
    """Colours of blocks or tokens, by their place from 0, the first, to 1, the last."""
    found: list[str] = colors.sample_colorscale(list(style.DEPTH), list(shares))
    return found


def described(series: Iterable[Series], place: str = "") -> str:
    """Where the curves that the mouse shows begin, end and turn."""
    named = [one for one in series if one.y is not None and np.size(one.y) > 1 and one.hover]
    if len(named) <= MOST_DESCRIBED:
        return " ".join(f"{plain(one.name)}: {_course(one, place)}." for one in named)
    known = [np.asarray(one.y, np.float64) for one in named]
    ends = np.array([y[np.isfinite(y)][[0, -1]] for y in known if np.isfinite(y).any()])
    if not ends.size:
        return f"{len(named)} curves without a value."
    (first, last), (highest_first, highest_last) = ends.min(0), ends.max(0)
    return (
        f"{len(named)} curves: {first:.3g} to {highest_first:.3g} at their first points, "
        f"{last:.3g} to {highest_last:.3g} at their last."
    )


def plain(title: str) -> str:
    """A title without its markup."""
    title = re.sub(r"<br><span[^>]*>(.*)</span>", r" (\1)", title)
    marks = {"<sup>": "^", "<sub>": "_", "<br>": " "}
    return re.sub(r"<[^>]*>", lambda found: marks.get(found[0], ""), title)


def _traces(one: Series, spec: Curves) -> list[go.Scatter]:
    """The band of a curve, and its line."""
    drawn = []
    if one.band is not None:
        low, high = one.band
        known = np.isfinite(low) & np.isfinite(high)
        name, x = one.band_name or f"{one.name}, 95\u00a0% of the draws", np.asarray(one.x)[known]
        listed = bool(one.band_name)
        drawn.append(style.band(x, low[known], high[known], name, color=one.tint, listed=listed))
    if one.y is None:
        return drawn
    look: dict[str, object] = {"mode": "markers"}
    if one.width:
        look["mode"] = "lines+markers" if one.marks else "lines"
        look["line"] = {"color": one.color, "width": one.width, "dash": one.dash}
    if one.marks:
        look["marker"] = {"color": one.color, "size": one.marks, "symbol": one.symbol}
    if one.at is not None:
        look["customdata"] = one.at
    value = f"%{{y:{spec.hover}}}{spec.unit}"
    place = f"{spec.at}%{{{'x' if one.at is None else 'customdata'}}}"
    shown = f"{one.name}<br>{place}: {value}<extra></extra>" if spec.at else value
    look |= {"hovertemplate": shown} if one.hover else {"hoverinfo": "skip"}
    look |= {"name": one.name, "uid": one.uid or None, **one.more}
    return [*drawn, go.Scatter(x=one.x, y=one.y, **look)]


def _course(one: Series, place: str) -> str:
    y, x = np.asarray(one.y, np.float64), one.x if one.at is None else one.at
    known: list[int] = np.flatnonzero(np.isfinite(y)).tolist()
    if not known:
        return "no value"

    def at(i: int) -> str:
        return f"{y[i]:.3g} at {place}{x[i]:g}"

    first, last, values = known[0], known[-1], y[known]
    if np.ptp(values) == 0:
        return f"{values[0]:.3g} throughout" if len(known) > 1 else at(first)
    text = f"{at(first)}, {at(last)}"
    for name, turn in (("highest", known[values.argmax()]), ("lowest", known[values.argmin()])):
        text += f", {name} {at(turn)}" * (turn not in (first, last))
    missing = len(y) - len(known)
    return text + f", {missing} without a value" * bool(missing)
