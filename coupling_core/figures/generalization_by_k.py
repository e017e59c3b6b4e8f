"""Coupling of many models, and its correlation with their performance, against K."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from coupling_core.base.records import Measure
from coupling_core.base.wording import MEASURES
from coupling_core.figures import generalization_words as words
from coupling_core.figures import style
from coupling_core.figures.generalization import bars, family_looks, frame, log_where_decades
from coupling_core.figures.generalization_forest import INTERVALS, described, interval
from coupling_core.figures.generalization_tables import correlation_by_k_table, coupling_by_k_table

if TYPE_CHECKING:  # statistics import scipy and pandas, which pages do without until they need them
    from coupling_core.analysis.statistics import Correlation, ModelMeans

SIGNIFICANT = 0.05


def coupling_by_k(means: Mapping[int, "ModelMeans"], *, source: str = "") -> go.Figure:
    """Coupling of each model, a trace each, against K, with intervals over prompts."""
    table, ks = coupling_by_k_table(means), sorted(means)
    measure: Measure = next((found.measure for found in means.values()), "corrected")
    figure = frame(
        words.coupling_by_k(table, measure),
        "coupling against K",
        source,
        _k_axis(ks),
        {"title": {"text": f"Mean {MEASURES[measure]} (no unit)"}},
    )
    if measure != "coupling":
        figure.add_hline(y=0, line=style.DOTTED)
    looks = family_looks(table["family"])
    named: set[str] = set()  # families in the legend
    for (trained, model), found in table.groupby(["trained", "model"], sort=False):
        family = found["family"].iloc[0]
        color, symbol = looks[family]
        rows = found.set_index("k").reindex(ks)  # a K at which it was not measured is a gap
        if measure == "coupling":
            floor = style.line(ks, rows["chance"], "chance", color, 1, line_dash="dash")
            figure.add_trace(floor.update(showlegend=False, hoverinfo="skip"))
        figure.add_scatter(
            x=ks,
            y=rows["coupling"],
            error_y=bars(rows, color),
            customdata=[model] * len(ks),
            mode="lines+markers",
            line={"color": color, "width": 1.5},
            marker={"size": 7, "symbol": symbol if trained else f"{symbol}-open"},
            name=family,
            legendgroup=family,
            showlegend=family not in named,
            hovertemplate=f"{model}<br>K = %{{x}}: %{{y:.3f}}<extra></extra>",
        )
        named.add(family)
    return figure


def correlation_by_k(found: Mapping[int, "Correlation"], y: str, *, source: str = "") -> go.Figure:
    """Correlation of coupling and performance against K (the preprint's section 5.4).

    Traces: "correlation" (interval over models) and "outer" (over families or runs); customdata: n.
    """
    table = correlation_by_k_table(found)
    coefficient = words.COEFFICIENTS[next((one.method for one in found.values()), "pearson")]
    title = f"{coefficient} of coupling and {words.short(y)}"
    figure = frame(
        (described(title, table), words.correlation_by_k(found)),
        f"correlation of coupling and {words.short(y)} against K",
        source,
        _k_axis(found),
        {"title": {"text": title}, "range": [-1.05, 1.05]},
    )
    figure.add_hline(y=0, line=style.DOTTED)
    for prefix in INTERVALS:
        figure.add_scatter(
            x=table["k"],
            y=table["estimate"],
            error_y=interval(table, prefix, style.ACCENT),
            customdata=table["n"],
            mode="lines+markers",
            line={"color": style.ACCENT, "width": 1.5},
            marker={
                "size": 10,
                "symbol": np.where(table["p"] < SIGNIFICANT, "circle", "circle-open"),
            },
            name="outer" if prefix else "correlation",
            showlegend=False,
            hovertemplate="K = %{x}: %{y:.2f}, n = %{customdata}<extra></extra>",
        )
    return figure


def _k_axis(ks: Iterable[int]) -> dict[str, object]:
    title = {"title": {"text": "Number of singular triplets K"}}
    return title | log_where_decades(np.array([*ks], np.float64))
