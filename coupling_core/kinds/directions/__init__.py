"""Directions: what the leading singular vectors of the blocks read, write and do."""

from coupling_core.base.kinds import KindOfResult
from coupling_core.base.records import DirectionsView
from coupling_core.base.results import DirectionsResult

KINDS = (KindOfResult("directions", __name__, DirectionsResult, DirectionsView, token="measured"),)
