"""Estimates with their intervals, a row each: without each family, and within each model."""

from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from coupling_core.base.units import with_minus
from coupling_core.figures import generalization_words as words
from coupling_core.figures import style
from coupling_core.figures.generalization import bars, frame
from coupling_core.figures.generalization_tables import trends_table, without_families_table

if TYPE_CHECKING:  # statistics import scipy and pandas, which pages do without until they need them
    from pandas import DataFrame

    from coupling_core.analysis.statistics import LeaveOneFamilyOut, PromptTrends

ROW, MARGINS = 30, 110
"""Pixels."""
BELOW = 86
"""Pixels of the axis in a file, whose title has two lines."""
SOFT = {style.ACCENT: "rgba(228, 87, 46, 0.45)", style.INK: "rgba(125, 131, 140, 0.45)"}
INTERVALS: dict[str, dict[str, object]] = {
    "": {"thickness": 7, "width": 0},
    "outer_": {"thickness": 1.5, "width": 6},
}
"""The look of both bars by the prefix of their columns: those over models are thick; those over
families are thin, and capped lest they drown in them."""


def without_families(found: "LeaveOneFamilyOut", *, source: str = "") -> go.Figure:
    """A correlation over all models, without each family, within families and between them."""
    title, caption = words.forest_axis(found), words.without_families(found)
    return _forest(without_families_table(found), caption, title, source)


def prompt_correlations(trends: "PromptTrends", *, source: str = "") -> go.Figure:
    """Rank correlation of coupling and a number of the prompt, within each model (Figure 10)."""
    title = f"{words.COEFFICIENTS['spearman']} of coupling and {trends.x_name}"
    return _forest(trends_table(trends), words.PROMPT_CORRELATIONS, title, source)


def _forest(table: "DataFrame", caption: str, title: str, source: str) -> go.Figure:
    """A forest plot: the first row, which the others are compared with, has the accent.

    Traces: "estimate" (interval over models) and "outer" (over families), of the first row and of
    the others, with the rows' names as customdata; "no estimate", the reasons of the rest.
    """
    figure = frame(
        (described(title, table), caption),
        title,
        source,
        {"title": {"text": title.replace(" of ", "<br>of ")}, "range": [-1.08, 1.08]},
        {
            "type": "category",
            "categoryorder": "array",
            "categoryarray": list(table["row"][::-1]),
            "range": [-0.6, len(table) - 0.4],
            "showgrid": False,
            "ticks": "",
        },
        height=ROW * len(table) + MARGINS,
        below=BELOW,
        showlegend=False,
    )
    figure.add_vline(x=0, line={"color": style.INK, "width": 1})
    is_known = np.isfinite(table["estimate"])
    if is_known[0]:
        figure.add_vline(x=table["estimate"][0], line=style.DOTTED | {"color": style.ACCENT})
    # A trace for each colour: plotly has one for all bars of a trace.
    for color, of_color in ((style.ACCENT, table.index == 0), (style.INK, table.index > 0)):
        rows = table[is_known & of_color]
        for prefix in INTERVALS:
            figure.add_scatter(
                x=rows["estimate"],
                y=rows["row"],
                error_x=interval(rows, prefix, color),
                customdata=rows["row"],
                text=[_numbers(row, row.low, row.high) for row in rows.itertuples()],
                mode="markers",
                marker={"color": color, "size": 10, "symbol": "square"},
                name="outer" if prefix else "estimate",
                hovertemplate="%{y}: %{text}<extra></extra>",
            )
    none = table[~is_known]
    return figure.add_scatter(
        x=[0.0] * len(none),
        y=none["row"],
        text=none["reason"],
        mode="text",
        textfont={"size": 11},
        name="no estimate",
        hoverinfo="skip",
    )


def interval(rows: "DataFrame", prefix: str, color: str) -> dict[str, object]:
    """Error bars of the estimates of a forest's table, by the prefix of their columns."""
    look = INTERVALS[prefix]
    return bars(rows, color if prefix else SOFT[color], "estimate", prefix, **look)


def described(title: str, table: "DataFrame") -> str:
    """Every row's estimate with the interval that its p goes with, or why it has none."""

    def text(row: Any) -> str:
        if not np.isfinite(row.estimate):
            return str(row.reason)
        if np.isfinite(row.outer_low):
            return _numbers(row, row.outer_low, row.outer_high)
        return _numbers(row, row.low if np.isfinite(row.p) else np.nan, row.high)

    name = "K = {}" if "k" in table else "{}"
    rows = (f"{name.format(row[1])}: {text(row)}" for row in table.itertuples())
    return f"{title}. {'; '.join(rows)}."


def _numbers(row: Any, low: float, high: float) -> str:
    interval = f" [{low:z.2f}, {high:z.2f}]" if np.isfinite(low) else ""
    sure = f", p = {row.p:.2g}" if np.isfinite(row.p) else ""
    return with_minus(f"{row.estimate:z.2f}{interval}{sure}, n = {row.n}")
