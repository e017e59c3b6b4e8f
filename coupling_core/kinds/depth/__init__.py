"""Depth-wise coupling: the blocks of a model, compared at one token."""

from coupling_core.base.kinds import KindOfResult
from coupling_core.base.records import View
from coupling_core.base.results import DepthResult

KINDS = (KindOfResult("depth", __name__, DepthResult, View, token="measured"),)
