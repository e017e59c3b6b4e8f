"""A score against K, with the score that chance gives: the mean over pairs."""

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from coupling_core.analysis.scores import definition_name, require_k
from coupling_core.analysis.scores import mean_by_k as mean_curves
from coupling_core.base.records import View
from coupling_core.base.results import DepthResult
from coupling_core.figures import style, words


def mean_by_k(result: DepthResult, view: View, *, corrected: bool = False) -> go.Figure:
    """Mean score over all pairs of different blocks viewed for K = 1..Kmax, and its chance floor.

    Args:
        result: may be partial; pairs that wait are left out.
        view: K, definition, role and blocks.
        corrected: draw the chance-corrected score, whose floor is 0.

    Returns:
        a figure with the traces "score", "chance" and "K".

    Raises:
        InputError: where K or a block is not in the result.
    """
    require_k(result, view.k)
    raw, floor, above = mean_curves(result, view)
    return draw(
        above if corrected else raw,
        floor,
        view,
        corrected,
        f"Mean {style.score_name(corrected).lower()}",
        words.mean_by_k_alt(result, view),
        words.mean_by_k_caption(),
    )


def draw(
    shown: Float[np.ndarray, " k"],
    chance: Float[np.ndarray, " k"],
    view: View,
    corrected: bool,
    name: str,
    alt: str,
    caption: str,
) -> go.Figure:
    """Draw a score and its chance floor for K = 1..Kmax, with a marker at the viewed K.

    Args:
        shown: the score, NaN where it is undefined.
        chance: the floor of the score that is not corrected; that of a corrected one is 0.
        view: K and definition.
        corrected: whether the score is chance-corrected.
        name: of the score.
        alt: the alternative text.
        caption: the caption.
    """
    fixed = style.CORRECTED_RANGE if corrected else style.RAW_RANGE
    chance = np.where(np.isnan(chance), np.nan, 0.0) if corrected else chance
    k = np.arange(1, len(shown) + 1)
    figure = style.new_figure(
        alt,
        caption,
        height=380,
        xaxis={"title": {"text": "Number of singular triplets K"}, "range": [0, len(k) + 1]},
        yaxis=style.axis(
            f"{name} ({definition_name(view)})", range=style.covering(fixed, shown, chance)
        ),
        hovermode="x unified",
    )
    figure.add_trace(style.line(k, chance, "chance", width=1.5, line_dash="dash"))
    figure.add_trace(style.line(k, shown, "score", style.ACCENT, 2.5))
    figure.update_traces(hovertemplate="%{y:.3f}")
    return figure.add_scatter(
        x=[view.k],
        y=[shown[view.k - 1]],
        name=f"K = {view.k}",
        mode="markers",
        marker={"color": style.ACCENT, "size": 10},
        hoverinfo="skip",
    )
