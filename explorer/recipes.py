"""The same measurement and the same view outside the app, as text to copy."""

import shlex
from dataclasses import MISSING, Field, dataclass, fields
from typing import Any

from coupling_core.records import AnyView, Kind, PathView, Request
from explorer.state import State

_SHOWN = ("prompt", "model", "k", "definition")


@dataclass(frozen=True)
class _Recipe:
    """What is called to look at a result of one kind.

    Args:
        command: of the command line.
        function: takes the result and the view.
        names: what is to be printed of what it returns.
        blocks: whether a range of blocks is part of the view.
        scored: whether K and a definition of a score are.
    """

    command: str
    function: str
    names: str
    blocks: bool = False
    scored: bool = True


_RECIPES: dict[Kind, _Recipe] = {
    "depth": _Recipe(
        "depth",
        "score_pairs",
        "found.corrected)  # row l, column l'; see also found.coupling, found.chance",
        blocks=True,
    ),
    "trajectory": _Recipe(
        "trajectory",
        "project_paths",
        "result.line_shape)  # a token; see also result.norms, found.coordinates",
        scored=False,
    ),
}


def python_recipe(request: Request, view: AnyView) -> str:
    """A Python program that prints the scores that are on the screen."""
    recipe = _RECIPES[request.kind]
    return "\n".join(
        [
            f"from coupling_core import Request, Store, {type(view).__name__}, measure, "
            f"{recipe.function}",
            "",
            f"request = {_call(request)}",
            "result = measure(request, Store())",
            f"found = {recipe.function}(result, {_call(view)})",
            f"print({recipe.names}",
        ]
    )


def shell_recipe(request: Request, state: State) -> str:
    """The command that measures and prints the same."""
    recipe = _RECIPES[request.kind]
    options = {
        "revision": (request.revision, None),
        "untrained": (request.untrained, None),
        "dtype": (request.dtype, Request.dtype),
        "quantize": (request.quantize, None),
        "stack": (request.stack, None),
        "token": (state.token if request.kind == "trajectory" else request.token, Request.token),
        "final-norm": (request.final_norm, Request.final_norm),
    }
    always: dict[str, object] = {"model": request.model, "prompt": request.prompt}
    if recipe.scored:
        always |= {"k": state.k}
        options |= {
            "definition": (state.definition, State.definition),
            "p": (f"{state.p:.12g}", f"{State.p:.12g}"),
            "role": (state.role, State.role),
            "blocks": (state.blocks if recipe.blocks else "", ""),
        }
        flags = ["--raw"] if state.raw else []
    else:
        view = PathView()
        options |= {"fit": (state.fit, view.fit), "part": (state.part, view.part)}
        flags = [] if state.first else ["--without-first"]
    if recipe.command != request.kind:
        always |= {"mode": request.kind}
        options |= {"block": (request.block, None), "other-block": (request.other_block, None)}
    chosen = {name: value for name, (value, default) in options.items() if value != default}
    # A value that begins with a dash would be taken for an option without the "=".
    words = [f"--{name}={shlex.quote(str(value))}" for name, value in (always | chosen).items()]
    return " \\\n  ".join([f"python -m coupling_core {recipe.command}", *words, *flags])


def _call(record: Request | AnyView) -> str:
    """A record as the call that makes it, without the defaults that nobody looks for."""
    given = [
        f"{item.name}={getattr(record, item.name)!r}"
        for item in fields(record)
        if item.name in _SHOWN or getattr(record, item.name) != _default(item)
    ]
    return f"{type(record).__name__}({', '.join(given)})"


def _default(item: "Field[Any]") -> Any:
    return item.default if item.default is not MISSING else None
