"""The score of one pair, or the mean over pairs, against K, with the score that chance gives."""

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from coupling_core.analysis.scores import corrected as correct
from coupling_core.analysis.scores import definition_name, require_k
from coupling_core.analysis.scores import mean_by_k as mean_curves
from coupling_core.analysis.scores import score_by_k as curves
from coupling_core.base.records import View, resolve_block
from coupling_core.base.results import DepthResult
from coupling_core.figures import style, words


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
    block, basis = (resolve_block(each, result.n_blocks) for each in (block, basis))
    raw, floor = curves(result, block, basis, view)
    return draw(
        correct(raw, floor) if corrected else raw,
        floor,
        view,
        corrected,
        style.score_name(corrected),
        words.by_k_alt(result, block, basis, view),
        words.by_k_caption(block, basis),
    )


def mean_by_k(result: DepthResult, view: View, *, corrected: bool = False) -> go.Figure:
    """The same as `score_by_k` for the mean over all pairs of different blocks viewed.

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
    floor: Float[np.ndarray, " k"],
    view: View,
    corrected: bool,
    name: str,
    alt: str,
    caption: str,
) -> go.Figure:
    """Draw a score and its chance floor for K = 1..Kmax, with a marker at the viewed K.

    Args:
        shown: the score, NaN where it is undefined.
        floor: what chance gives of the raw score.
        view: K and definition.
        corrected: whether the score is chance-corrected.
        name: of the score.
        alt: the alternative text.
        caption: the caption.
    """
    fixed = style.CORRECTED_RANGE if corrected else style.RAW_RANGE
    chance = np.where(np.isnan(floor), np.nan, 0.0) if corrected else floor
    k = np.arange(1, len(shown) + 1)
    figure = style.new_figure(
        alt,
        caption,
        height=380,
        xaxis={"title": {"text": "Number of singular triplets K"}, "range": [0, len(k) + 1]},
        yaxis={
            "title": {"text": f"{name} ({definition_name(view)})"},
            "range": style.covering(fixed, shown, chance),
        }
        | style.GRID,
        hovermode="x unified",
    )
    dashed = {"color": style.INK, "dash": "dash", "width": 1.5}
    figure.add_scatter(x=k, y=chance, name="chance", line=dashed)
    figure.add_scatter(x=k, y=shown, name="score", line={"color": style.ACCENT, "width": 2.5})
    figure.update_traces(mode="lines", hovertemplate="%{y:.3f}")
    return figure.add_scatter(
        x=[view.k],
        y=[shown[view.k - 1]],
        name=f"K = {view.k}",
        mode="markers",
        marker={"color": style.ACCENT, "size": 10},
        hoverinfo="skip",
    )
