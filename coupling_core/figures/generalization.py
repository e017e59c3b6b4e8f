"""Two numbers of each of many models: performance against coupling, and both against sizes."""

from collections.abc import Iterable, Sequence
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from coupling_core.base.wording import MEASURES
from coupling_core.figures import generalization_words as words
from coupling_core.figures import style
from coupling_core.figures.generalization_tables import over_models_table
from coupling_core.figures.training import COLORS, SYMBOLS

if TYPE_CHECKING:  # statistics import scipy and pandas, which pages do without until they need them
    from pandas import DataFrame

    from coupling_core.analysis.statistics import Fit, ModelMeans

HEIGHT = 460
SIZE = 9
"""Of a symbol, in pixels."""
DASHES = {"linear": "solid", "exponential": "dash"}
FITS = {"orientation": "h", "x": 0, "y": -0.18, "yanchor": "top"}
"""Place of the legend of the fits, under the axis: their names are long, and would spread out those
of the families."""
BELOW = 92
"""Pixels that axis and legend take below the plot."""


def frame(
    text: words.Words,
    title: str,
    source: str,
    xaxis: dict[str, object],
    yaxis: dict[str, object],
    *,
    height: int = HEIGHT,
    below: int = 0,
    **layout: object,
) -> go.Figure:
    """The empty figure that all figures over many models begin with.

    `source` tells files where the numbers come from; `below` are the pixels under a file's plot, if
    not as usual.
    """
    meta = {"title": title, "source": source} | ({"below": below} if below else {})
    axes = {"xaxis": xaxis | style.GRID, "yaxis": upright(yaxis)}
    return style.new_figure(*text, meta, height=height, **axes, **layout)


def over_models(
    means: "ModelMeans", x: str, y: str, fits: Sequence["Fit"] = (), *, source: str = ""
) -> go.Figure:
    """Two numbers of each model: performance against coupling (Figure 1a), or sizes (Figure 9).

    Traces: one a family, whose customdata is the model's name; "run NAME", which joins checkpoints;
    a line and a "band" for each fit of y against x; "chance" if the measure is raw.
    """
    table = over_models_table(means, x, y).sort_values("trained", ascending=False, kind="stable")
    drawn = [fit for fit in fits if not fit.reason]
    figure = frame(
        words.over_models(means, table, x, y, fits),
        f"{words.short(y)} against {words.short(x)}",
        source,
        _axis(means, x, table),
        _axis(means, y, table),
        below=BELOW if drawn else 0,
    )
    if drawn:
        figure.update_layout(legend2=FITS, margin_b=BELOW)
    for fit in drawn:
        line = style.line(fit.x, fit.y, words.fit_name(fit), line_dash=DASHES[fit.form])
        line.update(uid=fit.form, legend="legend2", hoverinfo="skip")
        figure.add_traces([style.band(fit.x, fit.low, fit.high, "band"), line])
    looks = family_looks(means.rows["family"])
    _chance(figure, means, x, y, table, [looks[family][0] for family in table["family"]])
    for name, run in table.groupby("run", sort=False):
        if len(run) > 1:
            steps, (color, _) = run.sort_values("step"), looks[run["family"].iloc[0]]
            line = style.line(steps[x], steps[y], f"run {name}", color, 1, hoverinfo="skip")
            figure.add_trace(line.update(showlegend=False))
    for family, rows in table.groupby("family", sort=False):
        color, symbol = looks[str(family)]
        error = f"error_{'x' if x == 'coupling' else 'y'}"
        figure.add_scatter(
            x=rows[x],
            y=rows[y],
            **({error: bars(rows, color)} if "coupling" in (x, y) else {}),
            customdata=rows["model"],
            mode="markers",
            marker={
                "color": color,
                "size": SIZE,
                "symbol": [symbol if trained else f"{symbol}-open" for trained in rows["trained"]],
            },
            name=family,
            showlegend=True,
            hovertemplate=f"%{{customdata}}<br>{x.replace('_', ' ')} %{{x:.4g}}, "
            f"{y.replace('_', ' ')} %{{y:.4g}}<extra>{family}</extra>",
        )
    return figure


def upright(axis: dict[str, object]) -> dict[str, object]:
    """An axis as the vertical one, its title kept clear of its numbers."""
    return style.GRID | {"automargin": True, "title_standoff": 10} | axis


def family_looks(families: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Colour and symbol of each family, in alphabetical order: they differ without colours too."""
    looks = zip(cycle(COLORS), cycle(SYMBOLS), strict=False)
    return dict(zip(sorted(set(families)), looks, strict=False))


def _axis(means: "ModelMeans", name: str, table: "DataFrame") -> dict[str, object]:
    if name == "coupling":
        return {"title": {"text": f"Mean {MEASURES[means.measure]} ({means.k_name}; no unit)"}}
    is_size = name not in ("loss", "score")
    scale = log_where_decades(table[name].to_numpy(np.float64)) if is_size else {}
    return {"title": {"text": words.AXES[name]}} | scale


def log_where_decades(values: Float[np.ndarray, " point"]) -> dict[str, object]:
    """A log axis if positive numbers span an order of magnitude."""
    spans = values.size and values.min() > 0 and values.max() >= 10 * values.min()
    return style.log_axis(values) if spans else {}


def _chance(
    figure: go.Figure, means: "ModelMeans", x: str, y: str, table: "DataFrame", colors: list[str]
) -> None:
    """Chance on the axis of coupling: a dotted line at 0, or a tick for each model's level."""
    if means.measure == "coupling" and "coupling" in (x, y):
        ends = table.assign(coupling=table["chance"])
        symbol = "line-ns-open" if x == "coupling" else "line-ew-open"
        figure.add_scatter(
            x=ends[x],
            y=ends[y],
            mode="markers",
            marker={"symbol": symbol, "size": 10, "line": {"width": 2}, "color": colors},
            name="chance",
            showlegend=False,
            hoverinfo="skip",
        )
    elif x == "coupling":
        figure.add_vline(0, line=style.DOTTED)
    elif y == "coupling":
        figure.add_hline(0, line=style.DOTTED)


def bars(
    rows: "DataFrame", color: str, of: str = "coupling", prefix: str = "", **look: object
) -> dict[str, object]:
    """Error bars of a column from those of its ends; none if its interval is unknown."""
    return {
        "type": "data",
        "array": rows[f"{prefix}high"] - rows[of],
        "arrayminus": rows[of] - rows[f"{prefix}low"],
        "color": color,
        "thickness": 1,
        "width": 0,
    } | look
