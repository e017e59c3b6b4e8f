"""A figure that a result draws of itself: shown in a notebook, or saved as a file."""

import os
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from uuid import uuid4

from coupling_core.base.choosing import require_one_of
from coupling_core.base.folders import expanded
from coupling_core.base.writing import write_whole, writing

if TYPE_CHECKING:  # plotly is slow to import, and whoever draws has done so
    import plotly.graph_objects as go


DepthFigure = Literal[
    "", "scores", "mosaic", "spectrum", "k", "scaling", "inverse-scaling", "graph", "locality"
]
TokensFigure = Literal["", "grid", "mosaic", "distance", "spectrum"]
PathFigure = Literal[
    "", "paths", "paths-3d", "line-shape", "line-shape-by-depth", "norms", "growth", "expodistance",
    "steps", "equidistance", "entropy", "linearised",
]  # fmt: skip
EditFigure = Literal["", "interchange", "replace", "blocks"]
SpectrumFigure = Literal["", "eigenvalues", "maps", "products"]
NoiseFigure = Literal["", "cosine", "depth", "radius"]
ReadoutFigure = Literal["", "readouts"]
FigureName = (
    DepthFigure
    | TokensFigure
    | PathFigure
    | EditFigure
    | SpectrumFigure
    | NoiseFigure
    | ReadoutFigure
)
"""The figures of each kind of results, and of all; "" is the first of its kind."""


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
        render: an ending, such as ".html", to the content of a file.
    """

    def __init__(self, figure: "go.Figure", render: Callable[[str], bytes]) -> None:
        self.figure = figure
        self._render = render

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
        content = self._render(path.suffix)
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


def known_figure(name: str, names: Sequence[str]) -> Any:
    """The name of a figure, where it is one of those that there are; raises `InputError`."""
    require_one_of("figure", name, names)
    return name


Maker = Callable[..., "go.Figure"]
"""Draws a figure of a result, which it has: only options are still to be said."""


def options_of(make: Maker) -> Mapping[str, Parameter]:
    """The options that a figure has, by name."""
    return signature(make).parameters
