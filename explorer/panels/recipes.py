"""The same measurement and the same view outside the app, as text to copy.

What recipes have in common; each page composes its own.
"""

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import MISSING, Field, fields, replace
from typing import Any, NamedTuple

from coupling_core.base.definitions import DEFINITIONS
from coupling_core.base.images import is_image
from coupling_core.base.records import OWN, AnyView, Request
from explorer.session.state import State

_SHOWN = ("prompt", "model", "k", "definition")

Options = dict[str, tuple[object, object]]
"""By the name of an option: its value, and its default."""


class Recipes(NamedTuple):
    """How to come by what is on the screen.

    Args:
        python: a program that prints it.
        shell: the command that does.
    """

    python: str
    shell: str


def program(
    request: Request,
    view: AnyView | None,
    function: str,
    names: str,
    more: str = "",
    name: str = "found",
) -> str:
    """A Python program that measures, and prints what a function makes of the result.

    Args:
        request: what is measured.
        view: how it is looked at; None where there is nothing to choose.
        function: of `coupling_core`, which takes the result, and the view.
        names: what is to be printed of what it returns.
        more: its further arguments.
        name: what it returns.
    """
    looked = () if view is None else (type(view).__name__,)
    imports = ("Request", "Store", *looked, *sorted((function, "measure")))
    given = "result" if view is None else f"result, {call(view)}"
    return "\n".join(
        [
            f"from coupling_core import {', '.join(imports)}",
            "",
            *_measured(request),
            f"{name} = {function}({given}{more})",
            f"print({names}",
        ]
    )


def many(
    request: Request,
    kind: str,
    prompts: str,
    column: str,
    asked: Mapping[str, object],
    blocks: str = "",
    twin: Request | None = None,
) -> str:
    """A Python program that measures a file of prompts, and prints their mean and its interval.

    Args:
        request: of one of them.
        kind: of the results.
        prompts: the file.
        column: of the table, which has the number.
        asked: further arguments of `measure_many`, where they are not the defaults.
        blocks: those whose mean is told, of depth-wise results; empty is all of them, as in the
            table.
        twin: the same of a model that stands beside it; None where none does.
    """
    models = [_model(one) for one in (request, twin) if one]
    told = "".join(f", {name}={value!r}" for name, value in asked.items())
    of_kind = "" if kind == "depth" else f", kind={kind!r}"
    names = ["Store"] * bool(blocks) + ["compare_models"] * bool(twin) + ["means_by"]
    asks = f"{prompts!r}, {models[0] if len(models) == 1 else models!r}{of_kind}{told}"
    lines = [
        f"from coupling_core import {', '.join(names)}, measure_many",
        "",
        f"table = measure_many({asks})",
    ]
    if blocks:
        view = {name: asked[name] for name in ("k", "definition", "role") if name in asked}
        looked = "".join(f", {name}={value!r}" for name, value in view.items())
        lines += [
            "results = [Store().get(key) for key in table['key']]",
            f"means = [one.scores(blocks={blocks!r}{looked}).mean() for one in results]",
            f"table[{column!r}] = [one.{column} for one in means]",
        ]
    lines.append(f"print(means_by(table, 'model', measure={column!r}).T)")
    if twin:
        lines.append(f"print(compare_models(table, *table['model'].unique(), measure={column!r}))")
    return "\n".join(lines)


def _model(request: Request) -> dict[str, object]:
    """A model as `measure_many` takes it."""
    return {
        name: getattr(request, name)
        for name in ("model", "revision", "untrained", "dtype", "quantize", "stack")
        if name == "model" or getattr(request, name) != getattr(Request, name)
    }


def viewed(state: State, *, blocks: bool) -> Options:
    """How scores are looked at."""
    takes_p = DEFINITIONS[state.definition].takes_p
    return {
        "definition": (state.definition, State.definition),
        **({"p": (f"{state.p:.12g}", f"{State.p:.12g}")} if takes_p else {}),
        "role": (state.role, State.role),
        **({"level": (state.level, State.level)} if DEFINITIONS[state.definition].rotated else {}),
        "blocks": (state.blocks if blocks else "", ""),
    }


def raw(state: State) -> list[str]:
    """The flag of the raw score, where that is drawn."""
    return ["--raw"] if state.raw else []


def command(
    name: str, always: dict[str, object], options: Options, flags: Sequence[str] = ()
) -> str:
    """A command with those of its options that are not as they are by default."""
    chosen = {option: value for option, (value, default) in options.items() if value != default}
    # A value that begins with a dash would be taken for an option without the "=".
    words = [f"--{name}={shlex.quote(str(value))}" for name, value in (always | chosen).items()]
    return " \\\n  ".join([f"python -m coupling_core {name}", *words, *flags])


def measuring(
    name: str,
    request: Request,
    always: dict[str, object],
    options: Options,
    flags: Sequence[str] = (),
    prompts: str = "",
) -> str:
    """A command that measures, which is told the request as well; arguments as of `command`.

    A file of prompts takes the place of the request's.
    """
    if request.model.startswith(OWN):
        return "# a module of one's own is measured in Python alone"
    given = {"image": "FILE"} if is_image(request.prompt) else {"prompt": request.prompt}
    given = {"prompts": prompts} if prompts else given
    asked: Options = {
        "revision": (request.revision, None),
        "untrained": (request.untrained, None),
        "dtype": (request.dtype, Request.dtype),
        "quantize": (request.quantize, None),
        "stack": (request.stack, None),
        "token": (request.token, Request.token),
        "final-norm": (request.final_norm, Request.final_norm),
    }
    return command(name, {"model": request.model} | given | always, asked | options, flags)


def call(record: Request | AnyView, shown: Collection[str] = _SHOWN) -> str:
    """A record as the call that makes it, without the defaults that nobody looks for."""
    given = [
        f"{item.name}={getattr(record, item.name)!r}"
        for item in fields(record)
        if item.name in shown or getattr(record, item.name) != _default(item)
    ]
    return f"{type(record).__name__}({', '.join(given)})"


def _measured(request: Request) -> list[str]:
    """The lines that ask for a measurement; a module of somebody's own is theirs to bring."""
    if not request.model.startswith(OWN):
        return [f"request = {call(request)}", "result = measure(request, Store())"]
    bare = replace(request, model=Request.model)
    return [
        f"# model is your {request.model.removeprefix(OWN)}, and tokenizer what belongs to it",
        f"request = {call(bare, ('prompt', 'k'))}",
        "result = measure(request, Store(), model=model, tokenizer=tokenizer)",
    ]


def _default(item: "Field[Any]") -> Any:
    return item.default if item.default is not MISSING else None
