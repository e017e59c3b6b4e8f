"""Held-out loss against blocks removed, a line a ranking, over what random sets cost."""

from dataclasses import replace

import numpy as np
import plotly.graph_objects as go

from coupling_core.analysis.pruning.prices import Point
from coupling_core.analysis.pruning.rankings import NAMES, Ranking
from coupling_core.analysis.pruning.study import Study
from coupling_core.base.curves import Curves
from coupling_core.base.units import counted, ranges
from coupling_core.figures import style
from coupling_core.figures.curves import Series, curves

LOOKS: dict[Ranking, tuple[str, str]] = {
    "coupling": (style.ACCENT, "circle"),
    "influence": (style.CATEGORIES[0], "square"),
    "angle": (style.CATEGORIES[1], "triangle-up"),
    "kl": (style.SECOND, "diamond"),
    "last": (style.CATEGORIES[3], "x"),
    "random": (style.INK, "line-ew"),
}
"""Colours, and marks beside them for whoever tells those apart with difficulty."""
PRUNING = Curves(
    x="Blocks removed",
    y="Held-out loss, nats a token",
    caption="The first blocks of each ranking left out, and the loss of {texts} that took no part "
    "in it, with 95\u00a0% intervals over texts; dotted across, the whole model. A line within the "
    "grey band is no better than random blocks.",
    log=True,
    at="blocks removed: ",
    height=460,
)


def pruning(study: Study) -> go.Figure:
    """Loss of the texts that judge, in nats a token, against the number of blocks removed."""
    figure = curves(
        [_series(study, by) for by in study.rankings],
        PRUNING,
        study.model,
        {"texts": counted(len(study.judged_on), "text")},
        also=f" The whole model: {study.whole.loss:.2f}.",
        xaxis={"dtick": 1},
        told={"title": f"Blocks left out: {study.model}", "source": _source(study)},
    )
    figure.add_hline(study.whole.loss, line=style.DOTTED)
    return figure


def _series(study: Study, by: Ranking) -> Series:
    points = [point for point in study.curve if point.by == by]
    prices = [(point.left_out.loss, point.left_out.low, point.left_out.high) for point in points]
    loss, low, high = np.array(prices).T
    x, texts = np.array([point.removed for point in points]), [_text(study, p) for p in points]
    more: dict[str, object] = {"text": texts, "hovertemplate": "%{text}<extra></extra>"}
    width = 3 if by == "coupling" else 1.8
    color, mark = LOOKS[by]
    one = Series(NAMES[by], x, loss, color, width, marks=8, symbol=mark, uid=by)
    if by == "random":
        name = "5 to 95\u00a0% of random sets"
        return replace(one, dash="dot", band=(low, high), band_name=name, more=more)
    return replace(one, more=more | {"error_y": style.bars(loss, low, high, color, width=2)})


def _text(study: Study, point: Point) -> str:
    loss = f"{point.left_out.loss:.3f} nats a token"
    if point.by == "random":
        return f"{counted(point.removed, 'block')} at random: {loss} in the median"
    saved = f"{study.megabytes(point.blocks):.1f} MB in float32"
    beats = "" if point.beats is None else f"<br>cheaper than {counted(point.beats, 'random set')}"
    return f"{NAMES[point.by]}: {loss}<br>blocks {ranges(point.blocks)}, {saved}{beats}"


def _source(study: Study) -> str:
    made = study.provenance
    place = " ".join(str(made[name]) for name in ("device", "processor") if name in made)
    return (
        f"{study.model}, ranked on {len(study.ranked_on)} and judged on {len(study.judged_on)} of "
        f"{study.source}; {place} {str(made.get('date', ''))[:10]}"
    )
