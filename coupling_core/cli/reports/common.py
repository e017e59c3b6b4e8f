"""What is said of every result, whatever was measured."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from coupling_core.analysis.ways import ways
from coupling_core.base.records import View
from coupling_core.base.results import Result


def summary(result: Result, *, stored: bool) -> dict[str, Any]:
    """Where a result comes from, ready for JSON.

    Args:
        result: the result.
        stored: whether it came from the store.
    """
    made = result.provenance
    return {
        "key": result.key,
        "stored": stored,
        "seconds": made.get("seconds"),
        "load_seconds": made.get("load_seconds"),
        "model": result.identity.get("name"),
        "request": asdict(result.request),
        "identity": dict(result.identity),
        "tokens": result.tokens,
        "n_blocks": result.n_blocks,
        "width": result.width,
        "provenance": dict(made),
    }


def of_view(result: Result, view: View) -> dict[str, Any]:
    """What of it is stored, and what is looked at."""
    return {
        "k_max": result.k_max,
        "k_view": result.k_view,
        "k": view.k,
        "definition": view.definition,
        "p": view.p,
        "role": view.role,
    }


def head(result: Result) -> list[str]:
    """The lines that a report begins with."""
    return [f"model       {result.model_name}", f"prompt      {result.prompt_text!r}"]


def foot(
    result: Result, failed: Sequence[str], *, stored: bool, out: Path | None = None
) -> list[str]:
    """The lines that it ends with.

    Args:
        result: the result.
        failed: which SVDs are not certified, and why.
        stored: whether it came from the store.
        out: the file that was written.
    """
    n = len(result.svds)
    certified = f"{n - len(failed)} of {n} certified" + "".join(f"; {line}" for line in failed)
    return [
        *([f"SVDs        {certified}"] if n else []),
        *(f"{'Jacobians' if not i else '':11} {line}" for i, line in enumerate(ways(result))),
        f"key         {result.key}",
        f"origin      {_origin(result, stored)}",
        *([f"written     {out}"] if out else []),
    ]


def _origin(result: Result, stored: bool) -> str:
    made = result.provenance
    took = f"computed in {made['seconds']:.1f} s" if "seconds" in made else "computed"
    if made.get("load_seconds"):
        took += f" after {made['load_seconds']:.1f} s of loading"
    elif "load_seconds" in made:
        took += ", with the model in memory already"
    return f"from the store, {took}" if stored else took
