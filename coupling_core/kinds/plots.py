"""The figures of a result by name, as `plot` and `--figure` ask for them."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, get_args

from coupling_core.base.drawing import Drawing, Maker, known_figure
from coupling_core.base.records import AnyView
from coupling_core.base.results import Result


def plotted(
    result: Result,
    view: AnyView,
    maker: Callable[[Any, Any, Any], Maker],
    names: Any,
    figure: str,
    options: Mapping[str, Any],
) -> Drawing:
    """The figure of that name.

    Args:
        result: the result.
        view: how it is looked at.
        maker: of the kind: what draws a figure, from a result, a view and a name.
        names: the `Literal` of its names.
        figure: its name.
        options: of the figure, by name.

    Raises:
        InputError: where there is no such figure.
    """
    make = maker(result, view, known_figure(figure, get_args(names)))
    return drawing(make, options, result, view)


def drawing(
    make: Maker,
    options: Mapping[str, Any] | None = None,
    result: Result | None = None,
    view: AnyView | None = None,
) -> Drawing:
    """What a maker draws, as something that shows and saves itself."""
    from coupling_core.figures import render

    drawn = make(**(options or {}))
    return Drawing(drawn, partial(render, drawn, result=result, view=view))
