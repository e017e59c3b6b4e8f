"""The Trajectories page's figures: the paths, and one group of numbers along them at a time."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal, cast

import streamlit as st

from coupling_core import figures
from coupling_core.analysis.projection import project_paths
from coupling_core.base.curves import Curves
from coupling_core.base.drawing import figures_of
from coupling_core.base.records import PathView, Request, resolve_token
from coupling_core.base.results import DepthResult, TrajectoryResult
from explorer.asking.compute import answer
from explorer.asking.several import counterpart, offer
from explorer.panels.chart import Shown, draw, draw_named, draw_partial, ink, made
from explorer.panels.page import Page
from explorer.panels.recipes import Options, Recipes, measuring, program
from explorer.panels.strip import strip
from explorer.panels.switches import Choice, switches
from explorer.server import backend
from explorer.session.link import Parameter, expect
from explorer.session.state import State

GUIDE = """
**Paths.** Each line is one token's way from its embedding (*x⁰*) through all blocks, seen in the
directions in which the last states differ most. The selected token is drawn in black (white on a
dark page); click on a path to select another. How much of the variance the directions explain
is on the axes: what they leave out is not seen. Rings are the last states where they have the final
norm in them, which rescales them: no line leads there, for it would run back through the figure.

**Straightness.** A line-shape score of 1 is a straight line; a walk whose steps are at right angles
to one another has √L, about 5.5 for 30 blocks. SmolLM2 is below it, its untrained twin
above.

**Growth.** Where the norm grows by the same factor in every block, the expodistance is 0. The first
blocks and the final norm change it most.

**Linearised path.** Each block is replaced by its Jacobian at the token's own state. Compare with
the dotted line, the error of a state that simply stays where it is.
"""
Along = Literal["straightness", "growth", "steps", "entropy", "linearised", "singular-values"]
"""What is drawn along the paths, a group of figures at a time."""
NUMBERS: Mapping[Along, tuple[str, tuple[str, ...]]] = {
    "straightness": ("Straightness", ("line-shape", "line-shape-by-depth")),
    "growth": ("Growth", ("expodistance", "growth", "norms")),
    "steps": ("Steps", ("equidistance", "steps")),
    "entropy": ("Entropy", ("entropy",)),
}
"""Those that are figures of numbers, with their names; a list of prompts has the first two."""
_Dimensions = Annotated[int, expect((2, 3).__contains__, "one of 2, 3"), Parameter("dims")]


@dataclass(frozen=True)
class PathsState(State):
    """What is chosen on this page.

    Args:
        dimensions: in which paths are drawn, 2 or 3.
        along: which numbers are drawn along the paths.
    """

    dimensions: _Dimensions = 2
    along: Along = "straightness"


PAGE = Page(
    "Trajectories",
    "pages/3_Trajectories.py",
    state=PathsState,
    kinds=("trajectory",),
    guide=GUIDE,
    takes_lists=True,
)


def recipes(request: Request, view: PathView, state: State) -> Recipes:
    """How to come by the paths outside the app."""
    names = "found.coordinates)  # by state and token; see also result.norms, result.to_pandas()"
    options: Options = {
        "token": (state.token, Request.token),
        "fit": (view.fit, PathView.fit),
        "part": (view.part, PathView.part),
    }
    return Recipes(
        program(request, view, "project_paths", names),
        measuring("trajectory", request, {}, options, ["--with-first"] * view.first),
    )


@dataclass(frozen=True)
class Drawn:
    """What all figures of the page share.

    Args:
        result: of the model that is chosen.
        twin: of its untrained twin (of the trained model, where the twin is chosen), if stored.
        view: how paths are projected.
        token: the selected one, 1..n.
    """

    result: TrajectoryResult
    twin: TrajectoryResult | None
    view: PathView
    token: int


_Draw = Callable[[Drawn, State], None]


def show(result: TrajectoryResult, state: PathsState) -> None:
    """Draw a stored result."""
    view = state.path_view()
    token = resolve_token(state.token, len(result.tokens))
    strip(result, view, recipes(result.request, view, state), GUIDE, selected=token)
    twin = cast(TrajectoryResult | None, backend.find(counterpart(result.request)))
    shown = Drawn(result, twin, view, token)
    st.header("Paths in principal components", anchor=False)
    _switches()
    st.caption("A click on a path, in two dimensions, selects its token.")
    above = st.container()
    st.header("Along the paths", anchor=False)
    groups = {name: words for name, (words, _) in _GROUPS.items()}
    switches([("What is drawn", "along", groups)], "trajectories")
    _GROUPS[state.along][1](shown, state)
    with above:  # drawn last, for the first time takes two seconds to import scikit-learn
        _paths(shown, state.dimensions)


def partial_paths(result: TrajectoryResult, state: State) -> None:
    """The paths, which are known before the errors of their linearisation are."""
    token = resolve_token(state.token, len(result.tokens))
    figure, whitened = figures.paths(result, state.path_view(), token=token), ink()
    draw_partial(whitened(figure) if whitened else figure)


_CHOICES: tuple[Choice, ...] = (
    ("Components fitted on", "fit", {"last": "Last state", "all": "All states"}),
    (
        "Blocks",
        "part",
        {"all": "All", "shallower": "Shallower half", "deeper": "Deeper half"},
    ),
    ("First token", "first", {False: "Left out", True: "Drawn"}),
    ("Dimensions", "dimensions", {2: "2-D", 3: "3-D"}),
)


def _switches() -> None:
    with st.container(horizontal=True, gap="medium"):
        switches(_CHOICES, "trajectories")


def _paths(shown: Drawn, dimensions: int) -> None:
    for column, result, place in _columns(shown):
        with column:
            st.subheader(result.model_name, anchor=False)
            figure = made(
                figures.paths,
                result,
                shown.view,
                finish=ink(),
                token=shown.token,
                dimensions=3 if dimensions == 3 else 2,
            )
            draw(
                figure,
                f"paths{place}",
                Shown(result, shown.view),
                project_paths(result, shown.view).to_pandas,
                picks=("token",) if dimensions == 2 else (),
            )
    if shown.twin is None:
        _offer_twin(shown.result.request)


def _columns(
    shown: Drawn,
) -> list[tuple["st.delta_generator.DeltaGenerator", TrajectoryResult, str]]:
    """A column for the result and one for its twin, with what tells their figures' names apart."""
    left, right = st.columns(2, gap="large")
    own = [(left, shown.result, "")]
    return own if shown.twin is None else [*own, (right, shown.twin, "-twin")]


