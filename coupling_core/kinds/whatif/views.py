"""How edits are looked at from Python: their numbers by name, their figure, a sentence."""

import numpy as np
from jaxtyping import Float

from coupling_core.analysis.effects import Number, effect_maps, positions
from coupling_core.base.drawing import Figure
from coupling_core.base.records import EffectView
from coupling_core.base.results import WhatIfResult

FIGURES = {
    "interchange": Figure("effects.effects", of_many="interchange_kl"),
    "replace": Figure("effects.effects", {"edit": "replace"}, of_many="replace_kl"),
    "blocks": Figure("effects.effects_by_block", of_many="skip_kl"),
}


def verdict(result: WhatIfResult, view: EffectView, number: Number = "divergence") -> str:
    """Which block is missed least, and what it costs to exchange two."""
    found = effect_maps(result, view, number)
    known = np.flatnonzero(np.isfinite(found.skip))
    if not known.size:
        return "No edit could be run."
    ends = (np.argmin, np.argmax) if number != "stays" else (np.argmax, np.argmin)
    least, most = (known[pick(found.skip[known])] for pick in ends)
    unit, cost = {
        "divergence": (result.unit, "cost"),
        "loss": ("nats of loss", "cost"),
        "stays": ("of the likeliest next tokens stay", "leave"),
    }[number]
    beside = np.diagonal(found.interchange, 1)
    exchanged = (
        f"; neighbours interchanged {cost} {np.nanmedian(beside):.3g} in the median"
        if np.isfinite(beside).any()
        else ""
    )
    cheapest = _cheapest(found.interchange, number)
    missed = f"{found.skip[least]:.3g} {unit} when it is skipped"
    over = len(positions(result, view))
    averaged = f"on average over {over} tokens" if over > 1 else "at one token"
    return (
        f"The model can do without block {least + 1} most easily ({missed}, {averaged}), and "
        f"without block {most + 1} least easily ({found.skip[most]:.3g}){exchanged}{cheapest}."
    )


def _cheapest(interchange: Float[np.ndarray, "block block"], number: Number) -> str:
    """Which two blocks can be interchanged most easily; "" where none were."""
    rows, columns = np.triu_indices(len(interchange), 1)
    costs = interchange[rows, columns]
    if not np.isfinite(costs).any():
        return ""
    at = int(np.nanargmax(costs) if number == "stays" else np.nanargmin(costs))
    does = "leaves most" if number == "stays" else "costs least"
    pair = f"{rows[at] + 1} and {columns[at] + 1}"
    return f"; of all pairs, {pair} interchanged {does} ({costs[at]:.3g})"
