"""How directions are looked at from Python: their numbers by name, their figure, a sentence."""

from functools import partial
from typing import Any

import numpy as np

from coupling_core.analysis.crossing import Crossing, CrossScores
from coupling_core.analysis.directions import Shared, counts, tied, viewed
from coupling_core.base.drawing import Drawing, known_figure
from coupling_core.base.records import DirectionsView
from coupling_core.base.results import DirectionsResult
from coupling_core.base.results.directions import READOUTS
from coupling_core.base.trials import Steering
from coupling_core.kinds.plots import drawing


def plot(
    result: DirectionsResult, view: DirectionsView, figure: str = "readouts", **options: Any
) -> Drawing:
    """How many readouts of each block are beyond chance.

    Raises:
        InputError: where another figure is named, or an option that it has not.
    """
    from coupling_core import figures

    known_figure(figure, ("readouts",))
    return drawing(partial(figures.readouts, result, view), options, result, view)


def shared(found: Shared, figure: str) -> Drawing:
    """How much several blocks share each direction.

    Raises:
        InputError: where another figure is named.
    """
    from coupling_core import figures

    known_figure(figure, ("shared",))
    view = DirectionsView(found.blocks, len(found.share))
    return drawing(partial(figures.shared_directions, found), result=found.result, view=view)


def steered(found: Steering, figure: str) -> Drawing:
    """What directions that are added to the state do by their size.

    Raises:
        InputError: where another figure is named.
    """
    from coupling_core import figures

    known_figure(figure, ("steering",))
    view = DirectionsView(None, None)
    return drawing(partial(figures.steering, found), result=found.result, view=view)


def crossed(found: Crossing, figure: str) -> Drawing:
    """The angles between the directions of two models' blocks.

    Raises:
        InputError: where another figure is named.
    """
    from coupling_core import figures

    known_figure(figure, ("angles",))
    view = DirectionsView(None, found.k)
    return drawing(partial(figures.crossing_angles, found), result=found.b, view=view)


def crossed_scores(found: CrossScores, figure: str, **options: Any) -> Drawing:
    """The score of each block of A in the basis of the same block of B.

    Raises:
        InputError: where another figure is named, or an option.
    """
    from coupling_core import figures

    known_figure(figure, ("crossed",))
    view = DirectionsView(None, None if found.view is None else found.view.k)
    return drawing(partial(figures.crossed_scores, found), options, found.b, view)


def verdict(result: DirectionsResult, view: DirectionsView) -> str:
    """How many readouts say more than chance, and how many directions are tied."""
    from coupling_core.figures import words

    blocks, k = viewed(result, view)
    at = np.array(blocks) - 1
    found = counts(result, k)[:, at].sum(1)
    whole = k * len(at)
    said = [
        f"{count} of {whole} ({name.replace('_', ' by the ')})"
        for name, count in zip(READOUTS, found, strict=True)
        if name not in result.missing
    ]
    alike = int(tied(result)[at, :k].sum())
    told = ", ".join(said) or "none can be made"
    return (
        f"Readouts beyond chance: {told}; chance alone gives one in a hundred. {alike} of {whole} "
        f"directions are tied with the next. {words.provenance(result, view)}"
    )
