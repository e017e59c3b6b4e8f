"""`coupling directions`: what the leading singular vectors of the blocks read, write and do."""

from typing import TYPE_CHECKING

from coupling_core.base.records import DirectionsView
from coupling_core.base.results import DirectionsResult
from coupling_core.cli import options
from coupling_core.cli.many import Shown
from coupling_core.cli.one_or_many import answer
from coupling_core.kinds.directions.prompts import PromptsTogether
from coupling_core.kinds.directions.tries import Tries

if TYPE_CHECKING:  # plotly is slow to import, and only files of figures need it
    import plotly.graph_objects as go


def command(
    *,
    asked: options.Normed,
    token: options.Token = None,
    tries: Tries,
    output: options.Output,
) -> None:
    """See what the shared directions of a model read and write, and when they say nothing."""
    tries.require_possible(of_many=asked.many is not None, out=output.out)
    dots = "writes_beyond" if tries.side == "u" else "reads_beyond"
    shown = Shown(
        _draw,
        PromptsTogether(dots, asked.many, tries.side),
        view=lambda _: tries.view,
        more=lambda result: tries.of(result, asked.device),
    )
    answer(asked, asked.request("directions", token=token), shown, output)


def _draw(result: DirectionsResult, view: DirectionsView) -> "go.Figure":
    from coupling_core import figures

    return figures.readouts(result, view)
