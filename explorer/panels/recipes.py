"""The same measurement and the same view outside the app, as text to copy."""

import shlex
from collections.abc import Collection, Sequence
from dataclasses import MISSING, Field, dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from coupling_core.base.images import is_image
from coupling_core.base.records import OWN, TOKEN_KINDS, AnyView, Kind, PathView, Request, View
from coupling_core.sources.suites import Suite
from explorer.session.state import State

if TYPE_CHECKING:  # statistics import scipy, which the pages do without until they need it
    from coupling_core.analysis.findings import Question
    from coupling_core.experiments.sweeps import Journal
    from coupling_core.experiments.vision.findings import VisionFindings

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
    **dict.fromkeys(
        TOKEN_KINDS,
        _Recipe(
            "tokens",
            "score_positions",
            "found.corrected)  # row t, column t'; see also found.coupling, found.chance",
        ),
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
            *_measured(request),
            f"found = {recipe.function}(result, {_call(view)})",
            f"print({recipe.names}",
        ]
    )


def shell_recipe(request: Request, state: State) -> str:
    """The command that measures and prints the same."""
    recipe = _RECIPES[request.kind]
    always, options = _asked(request)
    if recipe.scored:
        always |= {"k": state.k}
        options |= _viewed(state, blocks=recipe.blocks)
        flags = _raw(state)
    else:
        view = PathView()
        options |= {
            "token": (state.token, Request.token),
            "fit": (state.fit, view.fit),
            "part": (state.part, view.part),
        }
        flags = [] if state.first else ["--without-first"]
    if request.kind in TOKEN_KINDS:
        always |= {"mode": request.kind}
        if request.kind != "self":
            always |= {"token": request.token}
        options |= {"block": (request.block, None), "other-block": (request.other_block, None)}
    return _command(recipe.command, always, options, flags)


def graph_recipes(request: Request, view: View, state: State) -> tuple[str, str]:
    """A Python program that prints the edges of the layer graph, and the command that does."""
    given = {"corrected": (not state.raw, True), "threshold": (state.threshold, State.threshold)}
    more = "".join(f", {n}={value!r}" for n, (value, default) in given.items() if value != default)
    program = [
        "from coupling_core import Request, Store, View, layer_graph, measure",
        "",
        *_measured(request),
        f"graph = layer_graph(result, {_call(view)}{more})",
        "print(graph.edges(data=True))  # of networkx; see also graph.nodes(data=True)",
    ]
    always, options = _asked(request)
    options |= _viewed(state, blocks=True) | {
        "threshold": (f"{state.threshold:.12g}", f"{State.threshold:.12g}"),
        "layout": (state.layout, State.layout),
        "color": (state.node_color, State.node_color),
    }
    flags = [*_raw(state), *(["--auto-range"] if state.auto_range else [])]
    command = _command("graph", always | {"k": state.k}, options, flags)
    return "\n".join(program), command


def compare_recipes(left: str, right: str, view: View, state: State) -> tuple[str, str]:
    """A Python program that prints what a comparison comes to, and the command that does.

    Args:
        left: store key of A.
        right: store key of B.
        view: how both are looked at.
        state: its switches.
    """
    more = ", corrected=False" if state.raw else ""
    program = [
        "from coupling_core import Store, View, compare, summarise",
        "",
        f'left, right = (Store().get(key) for key in ("{left}", "{right}"))',
        f"found = compare(left, right, {_call(view)}{more})",
        "print(summarise(found))  # see also found.difference, found.left_scores",
    ]
    options = _viewed(state, blocks=True)
    command = _command(f"compare {left} {right}", {"k": view.k}, options, _raw(state))
    return "\n".join(program), command


def training_recipes(suites: Sequence[Suite], state: State) -> tuple[str, str]:
    """A Python program that prints the numbers of training runs by step, and the command."""
    names = [suite.name for suite in suites]
    request, view = state.suite_request(), replace(state.suite_view(), blocks=None)
    program = [
        "from coupling_core import Request, Store, View, collect, find_suite, numbers",
        "",
        f"request = {_call(request, ('prompt', 'k'))}  # of every step, which has a model",
        f"for name in {names!r}:",
        "    course = collect(find_suite(name), request, Store())",
        "    print(course.suite.title)",
        f"    print(*numbers(course, {_call(view)}), sep='\\n')  # see also course.depth, .paths",
    ]
    always = {"prompt": state.prompt, "k": state.suite_k}
    options = _viewed(state, blocks=False) | {
        "token": (request.token, Request.token),
        "final-norm": (request.final_norm, Request.final_norm),
    }
    command = " ".join(["training", *(f"--suite={name}" for name in names)])
    return "\n".join(program), _command(command, always, options, [])


