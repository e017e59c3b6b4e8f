"""What is said of a trajectory."""

from typing import Any

from coupling_core.analysis.exports import arrays, row
from coupling_core.analysis.trajectory import why_no_expodistance
from coupling_core.base.numbers import array_of
from coupling_core.base.records import PathView
from coupling_core.base.results import TrajectoryResult
from coupling_core.base.units import counted

_LEFT_OUT = ("tokens", "pca")


def summary(result: TrajectoryResult, view: PathView) -> dict[str, Any]:
    """Every number of one view, ready for JSON."""
    named = {name: value for name, value in arrays(result, view).items() if name not in _LEFT_OUT}
    return {
        **vars(view),
        "mean": row(result, view),
        **named,
        "no_expodistance": why_no_expodistance(result.norms),
        "no_entropy": result.no_entropy,
        "kept": result.kept,
    }


def facts(result: TrajectoryResult, view: PathView) -> dict[str, object]:
    """What there is of its states."""
    shares = ", ".join(f"{share:.3f}" for share in array_of(result, view, "explained") if share > 0)
    n, kept = len(result.tokens), len(result.kept)
    return {
        "explained": f"{shares or 'nothing'}, by components of {_fitted(view, n)}",
        "states": f"{kept} of {counted(n, 'token')} are kept for drawing" * (kept < n),
        "no entropy": result.no_entropy,
    }


def _fitted(view: PathView, n: int) -> str:
    states = "the last state" if view.fit == "last" else "all states"
    part = "" if view.part == "all" else f" of the {view.part} half"
    return states + part + " without the first token" * view.leaves_out_first(n)
