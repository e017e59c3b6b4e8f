"""One prompt over the steps of a training run, as people ask for it in Python.

The command line and the pages say themselves what is missing; here it is a warning.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from coupling_core.analysis.by_step import Course, doubt, steps_told
from coupling_core.base.bars import Bar, telling
from coupling_core.base.callers import warn_caller
from coupling_core.base.errors import InputError
from coupling_core.base.records import FinalNorm, Request
from coupling_core.measuring import stored_steps
from coupling_core.measuring.asked import Prompt, prompt_of, request_for
from coupling_core.measuring.borrowing import Borrower
from coupling_core.measuring.filling import fill
from coupling_core.measuring.front import UNSAID, Shelf, shelf
from coupling_core.measuring.measure import measure
from coupling_core.measuring.origin import seen_at
from coupling_core.sources.suites import DEFAULT_SUITE, Suite, find_suite, require_steps
from coupling_core.store.disk import Store


def measure_steps(
    prompt: Prompt,
    suite: str | Suite = DEFAULT_SUITE,
    steps: int | Iterable[int] | None = None,
    *,
    token: int | None = None,
    k: int | None = None,
    final_norm: FinalNorm = "include",
    dtype: Any = "float32",
    spectra: bool = False,
    keep: bool = False,
    store: Shelf | Any = UNSAID,
    device: Any = None,
    progress: bool = True,
) -> Course:
    """Measure one prompt at the steps of a training run: its blocks, and the paths of its tokens.

        course = measure_steps("The cat sat on the mat", "mini-64", [0, 128, 4000])
        course.to_pandas()
        course.plot("corrected")

    What the store has is read, and all else is measured and stored, as `coupling training` does.
    Steps whose weights are out of reach are left out with a warning that says why.

    Args:
        prompt: a text, or the token ids themselves (token).
        suite: the training run, or its name; `coupling suite list` has them.
        steps: of the optimiser, one or several; None is all that the suite has a checkpoint of.
        token: the token measured, 1..n; -1 is the last, as None is of a text.
        k: how many singular triplets are wanted, 1..d, and the K at which the run is looked at
            where nobody says another: 8 where it is None. At least 50 are measured, or d where that
            is less.
        final_norm: whether the final norm belongs to the last block (paper, Eq. 7).
        dtype: what the weights are rounded to.
        spectra: measure the spectra of the blocks too.
        keep: keep the weights that are fetched from the hub, which are deleted else once they are
            measured.
        store: where results are kept, a `Store` or its folder. By default it is the store of the
            command line.
        device: where to compute, such as "cuda:0"; None takes CUDA where there is one.
        progress: whether a terminal or a notebook shows a bar; where neither is, a line on stderr
            now and then.

    Returns:
        what is then stored of these steps; `missing` are those that were left out.

    Raises:
        InputError: where the suite or a step is unknown, or its models cannot meet the request.
        ComputeError: where no step is stored or can be measured.
    """
    run = find_suite(suite) if isinstance(suite, str) else suite
    said = {"token": token, "k": k, "final_norm": final_norm, "dtype": dtype}
    request = request_for(prompt, None, said)
    wanted = run.steps if steps is None else _listed(run, steps)
    kept = _kept(store)
    if run.caution:
        warn_caller(f"{run.name}: {run.caution}")
    course = stored_steps.collect(run, request, kept, wanted, spectra=spectra)
    bar = Bar(stays=True, shown=progress)
    with telling(len(course.missing), bar, of="step") as advance, Borrower() as borrower:

        @contextmanager
        def watching(step: int) -> Iterator[None]:
            advance(f"{run.name} step {step}", done=0)
            yield
            advance(f"{run.name} step {step}")

        course, _ = fill(
            course,
            kept,
            measure if keep else borrower,
            None if device is None else str(device),
            watching=watching,
            warn=warn_caller,
        )
    if why := doubt(course):
        warn_caller(f"{run.name}: {why}")
    return _seen(course)


def collect(
    suite: str | Suite,
    request: Request | Prompt,
    store: Shelf | Any = UNSAID,
    steps: Iterable[int] | None = None,
    *,
    spectra: bool = False,
) -> Course:
    """Bring together what is stored of a request over the steps of a training run.

    Nothing is measured; a warning says which steps are not stored. `measure_steps` measures them.

    Args:
        suite: the training run, or its name.
        request: a prompt, as `measure_steps` has it, or a depth-wise request, whose model and
            revision are replaced by those of each step.
        store: where results are kept, a `Store` or its folder. By default it is the store of the
            command line.
        steps: those to look at; None is all steps of the suite.
        spectra: whether those of the blocks belong to it.

    Raises:
        InputError: where the suite or a step is unknown, or K exceeds the width of its models.
    """
    run = find_suite(suite) if isinstance(suite, str) else suite
    chosen = None if steps is None else _listed(run, steps)
    asked = request if isinstance(request, Request) else Request(prompt_of(request))
    course = stored_steps.collect(run, asked, _kept(store), chosen, spectra=spectra)
    if missing := course.missing:
        warn_caller(
            f"of the {len(course.steps)} steps of {run.name} asked for, {len(missing)} are not "
            f"stored in full ({steps_told(missing)}): measure_steps(...) measures them"
        )
    return _seen(course)


def _seen(course: Course) -> Course:
    """The same, each step looked at with the K of the whole where nobody says another."""
    k = course.default_k
    return replace(course, depth={step: seen_at(of, k) for step, of in course.depth.items()})


def _listed(run: Suite, steps: int | Iterable[int]) -> tuple[int, ...]:
    """The steps that somebody names, rising."""
    return require_steps(run, [steps] if isinstance(steps, int) else steps)


def _kept(store: Any) -> Store:
    """Where the steps of a run are kept."""
    if (kept := shelf(store)) is None:
        raise InputError("the steps of a training run are read from a store: give one, or leave it")
    return kept
