"""Its command."""

from coupling_core.cli import options
from coupling_core.cli.many import Shown
from coupling_core.cli.many_drawn import Together
from coupling_core.cli.one_or_many import answer


def command(
    *,
    asked: options.Measuring,
    token: options.Token = None,
    output: options.Output,
) -> None:
    """The norm of every state at one token."""
    shown = Shown(lambda result, _: result.plot().figure, Together("norms", asked.many))
    answer(asked, asked.request("toy", token=token), shown, output)
