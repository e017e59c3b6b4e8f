"""The same numbers as the figures of trajectories, as tables."""

from typing import TYPE_CHECKING

from coupling_core.analysis.path_curves import CURVES, CurveName
from coupling_core.analysis.projection import project_paths
from coupling_core.analysis.scaling import TOP, inverse_fits
from coupling_core.base.records import PathView
from coupling_core.base.results import DepthResult, TrajectoryResult
from coupling_core.figures.linearised import stays
from coupling_core.figures.per_token import NUMBERS

if TYPE_CHECKING:  # pandas takes half a second to import, and only tables need it
    from pandas import DataFrame


def paths_table(result: TrajectoryResult, view: PathView) -> "DataFrame":
    """Twin of the paths: a row a state of a token, columns token, text, state, pc_1, ..."""
    return project_paths(result, view).to_pandas()


def by_depth_table(result: TrajectoryResult, name: CurveName) -> "DataFrame":
    """Twin of a number by depth: a row a state (or block), a column a token."""
    from pandas import DataFrame, RangeIndex

    curve = CURVES[name]
    depth = RangeIndex(curve.first, result.n_blocks + 1, name="block" if curve.first else "state")
    return DataFrame(curve.values(result), index=depth, columns=_columns(result))


def per_token_table(result: TrajectoryResult) -> "DataFrame":
    """Twin of the numbers of whole paths: a row a token."""
    from pandas import DataFrame, RangeIndex

    index = RangeIndex(1, len(result.tokens) + 1, name="token")
    table = DataFrame({"text": result.tokens}, index=index)
    for name, number in NUMBERS.items():
        table[name] = number.values(result)
    return table


def linearised_table(result: TrajectoryResult, token: int) -> "DataFrame":
    """Twin of the linearised errors of one token: a row a block."""
    from pandas import DataFrame, RangeIndex

    at = token - 1
    return DataFrame(
        {
            "one_step": result.one_step[:, at],
            "rolled_out": result.rolled_out[:, at],
            "stays": stays(result)[:, at],
        },
        index=RangeIndex(1, result.n_blocks + 1, name="block"),
    )


def scaling_table(result: DepthResult) -> "DataFrame":
    """Twin of singular values by depth: a row a k, its line through 1 / s_k, and every s_k."""
    from pandas import DataFrame, RangeIndex

    s = result.singular_values[:, :TOP]
    _, lines = inverse_fits(s)
    table = DataFrame(s.T, columns=[f"block {i + 1}" for i in range(len(s))])
    table.index = RangeIndex(1, s.shape[1] + 1, name="k")
    for place, name in enumerate(("slope", "intercept", "r_squared")):
        table.insert(place, name, [getattr(line, name) for line in lines])
    return table


def _columns(result: TrajectoryResult) -> list[str]:
    return [f"{i} {text}" for i, text in enumerate(result.tokens, 1)]
