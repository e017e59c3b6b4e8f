"""How far the directions of two models' blocks are apart."""

import numpy as np
import plotly.graph_objects as go

from coupling_core.analysis.crossing import Crossing, CrossScores
from coupling_core.base.curves import Curves
from coupling_core.base.records import DirectionsView
from coupling_core.base.units import counted
from coupling_core.figures import style
from coupling_core.figures.compare import of_two
from coupling_core.figures.curves import COLORS, Series, chance, curves

SIDES = (
    ("what blocks write", style.ACCENT, style.ACCENTED_BAND),
    ("what blocks read", style.SECOND, "rgba(42, 157, 143, 0.18)"),
)
ANGLES = Curves(
    y="Angle, degrees",
    caption="Between the spans of the {leading} of each block in A and in B: the median angle, in "
    "a band from the smallest to the largest. At 0 degrees both act along the same directions; "
    "dotted is the median of independent ones. {names}.",
    y_range=(0, 92),
    hover=".1f",
)
SCORES = Curves(
    y="Chance-corrected score",
    caption="Each block's Jacobian in the singular vectors that the same block has in the other "
    "model: 1 where nothing was turned, 0 by chance. {names}.",
    y_range=(-0.05, 1.05),
    height=340,
)


def crossing_angles(found: Crossing) -> go.Figure:
    """Principal angles between what blocks write, and read, in A and in B, block by block."""
    blocks, leading = np.arange(1, found.a.n_blocks + 1), counted(found.k, "leading direction")
    series = [
        Series(
            name, blocks, np.median(angles, 1), color, band=(angles[:, 0], angles[:, -1]),
            band_name=name, tint=tint,
        )
        for (name, color, tint), angles in zip(SIDES, found.angles, strict=True)
    ]  # fmt: skip
    by_chance = chance(blocks, float(np.median(found.chance)), "independent", "dot", 1)
    names = f"A is {found.a.subject}, and B is {found.b.subject}"
    figure = curves(
        [*series, by_chance],
        ANGLES,
        f"principal angles between the {leading} of A and of B; {names}",
        {"leading": leading, "names": names},
        also=f" {found.verdict}",
        told=of_two(found.a, found.b, DirectionsView(None, found.k), f" K = {found.k}."),
    )
    return figure.update_traces(showlegend=False, selector={"fill": "toself"})


def crossed_scores(a_in_b: CrossScores, b_in_a: CrossScores | None = None) -> go.Figure:
    """How much each block acts along the directions that its counterpart in the other model has."""
    a, b = a_in_b.a, a_in_b.b
    named = {"A in the bases of B": a_in_b, "B in the bases of A": b_in_a}
    series = [
        Series(name, np.array(scores.blocks), scores.same_block, color)
        for (name, scores), color in zip(named.items(), COLORS, strict=False)
        if scores is not None
    ]
    names = f"A is {a.subject}, and B is {b.subject}"
    k = a_in_b.view.k
    told = of_two(a, b, DirectionsView(None, k), f" K = {k}.")
    of = f"each block in the basis of the same block of the other model; {names}"
    return curves(series, SCORES, of, {"names": names}, also=f" {a_in_b.verdict}", told=told)
