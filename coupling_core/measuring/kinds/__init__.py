"""The compositions of the stages: one a kind of result, one a file.

    depth         the blocks at one token
    tokens        the tokens, in two blocks or on average over all pairs
    trajectory    the path of every token
    common        what all say of how a result was made

A new kind is one more line of `_COMPOSITIONS`.
"""

from collections.abc import Callable

from coupling_core.base.records import TOKEN_KINDS, Kind
from coupling_core.base.results import Result
from coupling_core.engine.loading import LoadedModel
from coupling_core.measuring.kinds import depth, tokens, trajectory
from coupling_core.measuring.kinds.common import Report
from coupling_core.sources.resolved import Resolved

__all__ = ["Report", "compose"]

_COMPOSITIONS: dict[Kind, Callable[..., Result]] = {
    "depth": depth.compose,
    "trajectory": trajectory.compose,
    **dict.fromkeys(TOKEN_KINDS, tokens.compose),
}


def compose(asked: Resolved, loaded: LoadedModel, report: Report) -> Result:
    """Measure what a request of any kind asks for.

    Args:
        asked: what to measure.
        loaded: that model, evaluating in float32.
        report: told at each step.

    Raises:
        InputError: where the request cannot be met by this model.
        ComputeError: where the computing fails.
    """
    return _COMPOSITIONS[asked.request.kind](asked, loaded, report)
