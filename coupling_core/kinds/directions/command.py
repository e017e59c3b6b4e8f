"""`coupling directions`: what the leading singular vectors of the blocks read, write and do."""

from functools import partial
from typing import TYPE_CHECKING

from coupling_core.analysis.exports import columns_of
from coupling_core.base.records import DirectionsView
from coupling_core.base.results import DirectionsResult
from coupling_core.cli import options
from coupling_core.cli.many import Shown
from coupling_core.cli.many_drawn import strip
from coupling_core.cli.one_or_many import answer
from coupling_core.kinds.directions.prompts import PromptsTogether
from coupling_core.kinds.directions.tries import Side, Tries

if TYPE_CHECKING:  # plotly is slow to import, and only files of figures need it
    import plotly.graph_objects as go

_OF_MANY: dict[Side, str] = {"u": "writes_beyond", "v": "reads_beyond"}
"""The number of each prompt that is drawn of a side."""


def command(
    *,
    asked: options.Normed,
    token: options.Token = None,
    tries: Tries,
    output: options.Output,
) -> None:
    """See what the shared directions of a model read and write, and when they say nothing."""
    tries.require_possible(of_many=asked.many is not None, out=output.out)
    together = PromptsTogether(tries.view, tries.side)
    shown = Shown(
        lambda result, _: together.row(result),
        _draw,
        partial(strip, columns_of("directions")[_OF_MANY[tries.side]], asked.many),
        view=lambda _: tries.view,
        more=lambda result: tries.of(result, asked.device),
        together=together.told,
    )
    answer(asked, asked.request("directions", token=token), shown, output)


def _draw(result: DirectionsResult, view: DirectionsView) -> "go.Figure":
    from coupling_core import figures

    return figures.readouts(result, view)
