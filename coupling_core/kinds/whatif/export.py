"""The numbers of a measurement of edits."""

from typing import TYPE_CHECKING

import numpy as np

from coupling_core.analysis.effects import effect_maps, mean_effects
from coupling_core.base.edits import DAMPED, parse_edit
from coupling_core.base.records import EffectView
from coupling_core.base.results import WhatIfResult

if TYPE_CHECKING:  # pandas takes half a second to import, and only tables need it
    from pandas import DataFrame

_STORED = ("divergence", "loss", "stays", "own_loss")
_EXCHANGES = ("exchange_true", "exchange_predicted", "exchange_cosine")


def arrays(
    result: WhatIfResult, view: EffectView, k_view: int | None = None
) -> dict[str, np.ndarray]:
    """What a measurement of edits holds, by name.

    Args:
        result: the result.
        view: over which tokens the means are taken.
        k_view: means nothing here; there are no matrices.

    Returns:
        means over the tokens of the view: `skip`, `repeat` (block), `damp` (factor block),
        `replace`, `interchange` (slot block; NaN = cannot be run); by token: `divergence`, `loss`,
        `stays` (edit outcome), `own_loss` (outcome), `exchange_true`, `exchange_predicted`,
        `exchange_cosine` (neighbour token); `edits`, `blocks`, `factors`, `tokens`, `token_ids`.
    """
    return {
        **effect_maps(result, view).arrays,
        **{name: getattr(result, name) for name in _STORED + _EXCHANGES},
        "edits": np.array(result.edits),
        "blocks": np.arange(1, result.n_blocks + 1),
        "factors": np.array(DAMPED),
        "tokens": np.array(result.tokens),
        "token_ids": result.token_ids,
    }


def axes(result: WhatIfResult) -> dict[str, tuple[str, ...]]:
    """Names of the axes of each array."""
    return {
        **dict.fromkeys(("skip", "repeat"), ("block",)),
        "damp": ("factor", "block"),
        **dict.fromkeys(("replace", "interchange"), ("slot", "block")),
        **dict.fromkeys(("divergence", "loss", "stays"), ("edit", "outcome")),
        "own_loss": ("outcome",),
        **dict.fromkeys(_EXCHANGES, ("neighbour", "token")),
        "edits": ("edit",),
        "blocks": ("block",),
        "factors": ("factor",),
        **dict.fromkeys(("tokens", "token_ids"), ("token",)),
    }


def table(result: WhatIfResult, view: EffectView) -> "DataFrame":
    """What each edit does, on average over the tokens of the view: a row an edit."""
    from pandas import DataFrame

    edits = [parse_edit(text) for text in result.edits]
    slots = [edit.blocks[0] for edit in edits]
    means = {name: mean_effects(result, view, name) for name in ("divergence", "loss", "stays")}
    return DataFrame(
        {
            "edit": result.edits,
            "verb": [edit.verb for edit in edits],
            "slot": slots,
            "block": [edit.blocks[-1] for edit in edits],
            "factor": [edit.factor if edit.verb == "damp" else np.nan for edit in edits],
            **means,
            "refused": [result.refused.get(text, "") for text in result.edits],
        }
    )


def row(result: WhatIfResult, view: EffectView) -> dict[str, float]:
    """Medians over blocks, or over pairs of them; NaN where none has the number."""
    found = effect_maps(result, view)
    apart = ~np.eye(result.n_blocks, dtype=bool)
    return {
        "skip_kl": _median(found.skip),
        "replace_kl": _median(found.replace[apart]),
        "interchange_kl": _median(found.interchange[apart]),
    }


def _median(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if known.size else float("nan")
