"""What is said of a trajectory."""

from typing import Any

import numpy as np

from coupling_core.analysis import trajectory
from coupling_core.analysis.exports import arrays, row
from coupling_core.base.records import PathView
from coupling_core.base.results import TrajectoryResult
from coupling_core.base.units import counted
from coupling_core.cli import reports
from coupling_core.cli.terminal import print_lines, print_table

_LEFT_OUT = ("tokens", "pca")


def summary(result: TrajectoryResult, view: PathView) -> dict[str, Any]:
    """Every number of one view, ready for JSON."""
    named = {name: value for name, value in arrays(result, view).items() if name not in _LEFT_OUT}
    return {
        "fit": view.fit,
        "part": view.part,
        "first": view.first,
        "mean": row(result, view),
        **named,
        "no_expodistance": trajectory.why_no_expodistance(result.norms),
        "no_entropy": result.no_entropy,
        "kept": result.kept,
    }


def show(result: TrajectoryResult, view: PathView) -> None:
    """Print one result: its means over the prompt, a line a token."""
    mean = row(result, view)
    explained = arrays(result, view)["explained"]
    shares = ", ".join(f"{share:.3f}" for share in explained if np.isfinite(share))
    n, kept = len(result.tokens), len(result.kept)
    print_lines(
        *reports.head(result),
        f"paths       {counted(n, 'token')} through {counted(result.n_blocks, 'block')}, "
        f"{result.final_norm_words}",
        f"mean        line-shape score {mean['line_shape']:.4f}, expodistance "
        f"{mean['expodistance']:.4g}, equidistance {mean['equidistance']:.4g}",
        f"explained   {shares or 'nothing'}, by components of {_fitted(view, n)}",
        *(
            [f"states      {kept} of {counted(n, 'token')} are kept for drawing"]
            if kept < n
            else []
        ),
        *([f"entropy     none: {result.no_entropy}"] if result.no_entropy else []),
        "",
    )
    _show_tokens(result)


def _fitted(view: PathView, n: int) -> str:
    states = "the last state" if view.fit == "last" else "all states"
    part = "" if view.part == "all" else f" of the {view.part} half"
    return states + part + " without the first token" * view.leaves_out_first(n)


def _show_tokens(result: TrajectoryResult) -> None:
    numbers = (
        result.line_shape,
        trajectory.growth_rates(result.norms).mean(0),
        trajectory.expodistance(result.norms),
        trajectory.equidistance(result.step_lengths),
        result.norms[0],
        result.norms[-1],
        result.entropy[-1],
    )
    rows = [
        (str(i), repr(text), *(f"{values[i - 1]:.4g}" for values in numbers))
        for i, text in enumerate(result.tokens, 1)
    ]
    titles = ("line shape", "growth", "expodistance", "equidistance", "|x^0|", "|x^L|", "entropy")
    print_table(("token", "text", *titles), rows, right=True)
