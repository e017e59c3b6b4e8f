"""`coupling spectrum`: the eigenvalues of each block's linear map, and products over depth."""

from typing import Annotated

from coupling_core.cli import options
from coupling_core.cli.many import Shown
from coupling_core.cli.many_drawn import Together, figure_of
from coupling_core.cli.one_or_many import answer
from coupling_core.kinds.spectrum.views import FigureName, maker


def command(
    *,
    asked: options.Differentiating,
    token: options.Token = None,
    figure: Annotated[FigureName, figure_of("spectrum")] = "eigenvalues",
    output: options.Output,
) -> None:
    """Find the eigenvalues of each block's linear map, and what their products leave over."""
    dots = "effective_rank" if figure == "products" else "departure"
    shown = Shown(lambda result, view: maker(result, view, figure)(), Together(dots, asked.many))
    answer(asked, asked.request("spectrum", token=token), shown, output)
