"""How a depth-wise result is looked at from Python: scores, their figure, a sentence."""

import numpy as np

from coupling_core.analysis.alignment import nearly_whole
from coupling_core.analysis.by_step import Course, doubt, numbers, steps_told
from coupling_core.analysis.scores import score_pairs
from coupling_core.analysis.step_words import rise_and_fall, scores_told
from coupling_core.base.drawing import Figure
from coupling_core.base.records import View
from coupling_core.base.results import DepthResult, Scores
from coupling_core.base.units import rounded

FIGURES = {
    "scores": Figure("maps.scores", of_many="corrected"),
    "mosaic": Figure("maps.mosaic"),
    "spectrum": Figure("spectrum.spectrum"),
    "k": Figure("pair.mean_by_k", {"corrected": True}),
    "scaling": Figure("depth_curves.scaling"),
    "inverse-scaling": Figure("depth_curves.scaling", {"inverse": True}),
    "graph": Figure("graph.graph", of_many="corrected", command="graph"),
    "locality": Figure("distances.locality", command="graph"),
}
MOVED = 0.005
"""By how much the last block has to move the mean of all for its row to be told of."""


def course_verdict(run: Course, view: View) -> str:
    """How the coupling of one prompt goes through a training run, and what speaks against it."""
    found = numbers(run, view)
    told = [rise_and_fall(found) or scores_told(found)]
    told.append(
        f"Coupling is here the mean chance-corrected score{view.at_k}, of {run.suite.name}."
    )
    if missing := run.missing:
        told.append(f"Not all is measured of {steps_told(missing)}.")
    if why := doubt(run):
        told.append(f"{why[0].upper()}{why[1:]}.")
    return " ".join(told)


def verdict(result: DepthResult, view: View) -> str:
    """The means over pairs of blocks, and how far they were checked."""
    from coupling_core.figures import words

    found, width = score_pairs(result, view), result.width
    told = [found.verdict, *_without_last(result, found)]
    if alike := words.arbitrary_told(result, view):
        told.append(alike)
    if much := nearly_whole(view.k, width, f"the width {width}"):
        told.append(f"{much}; scores(k={max(1, width // 10)}) has a tenth.")
    return " ".join(told)


def _without_last(result: DepthResult, found: Scores) -> list[str]:
    """What the mean is without the last block's row where that is of another kind and moves it."""
    last, has_norm = result.n_blocks, result.provenance.get("final_norm", True)
    if last not in found.blocks or not has_norm or result.request.final_norm != "include":
        return []
    others = np.array(found.blocks)[:, None] != last
    own = np.eye(len(found.blocks), dtype=bool)
    counted = found.corrected[others & ~own]
    if not np.isfinite(counted).any():
        return []
    rest = float(np.nanmean(counted))
    if not abs(found.mean().corrected - rest) >= MOVED:
        return []
    return [
        f"Without the row of block {last}, which has the final norm in it, the last of these is "
        f"{rounded(rest)}."
    ]
