"""How directions are looked at from Python: their numbers by name, their figure, a sentence."""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from coupling_core.analysis.crossing import Crossing, CrossScores
from coupling_core.analysis.directions import Shared, counts, tied, viewed
from coupling_core.analysis.exports.forms import numbered
from coupling_core.base.drawing import Drawing, drawn_with, known_figure
from coupling_core.base.records import DirectionsView
from coupling_core.base.results import DirectionsResult
from coupling_core.base.results.directions import READOUTS
from coupling_core.base.trials import Steering
from coupling_core.kinds.directions.export import arrays, axes

if TYPE_CHECKING:
    import xarray

_ALONG = {"blocks": "block", "readouts": "readout", "sides": "side"}
"""Arrays that name what stands along an axis."""


def dataset(result: DirectionsResult, view: DirectionsView) -> "xarray.Dataset":
    """Its numbers over their named dimensions: those of `export.arrays`."""
    import xarray

    named, dims = arrays(result, view), axes(result)
    texts = ("tokens", "token_ids")
    found = {
        name: (dims[name], values)
        for name, values in named.items()
        if name not in (*texts, *_ALONG)
    }
    along = {
        **{axis: named[name] for name, axis in _ALONG.items()},
        "basis": named["blocks"],
        "sign": np.array(["positive", "negative"]),
        "text": ("token", np.array(result.tokens)),
        "token_id": ("token", result.token_ids),
    }
    return numbered(xarray.Dataset(found, coords=along, attrs=result.attributes()))


def plot(
    result: DirectionsResult, view: DirectionsView, figure: str = "readouts", **options: Any
) -> Drawing:
    """How many readouts of each block are beyond chance.

    Raises:
        InputError: where another figure is named, or an option that it has not.
    """
    from coupling_core import figures

    known_figure(figure, ("readouts",))
    drawn = drawn_with(partial(figures.readouts, result, view), figure, options)
    return Drawing(drawn, partial(figures.render, drawn, result=result, view=view))


def shared(found: Shared, figure: str) -> Drawing:
    """How much several blocks share each direction.

    Raises:
        InputError: where another figure is named.
    """
    from coupling_core import figures

    known_figure(figure, ("shared",))
    drawn = figures.shared_directions(found)
    view = DirectionsView(found.blocks, len(found.share))
    return Drawing(drawn, partial(figures.render, drawn, result=found.result, view=view))


def steered(found: Steering, figure: str) -> Drawing:
    """What directions that are added to the state do by their size.

    Raises:
        InputError: where another figure is named.
    """
    from coupling_core import figures

    known_figure(figure, ("steering",))
    drawn, view = figures.steering(found), DirectionsView(None, None)
    return Drawing(drawn, partial(figures.render, drawn, result=found.result, view=view))


def crossed(found: Crossing, figure: str) -> Drawing:
    """The angles between the directions of two models' blocks.

    Raises:
        InputError: where another figure is named.
    """
    from coupling_core import figures

    known_figure(figure, ("angles",))
    drawn, view = figures.crossing_angles(found), DirectionsView(None, found.k)
    return Drawing(drawn, partial(figures.render, drawn, result=found.b, view=view))


def crossed_scores(found: CrossScores, figure: str, **options: Any) -> Drawing:
    """The score of each block of A in the basis of the same block of B.

    Raises:
        InputError: where another figure is named, or an option.
    """
    from coupling_core import figures

    known_figure(figure, ("crossed",))
    drawn = drawn_with(partial(figures.crossed_scores, found), figure, options)
    view = DirectionsView(None, None if found.view is None else found.view.k)
    return Drawing(drawn, partial(figures.render, drawn, result=found.b, view=view))


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
