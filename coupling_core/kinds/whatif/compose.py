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
from coupling_core.measuring.composing import begin, nothing, to_numpy, with_part
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
    own, (n_states, n, _) = effects.own_loss().cpu().numpy(), replays.states.shape
    lengths = {"edit": len(edits), "outcome": len(own), "neighbour": n_states - 2, "token": n}
    known = {
        "edits": tuple(map(str, edits)),
        "refused": refused,
        "measured_of": effects.measured,
        "own_loss": own.astype(np.float32),
        "no_prediction": {},
    }
    so_far = WhatIfResult(**nothing(WhatIfResult, np.float32, **lengths) | about | known)
    so_far = _with_exchanges(so_far, replays, obstacles)
    report(Progress("edits", 0, len(edits), so_far))
    for verbs in (("skip", "repeat", "damp"), ("replace",), ("interchange",)):
        chosen = [at for at, edit in enumerate(edits) if edit.verb in verbs]
        so_far = _run(so_far, edits, chosen, replays, effects, report)
    took: dict[str, Any] = {"sequences": replays.at_once, "edits": edits_together(replays)}
    if replays.why_single:
        took["why"] = replays.why_single
    return replace(so_far, provenance=dict(so_far.provenance) | {"at_once": took})


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
        found = {f"exchange_{name}": to_numpy(of) for name, of in vars(exchanged).items()}
        so_far = with_part(so_far, block - 1, found)
    return replace(so_far, no_prediction=missing)
