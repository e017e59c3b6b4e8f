"""`coupling whatif --edit`: what one edit does, and what the model says before and after."""

import numpy as np

from coupling_core.base.edits import parse_edit
from coupling_core.base.errors import InputError
from coupling_core.base.numbers import mean
from coupling_core.base.records import EffectView, Request, resolve_token
from coupling_core.base.units import percent
from coupling_core.cli.terminal import Told, print_facts, print_lines, print_table
from coupling_core.measuring.one_edit import EditEffect, continuations, edit_effect


def tried(request: Request, edit: str, view: EffectView, device: str | None) -> Told:
    """Run one edit: its effect over the view's tokens, and what the model says before and after."""
    parse_edit(edit)  # before any model is loaded
    effect = edit_effect(request, edit, device)
    try:
        said = continuations(request, ("none", edit), device=device)
    except InputError:  # not every model continues texts
        said = ()
    means = _means(effect, view)
    unit = "relative distance" if effect.measured_of == "states" else "nats"

    def show() -> None:
        loss, stays = means["loss"], means["stays"]
        print_facts(
            edit=effect.edit,
            effect=f"{means['divergence']:.4g} {unit}",
            loss=None if np.isnan(loss) else f"{loss:+.4g} nats a token",
            stays=None if np.isnan(stays) else f"{percent(stays)} of next tokens",
        )
        print_lines("")
        if said:
            first = (one.likeliest[0] for one in said)
            likely = (f"{text!r} {percent(share)}" for text, share in first)
            goes_on = (repr(one.continuation) for one in said)
            rows = zip(("as it is", "edited"), likely, goes_on, strict=True)
            print_table(("", "next", "goes on"), rows)

    numbers = {"edit": effect.edit, "measured_of": effect.measured_of, **means}
    numbers |= {"tokens": effect.tokens, "by_token": effect.divergence}
    named = zip(("before", "after"), said, strict=False)
    return numbers | dict(named), show


def _means(effect: EditEffect, view: EffectView) -> dict[str, float]:
    """Over the tokens of the view; of a picture's classes, the only number."""
    n = len(effect.divergence)
    tokens = None if effect.measured_of == "classes" else view.tokens
    at = [resolve_token(token, n) - 1 for token in tokens or range(1, n + 1)]
    return {name: mean(getattr(effect, name)[at]) for name in ("divergence", "loss", "stays")}
