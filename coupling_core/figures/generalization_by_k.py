"""Coupling of many models, and its correlation with their performance, against K."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from coupling_core.figures import generalization_words, style
from coupling_core.figures.generalization import (
    HEIGHT,
    bars,
    family_looks,
    log_where_decades,
    upright,
)
from coupling_core.figures.generalization_forest import interval
from coupling_core.figures.generalization_tables import (
    correlation_by_k_table,
    coupling_by_k_table,
)

if TYPE_CHECKING:  # statistics import scipy and pandas, which pages do without until they need them
    from coupling_core.analysis.statistics import Correlation, ModelMeans

SIGNIFICANT = 0.05


def coupling_by_k(means: Mapping[int, "ModelMeans"], *, source: str = "") -> go.Figure:
    """Coupling of each model against K, with intervals over prompts.

    Args:
        means: by K, of `means_by_k`.
        source: where the numbers come from, for files.

    Returns:
        a figure with a trace a model, named by its family, whose customdata is the model's name;
        and the traces "chance" where the measure is raw.
    """
    table = coupling_by_k_table(means)
    measure = next((found.measure for found in means.values()), "corrected")
    ks = sorted(means)
    figure = _by_k(
        generalization_words.by_k_alt(table),
        generalization_words.by_k_caption(means),
        ks,
        {"title": {"text": f"{generalization_words.MEASURES[measure]} (no unit)"}},
        "coupling against K",
        source,
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

    Args:
        found: by K, of `correlations_by_k`.
        y: column of performance.
        source: where the numbers come from, for files.

    Returns:
        a figure with the traces "outer" (interval over families or runs) and "correlation"
        (interval over models), whose customdata is n.
    """
    table = correlation_by_k_table(found)
    method = next((one.method for one in found.values()), "pearson")
    short = generalization_words.SHORT[y]
    figure = _by_k(
        generalization_words.correlation_by_k_alt(found, y),
        generalization_words.correlation_by_k_caption(found),
        list(found),
        {
            "title": {
                "text": f"{generalization_words.COEFFICIENTS[method]} of coupling and {short}"
            },
            "range": [-1.05, 1.05],
        },
        f"correlation of coupling and {short} against K",
        source,
    )
    figure.add_hline(y=0, line=style.DOTTED)
    for name, prefix in (("correlation", ""), ("outer", "outer_")):
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
            name=name,
            showlegend=False,
            hovertemplate="K = %{x}: %{y:.2f}, n = %{customdata}<extra></extra>",
        )
    return figure


def _by_k(
    alt: str, caption: str, ks: list[int], yaxis: dict[str, object], title: str, source: str
) -> go.Figure:
    return style.new_figure(
        alt,
        caption,
        {"title": title, "source": source},
        height=HEIGHT,
        xaxis={"title": {"text": "Number of singular triplets K"}}
        | log_where_decades(np.array(ks, np.float64))
        | style.GRID,
        yaxis=upright(yaxis),
    )
