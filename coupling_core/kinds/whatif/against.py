"""`coupling whatif --coupling`: the effects of edits beside the coupling of the same blocks."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast, get_args

from coupling_core.analysis.coupling_effect import (
    INNER,
    LEAST_BLOCKS,
    CouplingEffect,
    Estimate,
    PairEdit,
)
from coupling_core.analysis.effect_study import EffectStudy, study_of
from coupling_core.base.errors import InputError
from coupling_core.base.records import EffectView, Request
from coupling_core.base.results import DepthResult, Result, WhatIfResult
from coupling_core.base.units import counted
from coupling_core.cli.many import each
from coupling_core.cli.rows import Failed
from coupling_core.cli.stored import open_result
from coupling_core.cli.terminal import ProgressBar, print_json, print_lines
from coupling_core.measuring.measure import measure
from coupling_core.sources.prompts import Prompt
from coupling_core.store.disk import Store

_OF_PAIRS = ("edit", "whose", "block", "other", "coupling", "smallness")
"""What is not printed of a correlation: the points that it is over."""
DEPTH = "depth"
"""In place of a key: the coupling of the same prompts, measured where it is not stored."""


def of_one(
    result: WhatIfResult, against: str, view: EffectView, store: Store, device: str | None
) -> EffectStudy:
    """The effects over one prompt with the coupling over the same one.

    Args:
        result: the effects.
        against: `depth`, or key or file of a stored result.
        view: over which tokens effects are averaged.
        store: where results are.
        device: where to compute.

    Raises:
        InputError: where that result is none of coupling, or of another model or prompt.
    """
    if against == DEPTH:
        with ProgressBar() as bar:
            depth = measure(depth_request(result.request), store, device=device, progress=bar)
    else:
        depth = open_result(store, against)
    if not isinstance(depth, DepthResult):
        raise InputError(f"{against!r} is a result of {depth.request.kind}: expected one of depth")
    return study_of([(depth, result)], depth.default_k, view)


def of_many(
    ask: Callable[[str], Request],
    prompts: Sequence[Prompt],
    view: EffectView,
    store: Store,
    device: str | None,
) -> EffectStudy:
    """Effects and coupling over many prompts; one that fails is left out.

    Args:
        ask: makes the request for the effects over a prompt.
        prompts: of a file.
        view: over which tokens effects are averaged.
        store: answers what it holds, and keeps the rest.
        device: where to compute.

    Raises:
        InputError, ComputeError: where the model is out of reach, or all prompts fail.
        Cancelled: at Ctrl-C; what is stored is read the next time.
    """
    failed = Failed()
    run = partial(each, prompts=prompts, store=store, failed=failed, device=device)
    effects: dict[int, Result] = {}
    depths: dict[int, Result] = {}
    run(ask, take=lambda prompt, found, _: effects.update({prompt.row: found}))
    run(
        lambda text: depth_request(ask(text)),
        take=lambda prompt, found, _: depths.update({prompt.row: found}),
    )
    both = [
        (cast(DepthResult, depths[row]), cast(WhatIfResult, effects[row]))
        for row in sorted(effects.keys() & depths.keys())
    ]
    return study_of(both, both[0][0].default_k if both else 1, view)


def depth_request(request: Request) -> Request:
    """For the coupling over the prompt of effects."""
    return replace(request, kind="depth", k=None)


def correlations(study: EffectStudy) -> dict[str, CouplingEffect]:
    """Of both edits of two blocks, over all blocks and the inner ones, as far as there are enough.

    Raises:
        InputError: where there are too few at all.
    """
    if study.n_blocks < LEAST_BLOCKS:
        raise InputError(
            f"pairs of {counted(study.n_blocks, 'block')} are too few to be correlated: at least "
            f"{LEAST_BLOCKS} are expected"
        )
    counts = ((False, study.n_blocks), (True, study.n_blocks - 2 * INNER))
    edits: tuple[PairEdit, ...] = get_args(PairEdit)
    return {
        f"{edit}, inner blocks" if inner else edit: study.correlated(edit, inner=inner)
        for edit in edits
        for inner, count in counts
        if count >= LEAST_BLOCKS
    }


def tell(study: EffectStudy, *, as_json: bool) -> None:
    """Print how coupling goes with the effects, with all controls.

    Args:
        study: effects and coupling.
        as_json: print JSON.

    Raises:
        InputError: where blocks are too few.
    """
    found = correlations(study)
    if as_json:
        print_json({"prompts": study.prompts, "k": study.k, **_plain(found)})
        return
    lines = (f"{name}: {one.verdict}" for name, one in found.items())
    print_lines("", f"coupling at K = {study.k} against effect", *lines)


def _plain(found: dict[str, CouplingEffect]) -> dict[str, Any]:
    return {
        name: {
            field: vars(value) if isinstance(value, Estimate) else value
            for field, value in vars(one).items()
            if field not in _OF_PAIRS
        }
        | {"told": one.verdict}
        for name, one in found.items()
    }
