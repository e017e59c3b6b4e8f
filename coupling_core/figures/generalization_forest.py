"""Estimates with their intervals, a row each: without each family, and within each model."""

from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from coupling_core.base.units import with_minus
from coupling_core.figures import generalization_words, style
from coupling_core.figures.generalization_tables import trends_table, without_families_table

if TYPE_CHECKING:  # statistics import scipy and pandas, which pages do without until they need them
    from pandas import DataFrame

    from coupling_core.analysis.statistics import LeaveOneFamilyOut, PromptTrends

ROW = 30
"""Pixels."""
MARGINS = 110
BELOW = 86
"""Pixels of the axis in a file, whose title has two lines."""
SOFT = {style.ACCENT: "rgba(228, 87, 46, 0.45)", style.INK: "rgba(125, 131, 140, 0.45)"}
INNER = {"thickness": 7, "width": 0}
OUTER = {"thickness": 1.5, "width": 6}
"""Bars over models are thick; those over families are thin, and capped lest they drown in them."""


def without_families(found: "LeaveOneFamilyOut", *, source: str = "") -> go.Figure:
    """A correlation over all models, without each family, within families and between them.

    Args:
        found: of `leave_one_family_out`.
        source: where the numbers come from, for files.

    Returns:
        a forest plot: the traces "estimate" (interval over models) and "outer" (over families), of
        the first row and of the others, whose customdata is the row's name; and "no estimate",
        the reasons where there is none.
    """
    return _forest(
        without_families_table(found),
        generalization_words.without_families_alt(found),
        generalization_words.without_families_caption(found),
        generalization_words.forest_axis(found),
        source,
    )


def prompt_correlations(trends: "PromptTrends", *, source: str = "") -> go.Figure:
    """Rank correlation of coupling and a number of the prompt, within each model (Figure 10).

    Args:
        trends: of `prompt_trends`.
        source: where the numbers come from, for files.

    Returns:
        a forest plot as `without_families` has it, the mean over models first.
    """
    return _forest(
        trends_table(trends),
        generalization_words.trends_alt(trends),
        generalization_words.trends_caption(trends),
        f"{generalization_words.COEFFICIENTS['spearman']} of coupling and {trends.x_name}",
        source,
    )


def _forest(table: "DataFrame", alt: str, caption: str, title: str, source: str) -> go.Figure:
    """The first row, which the others are compared with, has the accent and a dotted line."""
    figure = style.new_figure(
        alt,
        caption,
        {"title": title, "source": source, "below": BELOW},
        height=ROW * len(table) + MARGINS,
        xaxis={"title": {"text": title.replace(" of ", "<br>of ")}, "range": [-1.08, 1.08]}
        | style.GRID,
        yaxis={
            "type": "category",
            "categoryorder": "array",
            "categoryarray": list(table["row"][::-1]),
            "range": [-0.6, len(table) - 0.4],
            "automargin": True,
            "ticks": "",
        },
        showlegend=False,
    )
    figure.add_vline(x=0, line={"color": style.INK, "width": 1})
    if np.isfinite(table["estimate"][0]):
        figure.add_vline(x=table["estimate"][0], line=style.DOTTED | {"color": style.ACCENT})
    known = table[np.isfinite(table["estimate"])]
    # A trace for each colour: plotly has one for all bars of a trace.
    for color, rows in (
        (style.ACCENT, known[known.index == 0]),
        (style.INK, known[known.index > 0]),
    ):
        for name, prefix in (("estimate", ""), ("outer", "outer_")):
            figure.add_scatter(
                x=rows["estimate"],
                y=rows["row"],
                error_x=interval(rows, prefix, color),
                customdata=rows["row"],
                text=_told(rows),
                mode="markers",
                marker={"color": color, "size": 10, "symbol": "square"},
                name=name,
                hovertemplate="%{y}: %{text}<extra></extra>",
            )
    none = table[~np.isfinite(table["estimate"])]
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
    """Error bars of an estimate; none where its interval is unknown.

    Args:
        rows: of a forest's table.
        prefix: "" for the interval over models, "outer_" for that over families or runs.
        color: of the estimate.
    """
    look = OUTER | {"color": color} if prefix else INNER | {"color": SOFT[color]}
    return look | {
        "type": "data",
        "array": rows[f"{prefix}high"] - rows["estimate"],
        "arrayminus": rows["estimate"] - rows[f"{prefix}low"],
    }


def _told(rows: "DataFrame") -> list[str]:
    return [
        with_minus(
            f"{estimate:.2f}"
            + (f" [{low:.2f}, {high:.2f}]" if np.isfinite(low) else "")
            + (f", p = {p:.2g}" if np.isfinite(p) else "")
            + f", n = {n}"
        )
        for n, estimate, p, low, high in zip(
            *(rows[name] for name in ("n", "estimate", "p", "low", "high")), strict=True
        )
    ]
