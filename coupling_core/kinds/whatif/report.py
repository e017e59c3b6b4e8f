"""What is said of edits."""

from typing import Any

import numpy as np

from coupling_core.analysis.effects import effect_maps, positions
from coupling_core.analysis.exports import arrays, row
from coupling_core.base.records import EffectView
from coupling_core.base.results import WhatIfResult
from coupling_core.base.units import counted
from coupling_core.cli.terminal import print_table
from coupling_core.kinds.whatif.numbers import table

SHOWN = 8
"""Edits at either end of the table."""
NAMED = 3
"""Blocks that are named at either end of those that are skipped."""
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
    """How many edits there are, and what they do in the median."""
    over = counted(len(positions(result, view)), "token")
    what = {
        "tokens": f"KL of the next-token distributions, nats, mean over {over}",
        "classes": "KL of the classes, nats",
        "states": f"distance of the last states, relative, mean over {over} (no head)",
    }[result.measured_of]
    took = result.provenance.get("at_once", {})
    at_once = f"{took['sequences']} sequences at once" if took else "one after the other"
    medians = (f"{name.removesuffix('_kl')} {of:.4g}" for name, of in row(result, view).items())
    return {
        "edits": f"{len(result.edits)} of {counted(result.n_blocks, 'block')}, {at_once}",
        "effect": what,
        "median": ", ".join(medians),
        "skipped": _skipped(result, view),
        "neighbours": _neighbours(result, view),
        "refused": [f"{len(result.refused)}: {why}" for why in result.reasons[:1]],
    }


def _skipped(result: WhatIfResult, view: EffectView) -> str:
    """Which blocks are missed least and most; "" where none could be skipped."""
    skip = effect_maps(result, view).skip
    known = np.flatnonzero(np.isfinite(skip))
    order = known[np.argsort(skip[known], kind="stable")]
    if len(order) <= NAMED:
        return ""
    least, most = (
        ", ".join(f"{at + 1} ({skip[at]:.4g})" for at in end)
        for end in (order[:NAMED], order[: -NAMED - 1 : -1])
    )
    return f"block missed least {least}; most {most}"


def _neighbours(result: WhatIfResult, view: EffectView) -> str:
    """What first order says of them, in numbers."""
    beside = np.diagonal(effect_maps(result, view).interchange, 1)
    known = np.isfinite(result.exchange_cosine)
    if not known.any():
        why = list(result.no_prediction.values())
        return f"no prediction: {why[0]}" if why else "none"
    return (
        f"interchanged: median {np.nanmedian(beside):.4g}; first order predicts the change of the "
        f"state with a cosine of {np.median(result.exchange_cosine[known]):.3f} in the median"
    )


def tables(result: WhatIfResult, view: EffectView) -> None:
    """Print the edits that do least and most."""
    # To damp a block does little by design, and would fill the top of the table.
    edits = table(result, view).query("verb != 'damp'").dropna(subset="divergence")
    shown = edits.sort_values("divergence", kind="stable")[["edit", "divergence", "loss", "stays"]]
    rows = [tuple(row) for row in shown.itertuples(index=False)]
    if len(rows) > 2 * SHOWN:
        rows = [*rows[:SHOWN], ("...", "", "", ""), *rows[-SHOWN:]]
    titles = {"edit": "", result.unit: ".4g", "loss": "+.4g", "same next token": ".0%"}
    print_table(titles, rows)
