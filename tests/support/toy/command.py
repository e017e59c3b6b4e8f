"""Its command."""

from coupling_core.analysis.exports import columns_of, row
from coupling_core.cli import options
from coupling_core.cli.many import Shown
from coupling_core.cli.many_drawn import strip
from coupling_core.cli.one_or_many import answer


def command(
    *,
    asked: options.Measuring,
    token: options.Token = None,
    output: options.Output,
) -> None:
    """The norm of every state at one token."""
    shown = Shown(
        row,
        draw=lambda result, _: result.plot().figure,
        draw_many=lambda rows: strip(columns_of("toy")["norms"], asked.many, rows),
    )
    answer(asked, asked.request("toy", token=token), shown, output)
