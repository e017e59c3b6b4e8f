"""The figures of a kind by name, and what shows one in a notebook or saves it as a file."""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from coupling_core.base.choosing import require_one_of
from coupling_core.base.curves import Curves
from coupling_core.base.errors import InputError
from coupling_core.base.folders import expanded
from coupling_core.base.kinds import kind_of
from coupling_core.base.writing import write_whole, writing

if TYPE_CHECKING:  # plotly is slow to import, and whoever draws has done so
    import plotly.graph_objects as go

Maker = Callable[..., "go.Figure"]

_IN_A_PAGE = """<div id="{name}"><p>This figure needs plotly.js from the internet. Without it,
<code>.plot()</code> at the end of a cell draws the figure in Jupyter, and
<code>.plot().save("figure.html")</code> writes one that needs no network.</p></div>
<script>{{
  const place = document.getElementById("{name}"), drawn = {drawn};
  const draw = () => {{ place.innerHTML = ""; Plotly.newPlot(place, drawn.data, drawn.layout,
    {{responsive: true}}); }};
  if (window.Plotly) draw();
  else {{
    const script = document.createElement("script");
    script.src = "https://cdn.plot.ly/plotly-{version}.min.js";
    script.onload = draw;
    document.head.append(script);
  }}
}}</script>"""
"""Notebooks do not wait for the scripts that an output fetches: this one waits for plotly.js."""


class Drawing:
    """A plotly figure that knows how it is written, with its caption and where it comes from.

    Args:
        figure: plotly's own, to be changed as one likes; `save` writes it as it is then.
        result: what it is of; None where the figure says itself where it comes from.
        view: how that is looked at.
    """

    def __init__(self, figure: "go.Figure", result: Any = None, view: Any = None) -> None:
        self.figure, self._of = figure, (result, view)

    def render(self, ending: str) -> bytes:
        """The content of a file of that ending, such as ".html"; raises as `save`."""
        content: bytes = _function("export.render")(self.figure, ending, *self._of)
        return content

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the figure as its ending says: .html stands alone and can be moved with the mouse.

        Its size is that of the figure: `drawing.figure.update_layout(width=600)` changes it.

        Args:
            path: where to; a file of that name is replaced.

        Returns:
            the path that was written.

        Raises:
            InputError: on an ending that no figure is written as, or where nothing can be written.
            ComputeError: where nothing is there that draws such a file, or the disk is full.
        """
        path = expanded(path)
        content = self.render(path.suffix)
        with writing(path):
            write_whole(path, content)
        return path

    def show(self) -> None:
        """Show it where plotly shows figures: in the notebook, or in a browser."""
        self.figure.show()

    @property
    def caption(self) -> str:
        """How it is read, in a sentence or two."""
        return str(self.figure.layout.meta["caption"])

    def __repr__(self) -> str:
        return f"Drawing({self.figure.layout.meta['alt']})"

    def _repr_mimebundle_(self, *args: Any, **options: Any) -> Any:
        return self.figure._repr_mimebundle_(*args, **options)

    def _repr_html_(self) -> str:
        from plotly.offline import get_plotlyjs_version

        return _IN_A_PAGE.format(
            name=f"figure-{uuid4().hex}",
            drawn=self.figure.to_json().replace("<", "\\u003c"),
            version=get_plotlyjs_version(),
        )


@dataclass(frozen=True)
class Figure:
    """A figure of a kind of result: its name stands once, in `FIGURES` of the kind's `views`.

    Args:
        draws: module and function of `coupling_core.figures`, imported when it draws; or what
            curves there are of which of the kind's numbers.
        options: that the function is always given.
        of_many: the number of each prompt that stands for it where there are many; "" where it is
            of one prompt alone.
        of_one: options of the command that say how it is drawn, and nothing of many prompts.
        command: which offers it, where that is not the one of its kind.
        lacks: why a result has no such figure; "" where it has.
    """

    draws: str | Curves
    options: Mapping[str, Any] = field(default_factory=dict)
    of_many: str = ""
    of_one: tuple[str, ...] = ()
    command: str = ""
    lacks: Callable[[Any], str] = lambda _: ""

    @property
    def function(self) -> Maker:
        """What draws it, of a result."""
        if isinstance(self.draws, Curves):
            return partial(_function(self.draws.drawn_by), spec=self.draws)
        return partial(_function(self.draws), **self.options)

    @property
    def takes(self) -> Collection[str]:
        """The names of its arguments."""
        return signature(self.function).parameters


def figures_of(kind: str) -> Mapping[str, Figure]:
    """The figures of a kind by name; the first is the main one of its page."""
    found: Mapping[str, Figure] = kind_of(kind).part("views").FIGURES
    return found


def figure_of(result: Any, name: str) -> Figure:
    """The figure of that name; raises `InputError` where the result has none."""
    figures = figures_of(result.request.kind)
    figure = figures[known_figure(name, tuple(figures))]
    if why := figure.lacks(result):
        raise InputError(f"the figure {name} {why}")
    return figure


def drawn(result: Any, view: Any, name: str, **options: Any) -> "go.Figure":
    """The figure of that name; raises as `figure_of`."""
    figure = figure_of(result, name)
    seen = {"view": view} if "view" in figure.takes else {}
    return figure.function(result, **seen, **options)


def plot(result: Any, view: Any, name: str = "", **options: Any) -> Drawing:
    """The same as something that shows and saves itself; "" is the main one of its page."""
    name = name or next(iter(figures_of(result.request.kind)))
    return Drawing(drawn(result, view, name, **options), result, view)


def drawing(draws: str, *of: Any, result: Any = None, view: Any = None, **options: Any) -> Drawing:
    """What a function of `coupling_core.figures` draws of all this, told by its module and name.

    It is of a room above this one, and so imported only now. A figure that does not say itself
    where it comes from is of a result in a view.
    """
    return Drawing(_function(draws)(*of, **options), result, view)


def _function(draws: str) -> Maker:
    module, _, name = draws.rpartition(".")
    found: Maker = getattr(import_module(f"coupling_core.figures.{module}"), name)
    return found


def known_figure(name: str, names: Sequence[str]) -> Any:
    """The name of a figure, where it is one of those that there are; raises `InputError`."""
    require_one_of("figure", name, names)
    return name
