"""Every block skipped, repeated and damped; every pair of them replaced and interchanged."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from coupling_core.base.edits import Edit, every_edit
from coupling_core.base.errors import ComputeError
from coupling_core.base.results import Progress, WhatIfResult
from coupling_core.engine import matrix_products
from coupling_core.engine.edits.effects import Effect, Effects
from coupling_core.engine.edits.neighbours import exchange
from coupling_core.engine.edits.obstacles import Obstacles
from coupling_core.engine.edits.replays import Replays
from coupling_core.engine.edits.running import edits_together, run_edits
from coupling_core.engine.loading import LoadedModel
from coupling_core.measuring.composing import begin, to_numpy
from coupling_core.measuring.measure import Report
from coupling_core.sources.resolved import Resolved

UNSOUND = "the model gives no finite numbers under it"


def compose(asked: Resolved, loaded: LoadedModel, report: Report) -> WhatIfResult:
    """Run the edits block by block, then those by pairs; each report has the result so far."""
    matrix_products.choice()  # products of many sequences are large in any model
    reader, about = begin(asked, loaded)
    replays = Replays(reader)
    effects = Effects(replays, with_norm=asked.request.final_norm == "include")
    edits = every_edit(replays.n_blocks)
    obstacles = Obstacles(replays)
    refused = {str(edit): why for edit in edits if (why := obstacles.of(edit))}
    so_far = _with_exchanges(_empty(about, edits, refused, replays, effects), replays, obstacles)
    report(Progress("edits", 0, len(edits), so_far))
    for verbs in (("skip", "repeat", "damp"), ("replace",), ("interchange",)):
        chosen = [at for at, edit in enumerate(edits) if edit.verb in verbs]
        so_far = _run(so_far, edits, chosen, replays, effects, report)
    took: dict[str, Any] = {"sequences": replays.at_once, "edits": edits_together(replays)}
    if replays.why_single:
        took["why"] = replays.why_single
    return replace(so_far, provenance=dict(so_far.provenance) | {"at_once": took})


def _empty(
    about: dict[str, Any],
    edits: Sequence[Edit],
    refused: dict[str, str],
    replays: Replays,
    effects: Effects,
) -> WhatIfResult:
    """The result before any edit was run."""
    own = effects.own_loss().cpu().numpy()
    nothing = np.full((len(edits), len(own)), np.nan, np.float32)
    n_states, n, _ = replays.states.shape
    exchanges = np.full((n_states - 2, n), np.nan, np.float32)
    return WhatIfResult(
        **about,
        edits=tuple(map(str, edits)),
        refused=refused,
        measured_of=effects.measured,
        divergence=nothing,
        loss=nothing,
        stays=nothing,
        own_loss=own.astype(np.float32),
        exchange_true=exchanges,
        exchange_predicted=exchanges,
        exchange_cosine=exchanges,
        no_prediction={},
    )


def _run(
    so_far: WhatIfResult,
    edits: Sequence[Edit],
    chosen: Sequence[int],
    replays: Replays,
    effects: Effects,
    report: Report,
) -> WhatIfResult:
    """Run some of the edits, by their numbers."""
    if not chosen:  # one block alone has no partner
        return so_far
    divergence, loss, stays = so_far.divergence.copy(), so_far.loss.copy(), so_far.stays.copy()
    refused = dict(so_far.refused)
    runs = [at for at in chosen if so_far.edits[at] not in refused]
    before, whole = chosen[0], len(edits)

    def keep(number: int, effect: Effect) -> None:
        at = runs[number]
        if effect.is_sound:
            divergence[at], loss[at], stays[at] = map(to_numpy, vars(effect).values())
        else:
            refused[so_far.edits[at]] = UNSOUND

    def told(done: int, total: int) -> None:
        share = (len(chosen) * done) // max(1, total)
        report(Progress("edits", before + share, whole, so_far))

    run_edits(replays, effects, [edits[at] for at in runs], keep, told)
    found = replace(so_far, divergence=divergence, loss=loss, stays=stays, refused=refused)
    report(Progress("edits", before + len(chosen), whole, found))
    return found


def _with_exchanges(so_far: WhatIfResult, replays: Replays, obstacles: Obstacles) -> WhatIfResult:
    """The result with what first order predicts of each pair of neighbours."""
    found = {
        name: getattr(so_far, f"exchange_{name}").copy() for name in ("true", "predicted", "cosine")
    }
    missing: dict[str, str] = {}
    for block in range(1, replays.n_blocks):
        if why := obstacles.of(Edit("interchange", (block, block + 1))):
            missing[str(block)] = why
            continue
        try:
            exchanged = exchange(replays, block)
        except ComputeError as error:
            missing[str(block)] = str(error)
            continue
        for name, values in vars(exchanged).items():
            found[name][block - 1] = to_numpy(values)
    changes: dict[str, Any] = {f"exchange_{name}": values for name, values in found.items()}
    return replace(so_far, **changes, no_prediction=missing)
