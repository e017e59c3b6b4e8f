"""How a depth-wise result is looked at from Python: scores, their figure, a sentence."""

from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from coupling_core.analysis.alignment import nearly_whole
from coupling_core.analysis.by_step import Course, doubt, numbers, step_figures, steps_told
from coupling_core.analysis.compare import Comparison
from coupling_core.analysis.scores import score_pairs
from coupling_core.base.drawing import Drawing, Maker, known_figure, options_of
from coupling_core.base.errors import InputError
from coupling_core.base.records import View
from coupling_core.base.results import DepthResult, Scores
from coupling_core.base.units import rounded
from coupling_core.kinds.plots import drawing

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from coupling_core.analysis.findings import Findings  # which imports pandas and scipy
    from coupling_core.analysis.model_comparison import ModelComparison

FigureName = Literal["mosaic", "scores", "spectrum", "k", "scaling", "inverse-scaling"]
"""The figures of `coupling depth`."""
GraphFigure = Literal["graph", "locality"]
"""Those of `coupling graph`, of the same results."""
MOVED = 0.005
"""By how much the last block has to move the mean of all for its row to be told of."""
FIGURES: tuple[str, ...] = (*get_args(FigureName), *get_args(GraphFigure))


def scores(result: DepthResult, view: View) -> Scores:
    """The scores of all pairs of the viewed blocks.

    Raises:
        InputError: where K or a block is not in the result.
    """
    return score_pairs(result, view)


def maker(result: DepthResult, view: View, figure: FigureName | GraphFigure) -> Maker:
    """What draws the figure of that name."""
    from coupling_core import figures

    match figure:
        case "mosaic":
            return partial(figures.mosaic, result, view)
        case "scores":
            return partial(figures.scores, result, view)
        case "spectrum":
            return partial(figures.spectrum, result, view)
        case "k":
            return partial(figures.mean_by_k, result, view, corrected=True)
        case "scaling" | "inverse-scaling":
            return partial(figures.scaling, result, inverse=figure == "inverse-scaling")
        case "graph":
            return partial(figures.graph, result, view)
        case "locality":
            return partial(figures.locality, result, view)


def draw(
    result: DepthResult, view: View, figure: FigureName | GraphFigure, *, corrected: bool = True
) -> "go.Figure":
    """The figure of that name, of the raw score where it is of scores and that is wanted."""
    make = maker(result, view, figure)
    return make(corrected=corrected) if "corrected" in options_of(make) else make()


def plot(result: DepthResult, view: View, figure: str = "scores", **options: Any) -> Drawing:
    """The figure of that name; the map of scores of the page Depth where none is named.

    Raises:
        InputError: where there is no such figure.
    """
    make = maker(result, view, known_figure(figure, FIGURES))
    return drawing(make, options, result, view)


def compared(found: Comparison, figure: str = "comparison") -> Drawing:
    """The maps of two results side by side with their difference, or that alone.

    Raises:
        InputError: where there is no such figure.
    """
    from coupling_core import figures

    makers = {"comparison": figures.comparison, "difference": figures.difference}
    make = partial(makers[known_figure(figure, tuple(makers))], found)
    return drawing(make, result=found.a, view=found.view)


def differences(found: "ModelComparison", by: str) -> Drawing:
    """How far two models are apart at each prompt, in colours of a column of the prompts."""
    from coupling_core import figures

    return drawing(partial(figures.prompt_differences, found, by))


def course(run: Course, view: View, figure: str = "corrected") -> Drawing:
    """One number of a training run by step.

    Raises:
        InputError: where there is no such figure, or nothing is measured.
    """
    from coupling_core import figures

    name = known_figure(figure, step_figures())
    measured = [*run.depth.values(), *run.paths.values()]
    if not measured:
        raise InputError(
            f"nothing of {run.suite.name} is measured for this prompt: measure_steps(...) does it"
        )
    if name in step_figures("spectrum") and run.spectra is None:
        raise InputError(
            f"the figure {name} is of spectra: measure_steps(..., spectra=True) measures them, and "
            "collect(..., spectra=True) reads what is stored"
        )
    runs, source = {run.suite.title: numbers(run, view)}, figures.training_source([run], view)
    make = partial(figures.by_step, runs, name, view, source=source)
    return drawing(make, result=measured[-1], view=view)


def course_verdict(run: Course, view: View) -> str:
    """How the coupling of one prompt goes through a training run, and what speaks against it."""
    from coupling_core.figures import training_words

    found = numbers(run, view)
    told = [training_words.rise_and_fall(found) or training_words.scores_told(found)]
    told.append(
        f"Coupling is here the mean chance-corrected score{view.at_k}, of {run.suite.name}."
    )
    if missing := run.missing:
        told.append(f"Not all is measured of {steps_told(missing)}.")
    if why := doubt(run):
        told.append(f"{why[0].upper()}{why[1:]}.")
    return " ".join(told)


def found_in_sweep(found: "Findings", figure: str = "models") -> Drawing:
    """What a sweep's table says of coupling and performance.

    Raises:
        InputError: where there is no such figure.
    """
    from coupling_core import figures

    against = found.question.against
    makers = {
        "models": lambda: figures.over_models(found.means, "coupling", against, found.fits),
        "families": lambda: figures.without_families(found.families),
        "k": lambda: figures.coupling_by_k(found.by_k),
        "correlation": lambda: figures.correlation_by_k(found.correlations_by_k, against),
    }
    drawn = makers[known_figure(figure, tuple(makers))]()
    drawn.layout.meta = drawn.layout.meta | {"source": found.source}
    return Drawing(drawn, partial(figures.render, drawn))


def verdict(result: DepthResult, view: View) -> str:
    """The means over pairs of blocks, and how far they were checked."""
    from coupling_core.figures import words

    found, width = score_pairs(result, view), result.width
    told = [found.verdict, *_without_last(result, found)]
    if alike := words.arbitrary_told(result, view):
        told.append(alike)
    if much := nearly_whole(view.k, width, f"the width {width}"):
        told.append(f"{much}; scores(k={max(1, width // 10)}) has a tenth.")
    return " ".join([*told, words.provenance(result, view)])


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
