"""Its numbers."""

import numpy as np
from pandas import DataFrame

from coupling_core.base.records import AnyView
from toy import NormsResult


def arrays(result: NormsResult, view: AnyView, k_view: int | None = None) -> dict[str, np.ndarray]:
    return {"norms": result.norms, "tokens": np.array(result.tokens)}


def axes(result: NormsResult) -> dict[str, tuple[str, ...]]:
    return {"norms": ("state",), "tokens": ("token",)}


def table(result: NormsResult, view: AnyView) -> DataFrame:
    return DataFrame({"state": range(len(result.norms)), "norm": result.norms})
