"""`coupling directions`: what the leading singular vectors of the blocks read, write and do."""

from coupling_core.cli import options
from coupling_core.cli.many_drawn import one_drawn
from coupling_core.cli.one_or_many import Shown, answer
from coupling_core.kinds.directions.prompts import PromptsTogether
from coupling_core.kinds.directions.tries import Tries


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
        one_drawn("readouts"),
        PromptsTogether(dots, asked.many, tries.side),
        view=lambda _: tries.view,
        more=lambda result: tries.of(result, asked.device),
    )
    answer(asked, asked.request("directions", token=token), shown, output)
