"""The same measurement and the same view outside the app, as text to copy."""

import shlex
from dataclasses import MISSING, Field, fields
from typing import Any

from coupling_core.records import Request, View
from explorer.state import State

_SHOWN = ("prompt", "model", "k", "definition")


def python_recipe(request: Request, view: View) -> str:
    """A Python program that prints the scores that are on the screen."""
    return "\n".join(
        [
            "from coupling_core import Request, Store, View, measure, score_pairs",
            "",
            f"request = {_call(request)}",
            "result = measure(request, Store())",
            f"found = score_pairs(result, {_call(view)})",
            "print(found.corrected)  # row l, column l'; see also found.coupling, found.chance",
        ]
    )


def shell_recipe(state: State) -> str:
    """The command that measures and prints the same."""
    untrained = "" if state.untrained is None else state.untrained
    always = {"model": state.model, "prompt": state.prompt, "k": state.k}
    options = {
        "revision": (state.revision, State.revision),
        "untrained": (untrained, ""),
        "dtype": (state.dtype, State.dtype),
        "quantize": (state.quantize or "", ""),
        "stack": (state.stack or "", ""),
        "token": (state.token, State.token),
        "final-norm": (state.final_norm, State.final_norm),
        "definition": (state.definition, State.definition),
        "p": (f"{state.p:.12g}", f"{State.p:.12g}"),
        "role": (state.role, State.role),
        "blocks": (state.blocks, State.blocks),
    }
    chosen = {name: value for name, (value, default) in options.items() if value != default}
    # A value that begins with a dash would be taken for an option without the "=".
    words = [f"--{name}={shlex.quote(str(value))}" for name, value in (always | chosen).items()]
    flags = ["--raw"] if state.raw else []
    return " \\\n  ".join(["python -m coupling_core depth", *words, *flags])


def _call(record: Request | View) -> str:
    """A record as the call that makes it, without the defaults that nobody looks for."""
    given = [
        f"{item.name}={getattr(record, item.name)!r}"
        for item in fields(record)
        if item.name in _SHOWN or getattr(record, item.name) != _default(item)
    ]
    return f"{type(record).__name__}({', '.join(given)})"


def _default(item: "Field[Any]") -> Any:
    return item.default if item.default is not MISSING else None
