"""Two numbers of each of many models: performance against coupling, and both against sizes."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from coupling_core.figures import generalization_words, style
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


def over_models(
    means: "ModelMeans", x: str, y: str, fits: Sequence["Fit"] = (), *, source: str = ""
) -> go.Figure:
    """Two numbers of each model: performance against coupling (Figure 1a), or sizes (Figure 9).

    Args:
        means: a row a model.
        x: column, such as "coupling" or "parameters"; sizes that span decades have a log axis.
        y: column, such as "loss", "score" or "coupling".
        fits: of y against x, each with its band.
        source: where the numbers come from, for files.

    Returns:
        a figure with a trace a family, named by it, whose customdata is the model's name; the
        traces "run NAME" that join checkpoints; "linear" or "exponential" and "band" for each fit;
        and "chance" where the measure is raw.
    """
    table = over_models_table(means, x, y).sort_values("trained", ascending=False, kind="stable")
    title = f"{generalization_words.SHORT[y]} against {generalization_words.SHORT[x]}"
    figure = style.new_figure(
        generalization_words.over_models_alt(table, x, y, fits),
        generalization_words.over_models_caption(means, x, y, fits),
        {"title": title, "source": source},
        height=HEIGHT,
        xaxis=_axis(means, x, table) | style.GRID,
        yaxis=upright(_axis(means, y, table)),
    )
    drawn = [found for found in fits if not found.reason]
    for found in drawn:
        figure.add_traces(_fit(found))
    if drawn:
        meta = figure.layout.meta | {"below": BELOW}
        figure.update_layout(legend2=FITS, margin_b=BELOW, meta=meta)
    looks = family_looks(means.rows["family"])
    _chance(figure, means, x, y, table, looks)
    for name, run in table.groupby("run", sort=False):
        if len(run) > 1:
            figure.add_trace(_joined(run.sort_values("step"), str(name), x, y, looks))
    for family, rows in table.groupby("family", sort=False):
        figure.add_trace(_models(rows, str(family), x, y, looks))
    return figure


def upright(axis: dict[str, object]) -> dict[str, object]:
    """An axis as the vertical one, its title kept clear of its numbers."""
    return axis | style.GRID | {"automargin": True, "title_standoff": 10}


def family_looks(families: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Colour and symbol of each family, in alphabetical order: told apart without colours too."""
    return dict(
        zip(sorted(set(families)), zip(cycle(COLORS), cycle(SYMBOLS), strict=False), strict=False)
    )


def _axis(means: "ModelMeans", name: str, table: "DataFrame") -> dict[str, object]:
    if name == "coupling":
        return {"title": {"text": generalization_words.coupling_axis(means)}}
    axis: dict[str, object] = {"title": {"text": generalization_words.AXES[name]}}
    if name in ("loss", "score"):
        return axis
    return axis | log_where_decades(table[name].to_numpy(np.float64))


def log_where_decades(values: Float[np.ndarray, " point"]) -> dict[str, object]:
    """A log axis where positive numbers span an order of magnitude."""
    spans = values.size and values.min() > 0 and values.max() >= 10 * values.min()
    return style.log_axis(values) if spans else {}


def _fit(found: "Fit") -> list[go.Scatter]:
    return [
        style.band(found.x, found.low, found.high, "band"),
        style.line(
            found.x,
            found.y,
            generalization_words.fit_name(found),
            line_dash=DASHES[found.form],
            uid=found.form,
            legend="legend2",
            hoverinfo="skip",
        ),
    ]


def _chance(
    figure: go.Figure,
    means: "ModelMeans",
    x: str,
    y: str,
    table: "DataFrame",
    looks: Mapping[str, tuple[str, str]],
) -> None:
    """Chance on the axis of coupling: a dotted line at 0, or a tick for each model's floor."""
    if "coupling" not in (x, y):
        return
    if means.measure != "coupling":
        (figure.add_vline if x == "coupling" else figure.add_hline)(0, line=style.DOTTED)
        return
    ends = {x: table[x], y: table[y]} | {"coupling": table["chance"]}
    figure.add_scatter(
        x=ends[x],
        y=ends[y],
        mode="markers",
        marker={
            "symbol": "line-ns-open" if x == "coupling" else "line-ew-open",
            "size": 10,
            "line": {"width": 2},
            "color": [looks[family][0] for family in table["family"]],
        },
        name="chance",
        showlegend=False,
        hoverinfo="skip",
    )


def _joined(
    run: "DataFrame", name: str, x: str, y: str, looks: Mapping[str, tuple[str, str]]
) -> go.Scatter:
    color, _ = looks[run["family"].iloc[0]]
    return style.line(run[x], run[y], f"run {name}", color, 1, showlegend=False, hoverinfo="skip")


def _models(
    rows: "DataFrame", family: str, x: str, y: str, looks: Mapping[str, tuple[str, str]]
) -> go.Scatter:
    color, symbol = looks[family]
    axis = "x" if x == "coupling" else "y"
    return go.Scatter(
        x=rows[x],
        y=rows[y],
        **({f"error_{axis}": bars(rows, color)} if "coupling" in (x, y) else {}),
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


def bars(rows: "DataFrame", color: str) -> dict[str, object]:
    """Error bars of coupling; none where its interval is unknown."""
    return {
        "type": "data",
        "array": rows["high"] - rows["coupling"],
        "arrayminus": rows["coupling"] - rows["low"],
        "color": color,
        "thickness": 1,
        "width": 0,
    }
