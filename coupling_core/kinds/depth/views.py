"""How a depth-wise result is looked at from Python: scores, their figure, a sentence."""

from coupling_core.analysis.alignment import nearly_whole
from coupling_core.analysis.by_step import Course, doubt, numbers, steps_told
from coupling_core.analysis.scores import (
    MOVED,
    arbitrary_told,
    below_chance,
    last_row,
    score_pairs,
)
from coupling_core.analysis.step_words import rise_and_fall, scores_told
from coupling_core.base.drawing import Figure
from coupling_core.base.records import View
from coupling_core.base.results import DepthResult
from coupling_core.base.wording import paragraph

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


def course_verdict(run: Course, view: View) -> str:
    """How the coupling of one prompt goes through a training run, and what speaks against it."""
    found = numbers(run, view)
    missing, why = run.missing, doubt(run)
    return paragraph(
        rise_and_fall(found) or scores_told(found),
        f"Coupling is here the mean chance-corrected score{view.at_k}, of {run.suite.name}.",
        (missing, f"Not all is measured of {steps_told(missing)}."),
        (why, f"{why[:1].upper()}{why[1:]}."),
    )


def verdict(result: DepthResult, view: View) -> str:
    """The means over pairs of blocks, and how far they were checked."""
    found, width = score_pairs(result, view), result.width
    much = nearly_whole(view.k, width, f"the width {width}")
    norm, n = result.final_norm_words, result.n_blocks
    return paragraph(
        found.verdict,
        below_chance(result, found),
        last_row(norm, n, found, corrected=True, least=MOVED),
        arbitrary_told(result, view),
        (much, f"{much}; scores(k={max(1, width // 10)}) has a tenth."),
    )
