"""Trajectories: the path of every token through the blocks."""

from coupling_core.base.kinds import KindOfResult
from coupling_core.base.records import PathView
from coupling_core.base.results import TrajectoryResult

KINDS = (KindOfResult("trajectory", __name__, TrajectoryResult, PathView),)
