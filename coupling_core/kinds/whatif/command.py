"""`coupling whatif`: what edits of a model's depth do to what it says."""

from typing import Annotated

import typer

from coupling_core.base.errors import InputError
from coupling_core.base.records import EffectView
from coupling_core.cli import options
from coupling_core.cli.one_or_many import answer
from coupling_core.cli.shown import Shown
from coupling_core.kinds.whatif import against as _against
from coupling_core.kinds.whatif import one_edit


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
    figure: str = "interchange",
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
    answer(asked, ask, Shown("whatif", asked.many, figure, view=lambda _: view), output)
