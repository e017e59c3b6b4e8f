"""`coupling whatif`: what edits of a model's depth do to what it says."""

from typing import Annotated, Any

import numpy as np
import typer

from coupling_core.analysis.effects import positions
from coupling_core.analysis.exports import arrays, row
from coupling_core.base.errors import InputError
from coupling_core.base.records import EffectView
from coupling_core.base.results import WhatIfResult
from coupling_core.base.trials import UNITS
from coupling_core.base.units import counted
from coupling_core.cli import options
from coupling_core.cli.one_or_many import answer
from coupling_core.cli.shown import Shown
from coupling_core.cli.terminal import print_frame, print_lines
from coupling_core.kinds.whatif import against as _against
from coupling_core.kinds.whatif import one_edit
from coupling_core.kinds.whatif.numbers import table


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


SHOWN = 8
"""Edits at either end of the table."""
_LEFT_OUT = ("tokens", "edits", "divergence", "loss", "stays")


def summary(result: WhatIfResult, view: EffectView) -> dict[str, Any]:
    """Every number of one view, ready for JSON."""
    named = {name: value for name, value in arrays(result, view).items() if name not in _LEFT_OUT}
    means = table(result, view)[["divergence", "loss", "stays"]]
    return {
        "measured_of": result.measured_of,
        "unit": result.unit,
        "averaged_over": positions(result, view) + 1,
        "median": row(result, view),
        **named,
        "edits": dict(zip(result.edits, means.to_dict("records"), strict=True)),
        "refused": dict(result.refused),
        "no_prediction": dict(result.no_prediction),
    }


def facts(result: WhatIfResult, view: EffectView) -> dict[str, object]:
    """How many edits there are, and what first order predicts of them."""
    took = result.provenance.get("at_once", {})
    at_once = f"{took['sequences']} sequences at once" if took else "one after the other"
    return {
        "edits": f"{len(result.edits)} of {counted(result.n_blocks, 'block')}, {at_once}",
        "effect": f"{UNITS[result.measured_of]}, of {result.measured_of}",
        "neighbours": _neighbours(result),
        "refused": [f"{len(result.refused)}: {why}" for why in result.reasons[:1]],
    }


def _neighbours(result: WhatIfResult) -> str:
    """What first order says of interchanging them."""
    known = np.isfinite(result.exchange_cosine)
    if not known.any():
        why = list(result.no_prediction.values())
        return f"no prediction: {why[0]}" if why else "none"
    cosine = np.median(result.exchange_cosine[known])
    return f"first order predicts what interchanging does with a median cosine of {cosine:.3f}"


def tables(result: WhatIfResult, view: EffectView) -> None:
    """Print the edits that do least and most."""
    # To damp a block does little by design, and would fill the top of the table.
    edits = table(result, view).query("verb != 'damp'").dropna(subset="divergence")
    shown = edits.sort_values("divergence", kind="stable")[["edit", "divergence", "loss", "stays"]]
    print_frame(shown.head(SHOWN))
    if len(shown) > SHOWN:
        print_lines("", "and those that do most:")
        print_frame(shown.tail(min(SHOWN, len(shown) - SHOWN)))