def _offer_twin(request: Request) -> None:
    twin = counterpart(request)
    offer("trained model" if twin.untrained is None else "untrained twin", twin)


def _group(*names: str) -> _Draw:
    """Draws figures of numbers, of whole paths and by depth, two a row."""

    def draw_group(shown: Drawn, state: State) -> None:
        for first in range(0, len(names), 2):
            row = names[first : first + 2]
            for column, name in zip(st.columns(2, gap="large"), row, strict=False):
                with column:
                    _numbers(shown, name)

    return draw_group


def _numbers(shown: Drawn, name: str) -> None:
    result, view, figure = shown.result, shown.view, figures_of("trajectory")[name]
    if why := figure.lacks(result):
        st.info(f"The figure {name} {why}.")
        return
    picks = ("token",) * (cast(Curves, figure.draws).x == "token")
    of = Shown(result, view)
    draw_named(name, of, picks=picks, finish=ink(), token=shown.token, twin=shown.twin)


def _linearised(shown: Drawn, state: State) -> None:
    for column, result, place in _columns(shown):
        with column:
            st.subheader(result.model_name, anchor=False)
            draw(
                made(figures.linearised, result, token=shown.token),
                f"linearised{place}",
                Shown(result, shown.view),
                partial(figures.linearised_table, result, shown.token),
            )


def _singular_values(shown: Drawn, state: State) -> None:
    """They are the Depth page's measurement, at the selected token."""
    request = state.request()
    own = cast(DepthResult | None, answer(request, lambda _: None))
    if own is None:
        return
    found = [own, cast(DepthResult | None, backend.find(counterpart(request)))]
    for place, result in zip(("", "-twin"), found, strict=True):
        if result is None:
            continue
        st.subheader(result.model_name, anchor=False)
        for column, inverse in zip(st.columns(2, gap="large"), (False, True), strict=True):
            with column:
                draw(
                    made(figures.scaling, result, inverse=inverse),
                    f"{'inverse-' * inverse}singular-values{place}",
                    Shown(result, state.view(result, blocks=False)),
                    partial(figures.scaling_table, result),
                )


_GROUPS: dict[Along, tuple[str, _Draw]] = {
    **{name: (words, _group(*drawn)) for name, (words, drawn) in NUMBERS.items()},
    "linearised": ("Linearised path", _linearised),
    "singular-values": ("Singular values", _singular_values),
}
"""Name in the state: words, and what draws it."""
