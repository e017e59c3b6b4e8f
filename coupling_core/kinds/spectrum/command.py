"""`coupling spectrum`: the eigenvalues of each block's linear map, and products over depth."""

from functools import partial
from typing import Annotated

from coupling_core.analysis.exports import columns_of, row
from coupling_core.cli import options
from coupling_core.cli.many import Shown
from coupling_core.cli.many_drawn import figure_of, strip
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
    dots = columns_of("spectrum")["effective_rank" if figure == "products" else "departure"]
    shown = Shown(
        row,
        draw=lambda result, view: maker(result, view, figure)(),
        draw_many=partial(strip, dots, asked.many),
    )
    answer(asked, asked.request("spectrum", token=token), shown, output)
