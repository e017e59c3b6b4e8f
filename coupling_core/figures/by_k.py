"""A score against K, with the score that chance gives: of a pair, or the mean over pairs."""

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from coupling_core.analysis.scores import definition_name, require_k
from coupling_core.analysis.scores import mean_by_k as mean_curves
from coupling_core.base.curves import Curves
from coupling_core.base.records import View
from coupling_core.base.results import DepthResult
from coupling_core.figures import style
from coupling_core.figures.curves import Series, chance, curves
from coupling_core.figures.words import subject

BY_K = Curves(
    x="k",
    y="{name} ({definition})",
    caption="{what} as more singular triplets are counted. Only what lies above the chance line is "
    "coupling.",
    height=380,
)


def mean_by_k(result: DepthResult, view: View, *, corrected: bool = False) -> go.Figure:
    """Mean score over all pairs of different viewed blocks for every K, and its chance level."""
    require_k(result, view.k)
    raw, level, above = mean_curves(result, view)
    name = f"Mean {style.score_name(corrected).lower()}"
    words = {"name": name, "what": "Mean over all pairs of blocks l ≠ l'"}
    return score_curves(above if corrected else raw, level, view, words, subject(result), corrected)


def score_curves(
    shown: Float[np.ndarray, " k"],
    level: Float[np.ndarray, " k"],
    view: View,
    words: Mapping[str, str],
    of: str,
    corrected: bool,
    also: str = "",
) -> go.Figure:
    """A score and its chance level for K = 1..Kmax, with a mark at the viewed K.

    `level` is that of the raw score, and 0 where it is `corrected`; `words` are the "name" of the
    score, and "what" it is of.
    """
    fixed = style.CORRECTED_RANGE if corrected else style.RAW_RANGE
    level = np.where(np.isnan(level), np.nan, 0.0) if corrected else level
    k, here = np.arange(1, len(shown) + 1), slice(view.k - 1, view.k)
    return curves(
        [
            chance(k, level),
            Series("score", k, shown, style.ACCENT, 2.5),
            Series(f"K = {view.k}", k[here], shown[here], style.ACCENT, 0, marks=10, hover=False),
        ],
        BY_K,
        of,
        {**words, "definition": definition_name(view)},
        also=also,
        xaxis={"range": [0, len(k) + 1]},
        yaxis={"range": style.covering(fixed, shown, level)},
    )
