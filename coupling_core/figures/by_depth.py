"""Numbers of every state, or of every block, by depth; and how far linearised paths are off."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from coupling_core.analysis.path_curves import median, quantile
from coupling_core.base.curves import Curves
from coupling_core.base.numbers import array_of
from coupling_core.base.records import PathView, resolve_token
from coupling_core.base.results import TrajectoryResult
from coupling_core.figures import path_words, style
from coupling_core.figures.curves import Series, curves, of_numbers, table
from coupling_core.figures.words import label, subject

if TYPE_CHECKING:  # half a second to import
    from pandas import DataFrame

MOST = 24
"""Up to so many tokens have a line each; more are drawn as the range of the middle 80 %."""
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
    view: PathView,
    spec: Curves,
    *,
    token: int = -1,
    twin: TrajectoryResult | None = None,
) -> go.Figure:
    """One number of all tokens by depth; beside a twin of another prompt medians alone."""
    (name,) = spec.numbers
    own, token = array_of(result, view, name), resolve_token(token, len(result.tokens))
    depth = np.arange(spec.first, spec.first + len(own))
    is_same_prompt = twin is None or twin.tokens == result.tokens
    of = "the tokens" if twin is None else path_words.which(result, twin)
    series = [Series(f"median of {of}", depth, median(own), uid="median")]
    if twin is not None:
        beside = median(array_of(twin, view, name))
        at = np.linspace(depth[0], depth[-1], len(beside))  # the same depth, were L another
        text = f"median of {path_words.which(twin, result, second=True)}"
        series.append(Series(text, at, beside, style.SECOND, dash="dash", uid="twin"))
    if is_same_prompt:
        text, its = f"token {token}, “{label(result.tokens[token - 1])}”", own[:, token - 1]
        inked = {"meta": style.INKED}
        series.append(Series(text, depth, its, style.BLACK, 2.5, uid="selected", more=inked))
        series = [*(_tokens if own.shape[1] <= MOST else _range)(depth, own), *series]
    both = path_words.of_both(result, twin, "The dashed line is the median of")
    spec = of_numbers(result.request.kind, spec)
    spec = replace(spec, caption=spec.caption + both)
    return curves(series, spec, subject(result), also=both)


def linearised(result: TrajectoryResult, *, token: int = -1) -> go.Figure:
    """Relative errors by block of the linearised path, one step at a time and rolled out."""
    token = resolve_token(token, len(result.tokens))
    of = f"token {token}, {subject(result)}"
    return curves(_linearised(result, token), LINEARISED, of)


def linearised_table(result: TrajectoryResult, token: int) -> "DataFrame":
    """Twin of the linearised errors of one token: a row a block."""
    return table(_linearised(result, token), "block").set_index("block")


def _linearised(result: TrajectoryResult, token: int) -> list[Series]:
    at, blocks = token - 1, np.arange(1, result.n_blocks + 1)
    series = []
    for uid, text, errors, color in (
        ("one-step", "one step from x<sup>l-1</sup>", result.one_step, style.ACCENT),
        ("rolled-out", "rolled out from x<sup>0</sup>", result.rolled_out, style.SECOND),
    ):
        own = Series(text, blocks, errors[:, at], color, 2.5, uid=uid, column=uid.replace("-", "_"))
        middle = Series(f"{uid}, median", blocks, median(errors), color, 1, uid=f"{uid}-median")
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
