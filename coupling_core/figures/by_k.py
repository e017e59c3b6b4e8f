"""The score of one pair against K, with the score that chance gives."""

import numpy as np
import plotly.graph_objects as go

from coupling_core.figures import style, words
from coupling_core.records import DepthResult, View
from coupling_core.scores import corrected as correct
from coupling_core.scores import require_k
from coupling_core.scores import score_by_k as curves


def score_by_k(
    result: DepthResult, block: int, basis: int, view: View, *, corrected: bool = False
) -> go.Figure:
    """Score for K = 1..Kmax with its chance floor, and a marker at the viewed K.

    Args:
        result: may be partial; a pair that waits has no curve.
        block: l, whose Jacobian it is.
        basis: l', whose singular vectors are the basis.
        view: K, definition and role.
        corrected: draw the chance-corrected score, whose floor is 0.

    Returns:
        a figure with the traces "score", "chance" and "K".

    Raises:
        InputError: where K or a block is not in the result.
    """
    require_k(result, view.k)
    raw, floor = curves(result, block, basis, view)
    shown = correct(raw, floor) if corrected else raw
    chance = np.where(np.isnan(floor), np.nan, 0.0) if corrected else floor
    fixed = style.CORRECTED_RANGE if corrected else style.RAW_RANGE
    k = np.arange(1, result.k_max + 1)
    figure = style.new_figure(
        words.by_k_alt(result, block, basis, view),
        words.by_k_caption(block, basis),
        height=380,
        xaxis={"title": {"text": "Number of singular triplets K"}, "range": [0, result.k_max + 1]},
        yaxis={
            "title": {"text": f"{style.score_name(corrected)} ({style.definition_name(view)})"},
            "range": style.covering(fixed, shown, chance),
        }
        | style.GRID,
        hovermode="x unified",
    )
    number = "%{y:.3f}"
    figure.add_scatter(
        x=k, y=chance, name="chance", line={"color": style.INK, "dash": "dash", "width": 1.5}
    )
    figure.add_scatter(
        x=k, y=shown, name="score", line={"color": style.ACCENT, "width": 2.5}
    ).update_traces(mode="lines", hovertemplate=number)
    figure.add_scatter(
        x=[view.k],
        y=[shown[view.k - 1]],
        name=f"K = {view.k}",
        mode="markers",
        marker={"color": style.ACCENT, "size": 10},
        hoverinfo="skip",
    )
    return figure
