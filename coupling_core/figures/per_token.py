"""One number of each token's whole path."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go

from coupling_core.base.curves import Curves
from coupling_core.base.numbers import number_of, seen_in
from coupling_core.base.records import PathView, resolve_token
from coupling_core.base.results import TrajectoryResult
from coupling_core.figures import path_words, style
from coupling_core.figures.curves import Series, curves, of_numbers
from coupling_core.figures.words import label, subject

LABELLED = 48
"""Up to so many tokens have their texts on the axis; more have numbers."""


def per_token(
    result: TrajectoryResult,
    view: PathView,
    spec: Curves,
    *,
    token: int = -1,
    twin: TrajectoryResult | None = None,
) -> go.Figure:
    """One number of every token's path and the mean over the prompt, beside a twin's."""
    (name,) = spec.numbers
    number = number_of(result.request.kind, name)
    token = resolve_token(token, len(result.tokens))
    seen = seen_in(result, view)
    own = number.values(seen)
    both = path_words.of_both(result, twin, "Hollow dots and their mean are of")
    drawn = [(result, own, style.ACCENT, "own", "circle")]
    if twin is not None:
        theirs = number.values(seen_in(twin, view))
        drawn.insert(0, (twin, theirs, style.SECOND, "twin", "circle-open"))
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
    x = np.array([token])
    series.append(
        Series(text, x, own[at], width=0, marks=13, hover=False, uid="selected", more=inked)
    )
    column, spec = number.column, of_numbers(result.request.kind, spec)
    more_words = f" Dashed: the mean over the prompt.{_missing(number.why(seen))}{both}"
    if result.ends_in_norm and spec.rescaled:
        more_words += " The last step includes the final norm, whose rescaling counts too."
    spec = replace(spec, caption=spec.caption + more_words, log=column is not None and column.log)
    also = f" {text}: {own[token - 1]:.3g}.{both}"
    figure = curves(series, spec, subject(result), also=also, xaxis=_texts(result))
    for _, its, color, *_ in drawn:
        if (known := its[np.isfinite(its)]).size:
            figure.add_hline(y=known.mean(), line={"color": color, "width": 1, "dash": "dash"})
    if column is not None and isinstance(column.ideal, float):
        figure.add_hline(y=column.ideal, line=style.DOTTED)
    return figure


def _missing(why: Sequence[str]) -> str:
    """Why some tokens have no number, and what a final norm does to all."""
    without = [f"token {i}: {reason}" for i, reason in enumerate(why, 1) if reason]
    text = f" No value for {'; '.join(without[:3])}." if without else ""
    return text + f" And {len(without) - 3} more." * (len(without) > 3)


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
