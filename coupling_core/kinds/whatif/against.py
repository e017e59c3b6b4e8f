"""`coupling whatif --coupling`: the effects of edits beside the coupling of the same blocks."""

from typing import Any, get_args

from coupling_core.analysis.coupling_effect import CouplingEffect, PairEdit
from coupling_core.analysis.effect_study import EffectStudy, study_of
from coupling_core.base.errors import InputError
from coupling_core.base.records import EffectView
from coupling_core.base.results import DepthResult, Result
from coupling_core.cli.one_or_many import Ask, each
from coupling_core.cli.options import Measuring, Output
from coupling_core.cli.terminal import Told, print_lines
from coupling_core.sources.prompts import Prompt

_OF_PAIRS = ("edit", "whose", "block", "other", "coupling", "smallness")
"""What is not printed of a correlation: the points that it is over."""
DEPTH = "depth"
"""In place of a key: the coupling of the same prompts, measured where it is not stored."""


def correlated(asked: Measuring, ask: Ask, against: str, view: EffectView, output: Output) -> Told:
    """How coupling, of `depth` or of a stored result, goes with the effects of edits."""
    prompts = asked.listed()

    def run(asking: Ask) -> dict[int, Any]:
        """The results by the rows of the prompts; one that fails is left out."""
        found: dict[int, Any] = {}

        def take(prompt: Prompt, result: Result, _: bool) -> None:
            found[prompt.row] = result

        each(asked, asking, prompts, output, take=take)
        return found

    if against == DEPTH:
        depths = run(lambda text: ask(text).of_kind(DEPTH))
    elif asked.many is None:
        depths = {prompt.row: output.open(against) for prompt in prompts}
    else:
        raise InputError("one stored result has one prompt: with --prompts give --coupling depth")
    for depth in depths.values():
        if not isinstance(depth, DepthResult):
            raise InputError(
                f"{against!r} is a result of {depth.request.kind}: expected one of depth"
            )
    effects = run(ask)
    both = [(depths[row], effects[row]) for row in sorted(effects.keys() & depths.keys())]
    study = study_of(both, both[0][0].default_k if both else 1, view)
    found = _correlations(study)

    def show() -> None:
        lines = (f"{name}: {one.verdict}" for name, one in found.items())
        print_lines("", f"coupling at K = {study.k} against effect", *lines)

    numbers = {name: _without_points(one) for name, one in found.items()}
    return {"prompts": study.prompts, "k": study.k, **numbers}, show


def _correlations(study: EffectStudy) -> dict[str, CouplingEffect]:
    """Of both edits of two blocks, over all blocks and the inner ones if there are enough."""
    edits: tuple[PairEdit, ...] = get_args(PairEdit)
    return {
        edit + over: one
        for edit in edits
        for over, one in zip(("", ", inner blocks"), study.correlations(edit), strict=False)
    }


def _without_points(one: CouplingEffect) -> dict[str, Any]:
    numbers = {name: value for name, value in vars(one).items() if name not in _OF_PAIRS}
    return numbers | {"told": one.verdict}
