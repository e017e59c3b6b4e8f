"""One number of each token's whole path."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from coupling_core.analysis import trajectory
from coupling_core.base.curves import Curves
from coupling_core.base.results import TrajectoryResult
from coupling_core.figures import path_words, style
from coupling_core.figures.curves import Series, curves
from coupling_core.figures.token_labels import label
from coupling_core.figures.words import subject

if TYPE_CHECKING:  # half a second to import
    from pandas import DataFrame

PathNumber = Literal["line-shape", "expodistance", "equidistance"]
LABELLED = 48
"""Up to so many tokens have their texts on the axis; more have numbers."""


@dataclass(frozen=True)
class Number:
    """One number of a path.

    Args:
        title: of the axis, with its unit.
        values: (token).
        caption: what it is.
        log: whether the axis is logarithmic.
        line: what a number is compared with: the value that an ideal path has; None where the
            axis cannot show it.
        ideal: what that path is, or has.
    """

    title: str
    values: Callable[[TrajectoryResult], Float[np.ndarray, " token"]]
    caption: str
    log: bool = False
    line: float | None = None
    ideal: str = ""


NUMBERS: dict[PathNumber, Number] = {
    "line-shape": Number(
        "Line-shape score (1 is a line)",
        lambda r: r.line_shape,
        "Line-shape score of each token's path (paper, Eq. 10): 1 is a straight line.",
        line=1.0,
        ideal="a straight path",
    ),
    "expodistance": Number(
        "Expodistance (0 is even growth)",
        lambda r: trajectory.expodistance(r.norms),
        "Variance of the growth rates over their squared mean (paper, Eq. 13): 0 is a norm that "
        "grows by one factor in every block.",
        log=True,
    ),
    "equidistance": Number(
        "Variation of the steps (0 is equal steps)",
        lambda r: trajectory.equidistance(r.step_lengths),
        "Coefficient of variation of the lengths of the steps: 0 is steps of one length.",
        line=0.0,
        ideal="equal steps",
    ),
}


def per_token(
    result: TrajectoryResult,
    name: PathNumber,
    *,
    token: int,
    twin: TrajectoryResult | None = None,
) -> go.Figure:
    """One number of every token's path, and the mean over the prompt.

    Args:
        result: may be partial.
        name: which number.
        token: the selected one, 1..n, drawn in ink.
        twin: another result of the same prompt, drawn beside it.

    Returns:
        a figure with the traces "own", "selected" and, where there is a twin, "twin", by their
        `uid`; each point's custom data is the token's number.
    """
    number = NUMBERS[name]
    values = number.values(result)
    both = path_words.of_both(result, twin, "Hollow dots and their mean are of")
    drawn = [(result, values, style.ACCENT, "own", "circle")]
    if twin is not None:
        drawn.insert(0, (twin, number.values(twin), style.SECOND, "twin", "circle-open"))
    series = []
    for of, its, color, uid, symbol in drawn:
        beside, x = twin if of is result else result, np.arange(1, len(its) + 1)
        more = {
            "customdata": x,
            "text": [label(text) for text in of.tokens],
            "hovertemplate": "token %{x}, “%{text}”: %{y:.4g}<extra></extra>",
        }
        called = path_words.which(of, beside, second=uid == "twin")
        called += f", {path_words.mean_words(its)}"
        series.append(Series(called, x, its, color, 0, marks=9, symbol=symbol, uid=uid, more=more))
    text, at = f"token {token}, “{label(result.tokens[token - 1])}”", slice(token - 1, token)
    ring = {"color": style.BLACK, "size": 13, "symbol": "circle-open", "line": {"width": 2}}
    inked = {"marker": ring, "meta": style.INKED}
    own = Series(
        text, x[at], values[at], width=0, marks=13, hover=False, uid="selected", more=inked
    )
    caption = f"{number.caption} Dashed: the mean over the prompt.{_missing(result, number)}{both}"
    spec = Curves(x="token", y=number.title, caption=caption, log=number.log, at="token ")
    also = f" {text}: {values[token - 1]:.3g}.{both}"
    figure = curves([*series, own], spec, subject(result), also=also, xaxis=_texts(result))
    for _, its, color, *_ in drawn:
        if (known := its[np.isfinite(its)]).size:
            figure.add_hline(y=known.mean(), line={"color": color, "width": 1, "dash": "dash"})
    if number.line is not None:
        figure.add_hline(y=number.line, line=style.DOTTED)
    return figure


def per_token_table(result: TrajectoryResult) -> "DataFrame":
    """Twin of the numbers of whole paths: a row a token."""
    from pandas import DataFrame, RangeIndex

    index = RangeIndex(1, len(result.tokens) + 1, name="token")
    table = DataFrame({"text": result.tokens}, index=index)
    for name, number in NUMBERS.items():
        table[name] = number.values(result)
    return table


def _missing(result: TrajectoryResult, number: Number) -> str:
    """Why some tokens have no expodistance, and what a final norm does to all."""
    if number is not NUMBERS["expodistance"]:
        return ""
    reasons = trajectory.why_no_expodistance(result.norms)
    without = [f"token {i}: {why}" for i, why in enumerate(reasons, 1) if why]
    text = f" No value for {'; '.join(without[:3])}." if without else ""
    text += f" And {len(without) - 3} more." if len(without) > 3 else ""
    if result.ends_in_norm:
        text += " The last step includes the final norm, whose rescaling counts as growth."
    return text


def _texts(result: TrajectoryResult) -> dict[str, object]:
    n = len(result.tokens)
    if n > LABELLED:
        return {"range": [0, n + 1]}
    return {
        "title": None,
        "tickvals": np.arange(1, n + 1),
        "ticktext": [label(text) for text in result.tokens],
        "tickangle": -45,
        "range": [0.5, n + 0.5],
    }
