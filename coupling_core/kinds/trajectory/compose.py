"""The paths of all tokens through the blocks."""

import numpy as np

from coupling_core.analysis import trajectory
from coupling_core.base.results import Progress, TrajectoryResult
from coupling_core.engine.loading import LoadedModel
from coupling_core.engine.token_paths import linearise, walk
from coupling_core.measuring.composing import begin, nothing, to_numpy, with_part
from coupling_core.measuring.measure import Report
from coupling_core.sources.resolved import Resolved

STATES_BYTES = 2**26
"""Most that the states of a result take, 64 MB: 930 tokens of SmolLM2-135M in float32."""


def compose(asked: Resolved, loaded: LoadedModel, report: Report) -> TrajectoryResult:
    """Walk all paths at once, then linearise token by token; each report has the result so far."""
    reader, about = begin(asked, loaded)
    paths = walk(reader, final_norm=asked.request.final_norm == "include")
    states = to_numpy(paths.states)
    n_states, n, _ = states.shape
    kept = kept_tokens(n, STATES_BYTES // states[:, 0].nbytes)
    so_far = TrajectoryResult(
        **nothing(TrajectoryResult, np.float32, block=n_states - 1, token=n)
        | about
        | {of.__name__: of(states) for of in trajectory.OF_STATES}
        | {"entropy": to_numpy(paths.entropy), "no_entropy": paths.no_entropy}
        | {"states": states[:, kept - 1], "kept": kept}
    )
    report(Progress("tokens", 0, n, so_far))
    for done, (token, errors) in enumerate(linearise(reader, paths.final_norm), 1):
        found = {name: to_numpy(getattr(errors, name)) for name in ("one_step", "rolled_out")}
        so_far = with_part(so_far, (slice(None), token - 1), found)
        report(Progress("tokens", done, n, so_far))
    return so_far


def kept_tokens(n: int, most: int) -> np.ndarray:
    """Numbers (1..n) of the tokens whose states are kept: the first, and the last; two at least."""
    most = max(2, most)
    return np.arange(1, n + 1) if n <= most else np.r_[1, n - most + 2 : n + 1]