def sweep_recipes(journal: "Journal", asked: "Question") -> tuple[str, str]:
    """The Python program and the command line that give what a sweep says.

    Args:
        journal: of the sweep.
        asked: the question.
    """
    from coupling_core.analysis.findings import Question

    program = [
        "from pathlib import Path",
        "from coupling_core import Question, find",
        "from coupling_core.sweeps import read_table",
        "",
        f"table = read_table(Path({str(journal.table)!r}))",
        f"found = find(table, {asked!r})",
        "print(*found.shows, *found.does_not_show, sep='\\n')",
        "print(found.means.rows)",
    ]
    options: _Options = {
        "measure": (asked.measure, Question.measure),
        "against": (asked.against, None),
        "subset": (asked.subset, Question.subset),
        "method": (asked.method, Question.method),
    }
    name = str(journal.plan().get("name", "sweep"))
    command = f"sweep report sweeps/{name}.toml"
    return "\n".join(program), _command(command, {"k": f"{asked.k:g}"}, options, [])


def vision_recipes(asked: "VisionFindings") -> tuple[str, str]:
    """The Python program and the command line that give what the runs of vision say."""
    program = [
        "from pathlib import Path",
        "from coupling_core.sweeps import read_table",
        "from coupling_core.experiments.vision.findings import VisionFindings",
        "",
        "# the table that the command below leaves in the store",
        "table = read_table(next(Path('cache').glob('sweeps/vision-*/table.csv')))",
        f"found = VisionFindings(table, {asked.k}, {asked.measure!r}, {asked.kind!r})",
        "print(*found.shows, *found.does_not_show, sep='\\n')",
        "print(found.runs)",
    ]
    return "\n".join(program), "coupling sweep run sweeps/vision.toml --store cache"


def _measured(request: Request) -> list[str]:
    """The lines that ask for a measurement; a module of somebody's own is theirs to bring."""
    if not request.model.startswith(OWN):
        return [f"request = {_call(request)}", "result = measure(request, Store())"]
    bare = replace(request, model=Request.model)
    return [
        f"# model is your {request.model.removeprefix(OWN)}, and tokenizer what belongs to it",
        f"request = {_call(bare, ('prompt', 'k'))}",
        "result = measure(request, Store(), model=model, tokenizer=tokenizer)",
    ]


_Options = dict[str, tuple[object, object]]
"""By the name of an option: its value, and its default."""


def _asked(request: Request) -> tuple[dict[str, object], _Options]:
    """What every measuring command is told, and what it need not be where it is the default."""
    given = {"image": "FILE"} if is_image(request.prompt) else {"prompt": request.prompt}
    return {"model": request.model} | given, {
        "revision": (request.revision, None),
        "untrained": (request.untrained, None),
        "dtype": (request.dtype, Request.dtype),
        "quantize": (request.quantize, None),
        "stack": (request.stack, None),
        "token": (request.token, Request.token),
        "final-norm": (request.final_norm, Request.final_norm),
    }


def _viewed(state: State, *, blocks: bool) -> _Options:
    """How scores are looked at."""
    return {
        "definition": (state.definition, State.definition),
        "p": (f"{state.p:.12g}", f"{State.p:.12g}"),
        "role": (state.role, State.role),
        "blocks": (state.blocks if blocks else "", ""),
    }


def _raw(state: State) -> list[str]:
    return ["--raw"] if state.raw else []


def _command(name: str, always: dict[str, object], options: _Options, flags: list[str]) -> str:
    if str(always.get("model", "")).startswith(OWN):
        return "# a module of one's own is measured in Python alone"
    chosen = {name: value for name, (value, default) in options.items() if value != default}
    # A value that begins with a dash would be taken for an option without the "=".
    words = [f"--{name}={shlex.quote(str(value))}" for name, value in (always | chosen).items()]
    return " \\\n  ".join([f"python -m coupling_core {name}", *words, *flags])


def _call(record: Request | AnyView, shown: Collection[str] = _SHOWN) -> str:
    """A record as the call that makes it, without the defaults that nobody looks for."""
    given = [
        f"{item.name}={getattr(record, item.name)!r}"
        for item in fields(record)
        if item.name in shown or getattr(record, item.name) != _default(item)
    ]
    return f"{type(record).__name__}({', '.join(given)})"


def _default(item: "Field[Any]") -> Any:
    return item.default if item.default is not MISSING else None
