"""Numbers of each token's path, by depth or of all of it; and how far linearised paths are off."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from coupling_core.analysis.path_curves import median, quantile
from coupling_core.base.curves import Curves
from coupling_core.base.numbers import array_of, number_of, seen_in
from coupling_core.base.records import PathView, resolve_token
from coupling_core.base.results import TrajectoryResult
from coupling_core.figures import path_words, style
from coupling_core.figures.curves import Series, curves, of_numbers
from coupling_core.figures.words import label

if TYPE_CHECKING:  # half a second to import
    from pandas import DataFrame

MOST = 24
"""Up to so many tokens have a line each; more are drawn as the range of the middle 80 %."""
LABELLED = 48
"""Up to so many tokens have their texts on the axis; more have numbers."""
_LOOKS = {"own": (style.ACCENT, "circle"), "twin": (style.SECOND, "circle-open")}
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
    of = "the tokens" if twin is None else path_words.which(result, twin)
    series = [Series(f"median of {of}", depth, median(own), uid="median")]
    if twin is not None:
        beside = median(array_of(twin, view, name))
        at = np.linspace(depth[0], depth[-1], len(beside))  # the same depth, were L another
        text = f"median of {path_words.which(twin, result, second=True)}"
        series.append(Series(text, at, beside, style.SECOND, dash="dash", uid="twin"))
    if twin is None or twin.tokens == result.tokens:
        text, its, inked = _selected(result, token), own[:, token - 1], {"meta": style.INKED}
        series.append(Series(text, depth, its, style.BLACK, 2.5, uid="selected", more=inked))
        series.insert(0, (_tokens if own.shape[1] <= MOST else _range)(depth, own))
    both = path_words.of_both(result, twin, "The dashed line is the median of")
    spec = of_numbers(result.request.kind, spec)
    return curves(series, replace(spec, caption=spec.caption + both), result.subject, also=both)


def per_token(
    result: TrajectoryResult,
    view: PathView,
    spec: Curves,
    *,
    token: int = -1,
    twin: TrajectoryResult | None = None,
) -> go.Figure:
    """One number of every token's path and the mean over the prompt, beside a twin's."""
    (name,), n = spec.numbers, len(result.tokens)
    token, text = resolve_token(token, n), _selected(result, resolve_token(token, n))
    number, seen = number_of(result.request.kind, name), seen_in(result, view)
    own, column = number.values(seen), number.column
    series = [_dots(result, own, twin, "own")]
    if twin is not None:
        series.insert(0, _dots(twin, array_of(twin, view, name), result, "twin"))
    x, at = np.array([token]), slice(token - 1, token)
    ring = {"color": style.BLACK, "size": 13, "symbol": "circle-open", "line": {"width": 2}}
    inked = {"marker": ring, "meta": style.INKED}
    chosen = Series(text, x, own[at], width=0, marks=13, hover=False, uid="selected", more=inked)
    spec = of_numbers(result.request.kind, spec)
    both = path_words.of_both(result, twin, "Hollow dots and their mean are of")
    without = [f"token {i}: {why}" for i, why in enumerate(number.why(seen), 1) if why]
    caption = f"{spec.caption} Dashed: the mean over the prompt."
    caption += f" No value for {'; '.join(without[:3])}." * bool(without)
    caption += f" And {len(without) - 3} more." * (len(without) > 3) + both
    if result.ends_in_norm and spec.rescaled:
        caption += " The last step includes the final norm, whose rescaling counts too."
    figure = curves(
        [*series, chosen],
        replace(spec, caption=caption, log=column is not None and column.log),
        result.subject,
        also=f" {text}: {own[token - 1]:.3g}.{both}",
        xaxis={"range": [0, n + 1]} if n > LABELLED else _texts(result),
    )
    for one in series:
        y, line = np.asarray(one.y), {"color": one.color, "width": 1, "dash": "dash"}
        if (known := y[np.isfinite(y)]).size:
            figure.add_hline(y=known.mean(), line=line)
    if column is not None and isinstance(column.ideal, float):
        figure.add_hline(y=column.ideal, line=style.DOTTED)
    return figure


def linearised(result: TrajectoryResult, *, token: int = -1) -> go.Figure:
    """Relative errors by block of the linearised path, one step at a time and rolled out."""
    token = resolve_token(token, len(result.tokens))
    at, blocks = token - 1, np.arange(1, result.n_blocks + 1)
    series: list[Series] = []
    for uid, text, errors, color in (
        ("one-step", "one step from x<sup>l-1</sup>", result.one_step, style.ACCENT),
        ("rolled-out", "rolled out from x<sup>0</sup>", result.rolled_out, style.SECOND),
    ):
        own = Series(text, blocks, errors[:, at], color, 2.5, uid=uid)
        middle = Series(f"{uid}, median", blocks, median(errors), color, 1, uid=f"{uid}-median")
        series += [own, middle]
    stays = (result.step_lengths / result.norms[1:])[:, at]
    series.append(Series("the state stays where it is", blocks, stays, dash="dot", uid="rest"))
    return curves(series, LINEARISED, f"token {token}, {result.subject}")


def linearised_table(result: TrajectoryResult, token: int) -> "DataFrame":
    """Twin of the linearised errors of one token: a row a block."""
    from pandas import DataFrame, RangeIndex

    named = {"one_step": result.one_step, "rolled_out": result.rolled_out}
    named["stays"] = result.step_lengths / result.norms[1:]
    blocks = RangeIndex(1, result.n_blocks + 1, name="block")
    return DataFrame({name: of[:, token - 1] for name, of in named.items()}, blocks)


def _selected(result: TrajectoryResult, token: int) -> str:
    return f"token {token}, “{label(result.tokens[token - 1])}”"


def _tokens(depth: np.ndarray, values: np.ndarray) -> Series:
    """All tokens as one trace with gaps: many traces would be slow to draw."""
    x = np.tile(np.r_[depth, np.nan], values.shape[1])
    y = np.pad(values, ((0, 1), (0, 0)), constant_values=np.nan).T.ravel()
    return Series("each token", x, y, style.FAINT, 1.2, hover=False, uid="tokens")


def _range(depth: np.ndarray, values: np.ndarray) -> Series:
    band, name = (quantile(values, 0.1), quantile(values, 0.9)), "80\u00a0% of the tokens"
    return Series(name, depth, None, band=band, band_name=name, tint=style.FAINT)


def _dots(
    of: TrajectoryResult, values: np.ndarray, beside: TrajectoryResult | None, uid: str
) -> Series:
    """A dot a token, and in the legend the mean over the prompt."""
    x, (color, symbol) = np.arange(1, len(values) + 1), _LOOKS[uid]
    whose = path_words.which(of, beside, second=uid == "twin")
    more = {
        "customdata": x,
        "text": [label(text) for text in of.tokens],
        "hovertemplate": "token %{x}, “%{text}”: %{y:.4g}<extra></extra>",
    }
    name = f"{whose}, {path_words.mean_words(values)}"
    return Series(name, x, values, color, 0, marks=9, symbol=symbol, uid=uid, more=more)


def _texts(result: TrajectoryResult) -> dict[str, object]:
    """The axis of few tokens, with their texts."""
    n = len(result.tokens)
    return {
        "title": None,
        "tickvals": np.arange(1, n + 1),
        "ticktext": [label(text) for text in result.tokens],
        "tickangle": -45,
        "range": [0.5, n + 0.5],
    }
