"""A figure that a result draws of itself: shown in a notebook, or saved as a file."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coupling_core.base.choosing import none_of
from coupling_core.base.errors import InputError
from coupling_core.base.writing import write_whole, writing

if TYPE_CHECKING:  # plotly is slow to import, and whoever draws has done so
    import plotly.graph_objects as go


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

        Args:
            path: where to; a file of that name is replaced.

        Returns:
            the path that was written.

        Raises:
            InputError: on an ending that no figure is written as, or where nothing can be written.
            ComputeError: where nothing is there that draws such a file, or the disk is full.
        """
        path = Path(path)
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
        return self.figure._repr_html_()


def known_figure(name: str, names: Sequence[str]) -> Any:
    """The name of a figure, as somebody gave it.

    Args:
        name: what was asked for.
        names: those that there are.

    Raises:
        InputError: where it is none of them.
    """
    if name not in names:
        raise InputError(none_of("figure", name, names))
    return name
