"""Find the eigenvalues of each block's linear map, and what their products leave over."""

from coupling_core.base.kinds import KindOfResult
from coupling_core.base.records import AnyView
from coupling_core.base.results import SpectrumResult

KINDS = (KindOfResult("spectrum", __name__, SpectrumResult, AnyView, token="measured"),)
