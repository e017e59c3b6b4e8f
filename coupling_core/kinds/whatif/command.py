"""`coupling whatif`: what edits of a model's depth do to what it says."""

from functools import partial
from typing import Annotated

import typer

from coupling_core.analysis.exports import columns_of, row
from coupling_core.base.errors import InputError
from coupling_core.base.records import EffectView
from coupling_core.cli import options
from coupling_core.cli.many import Shown
from coupling_core.cli.many_drawn import figure_of, strip
from coupling_core.cli.one_or_many import answer
from coupling_core.kinds.whatif import against as _against
from coupling_core.kinds.whatif import one_edit
from coupling_core.kinds.whatif.views import FigureName, draw

_OF_MANY: dict[FigureName, str] = {
    "interchange": "interchange_kl",
    "replace": "replace_kl",
    "blocks": "skip_kl",
}
"""The number of each prompt that stands for a figure."""


def command(
    *,
    asked: options.Measuring,
    tokens: Annotated[
        str | None,
        typer.Option(help="Tokens that effects are averaged over: 3,7 or -1; all by default."),
    ] = None,
    edit: Annotated[
        str | None,
        typer.Option(
            help="Only this edit, such as interchange(12,13), reverse(8-12) or parallel(8-11): its "
            "effect, and what the model says before and after."
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            "--coupling",
            metavar="depth|KEY",
            help="Correlate the effects with the coupling of the same blocks: measured ('depth'), "
            "or a stored result.",
        ),
    ] = None,
    figure: Annotated[FigureName, figure_of("whatif")] = "interchange",
    output: options.Output,
) -> None:
    """Skip, repeat, damp, replace and interchange blocks, and see what the model then says."""
    expected = "numbers such as 3,7 or -1"
    view = EffectView(None if tokens is None else options.numbers(tokens, int, "tokens", expected))
    ask = asked.request("what-if")
    if edit is not None:
        if against is not None or asked.many is not None or output.out is not None:
            raise InputError(
                "--edit runs one edit of one prompt and prints it: leave out the others"
            )
        numbers, show = one_edit.tried(ask(asked.one()), edit, view, asked.device)
        output.tell(lambda: numbers, show)
        return
    if against is not None:
        if output.out is not None:
            raise InputError("--coupling prints correlations and writes no file: leave out --out")
        numbers, show = _against.correlated(asked, ask, against, view, output)
        output.tell(lambda: numbers, show)
        return
    shown = Shown(
        row,
        draw=lambda result, seen: draw(result, seen, figure),
        draw_many=partial(strip, columns_of("what-if")[_OF_MANY[figure]], asked.many),
        view=lambda _: view,
    )
    answer(asked, ask, shown, output)
