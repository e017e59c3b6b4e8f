"""Depth-wise coupling: the blocks of a model, compared at one token.

compose    what measures it
cost       what that takes
export     its numbers for other programs, and in a sweep
report     what is said of it
command    `coupling depth`
prompts    the same of many prompts, and its means
"""

from coupling_core.base.kinds import KindOfResult
from coupling_core.base.records import View
from coupling_core.base.results import DepthResult

KINDS = (
    KindOfResult("depth", __name__, DepthResult, View, grows=0, token="measured", in_sweeps=True),
)
