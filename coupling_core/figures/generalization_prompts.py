"""Coupling against the length or the difficulty of prompts (Figure 10)."""

from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from coupling_core.base.errors import InputError
from coupling_core.base.units import with_minus
from coupling_core.base.wording import MEASURES
from coupling_core.figures import generalization_words as words
from coupling_core.figures import style
from coupling_core.figures.generalization import frame
from coupling_core.figures.generalization_forest import described
from coupling_core.figures.generalization_tables import trends_table

if TYPE_CHECKING:  # statistics import scipy and pandas, which pages do without until they need them
    from coupling_core.analysis.statistics import PromptTrend, PromptTrends

OTHERS = "rgba(125, 131, 140, 0.6)"
"""Lines of other models: fainter than the chosen one's, stronger than the grid's."""


def coupling_by_prompt(trends: "PromptTrends", model: str, *, source: str = "") -> go.Figure:
    """Coupling of one model on every prompt, over the lines of the other models.

    Raises:
        InputError: if the model is not among them.
    """
    names = [one.model for one in trends.models]
    if model not in names:
        raise InputError(f"model {model!r} is not in this sweep: it has {', '.join(names)}")
    own = trends.models[names.index(model)]
    few = {"tickvals": [1, 2, 3], "range": [0.8, 3.2]} if trends.x_name == "difficulty" else {}
    title, rows = f"Coupling of {model} against {trends.x_name} of the prompt", trends_table(trends)
    figure = frame(
        (described(title, rows[rows["row"] == model]), words.coupling_by_prompt(trends, own)),
        f"coupling of {model} against {trends.x_name}",
        source,
        {"title": {"text": words.PROMPT_AXES[trends.x_name]}} | few,
        {"title": {"text": f"Mean {MEASURES[trends.measure]} (no unit)"}},
        height=420,
        showlegend=False,
    )
    for other in trends.models:
        if other is not own and not other.reason:
            figure.add_trace(_line(other, other.model, OTHERS, 1.2))
    figure.add_scatter(
        x=own.x,
        y=own.coupling,
        customdata=own.prompt,
        mode="markers",
        marker={"color": style.ACCENT, "size": 7, "opacity": 0.7},
        name="prompts",
        hovertemplate="%{customdata}<br>%{y:.3f}<extra></extra>",
    )
    return figure if own.reason else figure.add_trace(_line(own, "trend", style.ACCENT, 2.5))


def _line(trend: "PromptTrend", name: str, color: str, width: float) -> go.Scatter:
    ends = np.array([trend.x.min(), trend.x.max()])
    return go.Scatter(
        x=ends,
        y=trend.intercept + trend.slope * ends,
        customdata=[trend.model] * 2,
        mode="lines",
        line={"color": color, "width": width},
        name=name,
        hovertemplate=f"{trend.model}: {with_minus(f'{trend.slope:.2g}')} per unit<extra></extra>",
    )
