"""Trajectories: the path of every token through the blocks.

compose    what measures it
cost       what that takes
export     its numbers for other programs, and in a sweep
report     what is said of it
command    `coupling trajectory`
"""

from coupling_core.base.kinds import KindOfResult
from coupling_core.base.records import PathView
from coupling_core.base.results import TrajectoryResult

KINDS = (
    KindOfResult(
        "trajectory", __name__, TrajectoryResult, PathView, grows=1, has_k=False, in_sweeps=True
    ),
)
