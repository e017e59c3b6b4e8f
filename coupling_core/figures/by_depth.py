"""Numbers of every state, or of every block, by depth; and how far linearised paths are off."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from coupling_core.analysis import trajectory
from coupling_core.analysis.path_curves import CURVES, CurveName, median, quantile
from coupling_core.base.curves import Curves
from coupling_core.base.results import TrajectoryResult
from coupling_core.figures import path_words, style
from coupling_core.figures.curves import Series, curves, table
from coupling_core.figures.token_labels import label
from coupling_core.figures.words import subject

if TYPE_CHECKING:  # half a second to import
    from pandas import DataFrame

MOST = 24
"""Up to so many tokens have a line each; more are drawn as the range of the middle 80 %."""
_CAPTIONS: dict[CurveName, str] = {
    "norms": "Euclidean norm of each token's state by depth. The first token often grows far "
    "above the others.",
    "growth": "Growth of the norm in each block (paper, Eq. 12): a level line is exponential "
    "growth, and the variance over the blocks in units of the squared mean is the expodistance.",
    "steps": "How far each block moves each token, in units of that token's mean step: a level "
    "line at 1 is equal steps.",
    "line-shape-by-depth": f"Line-shape score of the {trajectory.WINDOW} states round each "
    "state (preprint, Figure 25): 1 is a straight line; nothing where the window does not fit.",
    "entropy": "Entropy of the next-token distribution that each state would give through the "
    "model's own final norm and head; 0 is certain.",
}
BY_DEPTH = Curves(at="l = ", hover=".4g")
LINEARISED = Curves(
    y="Distance from x<sup>l</sup>, in units of its norm",
    caption="Error of the linearised path x^l = (I + J^l) x^(l-1) of the selected token (paper, "
    "Section 6.1), one block at a time and rolled out from the embedding; thin: medians over all "
    "tokens. Below the dotted line the linear part predicts more than a state that does not move.",
    log=True,
    at="block ",
    hover=".3g",
    height=440,
)


def by_depth(
    result: TrajectoryResult,
    name: CurveName,
    *,
    token: int,
    twin: TrajectoryResult | None = None,
) -> go.Figure:
    """One number of all tokens by depth.

    Args:
        result: may be partial.
        name: which number.
        token: the selected one, 1..n, drawn in ink.
        twin: another result, whose median is drawn too. Where it is of another prompt, medians
            alone are drawn.

    Returns:
        a figure with the traces "tokens" (or a band of the middle 80 %), "median", "twin" where
        there is one, and "selected", by their `uid`.
    """
    curve = CURVES[name]
    values = curve.values(result)
    depth = np.arange(curve.first, result.n_blocks + 1)
    is_same_prompt = twin is None or twin.tokens == result.tokens
    of = "the tokens" if twin is None else path_words.which(result, twin)
    series = [Series(f"median of {of}", depth, median(values), uid="median")]
    if twin is not None:
        beside = median(curve.values(twin))
        at = np.linspace(depth[0], depth[-1], len(beside))  # the same depth, were L another
        text = f"median of {path_words.which(twin, result, second=True)}"
        series.append(Series(text, at, beside, style.SECOND, dash="dash", uid="twin"))
    if is_same_prompt:
        text, own = f"token {token}, “{label(result.tokens[token - 1])}”", values[:, token - 1]
        inked = {"meta": style.INKED}
        series.append(Series(text, depth, own, style.BLACK, 2.5, uid="selected", more=inked))
        series = [*(_tokens if values.shape[1] <= MOST else _range)(depth, values), *series]
    both = path_words.of_both(result, twin, "The dashed line is the median of")
    caption = by_depth_caption(result, name) + both
    spec = replace(BY_DEPTH, x=curve.depth, y=curve.title, caption=caption, log=curve.log)
    return curves(series, spec, subject(result), also=both)


def by_depth_caption(result: TrajectoryResult, name: CurveName) -> str:
    """How a number by depth is read, or why there is none."""
    if name == "entropy" and result.no_entropy:
        return f"There is no entropy: {result.no_entropy}."
    if name == "line-shape-by-depth" and result.n_blocks < trajectory.WINDOW - 1:
        return (
            f"This model has {result.n_blocks + 1} states, and the window takes "
            f"{trajectory.WINDOW}: there is no score."
        )
    return _CAPTIONS[name]


def by_depth_table(result: TrajectoryResult, name: CurveName) -> "DataFrame":
    """Twin of a number by depth: a row a state (or block), a column a token."""
    from pandas import DataFrame, RangeIndex

    curve = CURVES[name]
    depth = RangeIndex(curve.first, result.n_blocks + 1, name="block" if curve.first else "state")
    columns = [f"{i} {text}" for i, text in enumerate(result.tokens, 1)]
    return DataFrame(curve.values(result), index=depth, columns=columns)


def linearised(result: TrajectoryResult, *, token: int) -> go.Figure:
    """Relative errors by block of the linearised path, one step at a time and rolled out.

    Args:
        result: may be partial; a token that waits has no line.
        token: the selected one, 1..n.

    Returns:
        a figure with the traces "one-step", "rolled-out" and "rest" (the error of a state that
        stays where it is), and the medians over all tokens of the first two, by their `uid`.
    """
    of = f"token {token}, {subject(result)}"
    return curves(_linearised(result, token), LINEARISED, of)


def linearised_table(result: TrajectoryResult, token: int) -> "DataFrame":
    """Twin of the linearised errors of one token: a row a block."""
    return table(_linearised(result, token), "block").set_index("block")


def _linearised(result: TrajectoryResult, token: int) -> list[Series]:
    at, blocks = token - 1, np.arange(1, result.n_blocks + 1)
    series = []
    for uid, text, values, color in (
        ("one-step", "one step from x<sup>l-1</sup>", result.one_step, style.ACCENT),
        ("rolled-out", "rolled out from x<sup>0</sup>", result.rolled_out, style.SECOND),
    ):
        own = Series(text, blocks, values[:, at], color, 2.5, uid=uid, column=uid.replace("-", "_"))
        middle = Series(f"{uid}, median", blocks, median(values), color, 1, uid=f"{uid}-median")
        series += [own, middle]
    rest = (result.step_lengths / result.norms[1:])[:, at]
    name = "the state stays where it is"
    return [*series, Series(name, blocks, rest, dash="dot", column="stays", uid="rest")]


def _tokens(depth: np.ndarray, values: np.ndarray) -> list[Series]:
    """All tokens as one trace with gaps: many traces would be slow to draw."""
    gap = np.full((1, values.shape[1]), np.nan)
    x = np.tile(np.r_[depth, np.nan], values.shape[1])
    y = np.concatenate([values, gap]).T.ravel()
    return [Series("each token", x, y, style.FAINT, 1.2, hover=False, uid="tokens")]


def _range(depth: np.ndarray, values: np.ndarray) -> list[Series]:
    low, high = (quantile(values, q) for q in (0.1, 0.9))
    name = "80\u00a0% of the tokens"
    return [Series(name, depth, None, band=(low, high), band_name=name, tint=style.FAINT)]
