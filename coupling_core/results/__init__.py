"""Results by their kinds: what is stored of a measurement, one class a file.

base        what every result has
depth       the blocks at one token
trajectory  the path of every token through the blocks
progress    where a running measurement stands, with the result so far
"""

from coupling_core.records import Kind
from coupling_core.results.base import Result, Sizes
from coupling_core.results.depth import DepthResult
from coupling_core.results.progress import Progress
from coupling_core.results.trajectory import TrajectoryResult

__all__ = ["RESULTS", "DepthResult", "Progress", "Result", "Sizes", "TrajectoryResult"]

RESULTS: dict[Kind, type[Result]] = {
    kind: of for of in (DepthResult, TrajectoryResult) for kind in of.kinds
}
"""The class of each kind of request's result; the archive reads and writes by it."""
