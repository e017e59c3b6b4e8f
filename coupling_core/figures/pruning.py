"""Held-out loss against blocks removed, a line a ranking, over what random sets cost."""

import numpy as np
import plotly.graph_objects as go

from coupling_core.analysis.pruning.prices import Point
from coupling_core.analysis.pruning.rankings import NAMES, Ranking
from coupling_core.analysis.pruning.study import Study
from coupling_core.base.units import counted, ranges
from coupling_core.figures import style

COLORS: dict[Ranking, str] = {
    "coupling": style.ACCENT,
    "influence": style.CATEGORIES[0],
    "angle": style.CATEGORIES[1],
    "kl": style.SECOND,
    "last": style.CATEGORIES[3],
    "random": style.INK,
}
MARKS: dict[Ranking, str] = {
    "coupling": "circle",
    "influence": "square",
    "angle": "triangle-up",
    "kl": "diamond",
    "last": "x",
    "random": "line-ew",
}
"""Beside the colours, for whoever tells those apart with difficulty."""


def pruning(study: Study) -> go.Figure:
    """Loss of the texts that judge, in nats a token, against the number of blocks removed.

    Args:
        study: what was measured.

    Returns:
        a figure with a trace for each ranking, with 95 % intervals over texts, and for `random`
        its median over a band between the 5 % and 95 % quantiles of the draws.
    """
    figure = style.new_figure(
        _alt(study),
        _caption(study),
        {"title": f"Blocks left out: {study.model}", "source": _source(study)},
        height=460,
        xaxis={"title": {"text": "Blocks removed"}, "dtick": 1},
        yaxis=style.axis("Held-out loss, nats a token")
        | style.log_axis(np.array([point.left_out.loss for point in study.curve])),
    )
    for by in study.rankings:
        points = [point for point in study.curve if point.by == by]
        figure.add_traces(_traces(study, by, points))
    figure.add_hline(study.whole.loss, line=style.DOTTED)
    return figure


def _traces(study: Study, by: Ranking, points: list[Point]) -> list[go.Scatter]:
    x = np.array([point.removed for point in points])
    prices = [point.left_out for point in points]
    loss, low, high = (
        np.array([getattr(p, end) for p in prices]) for end in ("loss", "low", "high")
    )
    texts = [_text(study, point, price.loss) for point, price in zip(points, prices, strict=True)]
    look = {"color": COLORS[by], "width": 3 if by == "coupling" else 1.8}
    line = go.Scatter(
        x=x,
        y=loss,
        mode="lines+markers",
        name=NAMES[by],
        uid=by,
        line=look | ({"dash": "dot"} if by == "random" else {}),
        marker={"symbol": MARKS[by], "size": 8},
        text=texts,
        hovertemplate="%{text}<extra></extra>",
    )
    if by == "random":
        return [style.band(x, low, high, "5 to 95\u00a0% of random sets", listed=True), line]
    line.error_y = {
        "type": "data",
        "array": high - loss,
        "arrayminus": loss - low,
        "thickness": 1,
        "width": 2,
        "color": COLORS[by],
    }
    return [line]


def _text(study: Study, point: Point, loss: float) -> str:
    if point.by == "random":
        return f"{counted(point.removed, 'block')} at random: {loss:.3f} nats a token in the median"
    saved = f"{study.megabytes(point.blocks):.1f} MB in float32"
    beats = "" if point.beats is None else f"<br>cheaper than {counted(point.beats, 'random set')}"
    return (
        f"{NAMES[point.by]}: {loss:.3f} nats a token<br>blocks {ranges(point.blocks)}, "
        f"{saved}{beats}"
    )


def _alt(study: Study) -> str:
    told = []
    for by in study.rankings:
        last = [point for point in study.curve if point.by == by][-1]
        loss = last.left_out.loss
        told.append(f"{NAMES[by]} {loss:.2f} with {last.removed}")
    return (
        f"Held-out loss of {study.model} in nats a token against blocks left out, from "
        f"{study.whole.loss:.2f} with all of them: {'; '.join(told)}."
    )


def _caption(study: Study) -> str:
    return (
        "The first blocks of each ranking left out, and the loss of "
        f"{counted(len(study.judged_on), 'text')} "
        f"that took no part in it, with 95\u00a0% intervals over texts; dotted across, the whole "
        "model. A line inside of the grey band is no better than blocks drawn at random."
    )


def _source(study: Study) -> str:
    made = study.provenance
    place = " ".join(str(made[name]) for name in ("device", "processor") if name in made)
    return (
        f"{study.model}, ranked on {len(study.ranked_on)} and judged on {len(study.judged_on)} of "
        f"{study.source}; {place} {str(made.get('date', ''))[:10]}"
    )
