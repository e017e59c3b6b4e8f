"""Whose numbers a file has: a name that people can read, and columns that say it."""

import re
from typing import TYPE_CHECKING

from coupling_core.analysis.compare import Comparison
from coupling_core.analysis.path_comparison import PathComparison
from coupling_core.base.records import OVER_TOKENS, AnyView, EffectView, View, resolve_token
from coupling_core.base.results import Result, WhatIfResult

if TYPE_CHECKING:  # pandas takes half a second to import, and only tables need it
    from pandas import DataFrame

LONGEST = 32
"""Letters of a prompt in a file's name."""
_NO_WORD = re.compile(r"[^0-9A-Za-z.]+")


def file_name(result: Result, view: AnyView, what: str, ending: str) -> str:
    """A name for a file: the model, its prompt, the token, K, and what of it the file has."""
    seed, token = result.request.untrained, getattr(result, "token", None)
    parts = (
        str(result.identity.get("name", "model")),
        "" if seed is None else f"untrained {seed}",
        _shortened(result.prompt_text),
        f"token {token}" if isinstance(token, int) else "",
        f"K {view.k}" if isinstance(view, View) else "",
        what,
    )
    return "_".join(filter(None, map(file_part, parts))) + ending


def file_part(text: str) -> str:
    """A text as part of a file's name: its Latin letters, digits and dots; the rest are dashes."""
    return _NO_WORD.sub("-", text).strip("-.")


def signed(table: "DataFrame", result: Result, view: AnyView) -> "DataFrame":
    """A table with columns that say whose it is, after its own: model, prompt, measured, K."""
    told = facts(result, view)
    return table.assign(**{name: value for name, value in told.items() if name not in table})


def signed_differences(table: "DataFrame", found: Comparison | PathComparison) -> "DataFrame":
    """The same of a comparison, whose numbers are of A and of B."""
    sides = {"A": found.a, "B": found.b}
    more: dict[str, str | float] = {
        f"{side} {name}": told
        for side, result in sides.items()
        for name, told in facts(result, None).items()
    }
    if isinstance(found, Comparison):
        more |= {"score": found.score} | {"K": found.view.k, **found.view.how}
    return table.assign(**more)


def facts(result: Result, view: AnyView | None) -> dict[str, str | float]:
    """Whose the numbers of a result are, what was measured, and how scores are looked at."""
    told: dict[str, str | float] = {
        "model": result.model_name,
        "prompt": result.prompt_text,
        "measured": result.measured,
    }
    if isinstance(view, View):
        told |= {"K": view.k, **view.how}
    if (
        isinstance(view, EffectView)
        and isinstance(result, WhatIfResult)
        and view.tokens is not None
    ):
        over = [resolve_token(token, len(result.tokens)) for token in view.tokens]
        told["measured"] = result.measured_over(over)
        told[OVER_TOKENS] = f"token{'s' * (len(over) > 1)} {', '.join(map(str, view.tokens))}"
    return told | {"final_norm": result.request.final_norm, "precision": result.precision}


def _shortened(prompt: str) -> str:
    """The beginning of a prompt, up to a whole word."""
    words = file_part(prompt)
    cut = words[:LONGEST]
    return cut if len(words) <= LONGEST else (cut.rpartition("-")[0] or cut)
