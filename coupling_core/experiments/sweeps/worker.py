"""What a worker does: one measurement, whose result goes to the store that all share."""

import time
import traceback
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from coupling_core.base.errors import ComputeError, InputError, PromptError
from coupling_core.base.records import Request
from coupling_core.base.results import Progress
from coupling_core.measuring.worker import Worker
from coupling_core.store.disk import Store

measure = Worker().measure
"""In a process of its own: where a model ends that, this one goes on, and names it."""


class TookTooLong(ComputeError):
    """A measurement reached its time limit."""


@dataclass(frozen=True)
class Outcome:
    """What came of one measurement.

    Args:
        key: of the result in the store; "" where there is none.
        seconds: of computing, as the result says; 0 where it was stored already.
        busy: seconds for which the worker was at it, all included.
        error: why there is no result, in plain words; "" where there is one.
        trace: the traceback of an error that was not foreseen, or of a failed computation.
        again: whether another try may end better.
        of_prompt: whether the prompt is at fault, so that the model may measure others.
        lost: whether the worker does not see the store, so that all its tries would fail.
    """

    key: str = ""
    seconds: float = 0.0
    busy: float = 0.0
    error: str = ""
    trace: str = ""
    again: bool = False
    of_prompt: bool = False
    lost: bool = False


def work(request: Request, root: str, witness: str, timeout: float) -> Outcome:
    """Measure one thing, and never raise: what fails is told, not thrown.

    Args:
        request: what is asked.
        root: folder of the store.
        witness: a file in it that whoever runs the sweep has written: where it is missing, this
            machine has another folder of that name.
        timeout: seconds after which the measurement is given up at its next step.
    """
    start = time.monotonic()
    if not Path(witness).is_file():
        return Outcome(
            error=f"the worker does not see {witness}: the store must lie on a disk that all "
            "machines of a sweep share (set COUPLING_STORE or --store to such a folder)",
            lost=True,
        )
    computed = False

    def watch(progress: Progress) -> None:
        nonlocal computed
        computed = True
        if time.monotonic() - start > timeout:
            raise TookTooLong(
                f"the measurement took more than {timeout:g} s, and was given up: raise the "
                "sweep's timeout, or choose shorter prompts"
            )

    def after() -> float:
        return time.monotonic() - start

    try:
        result = measure(request, _store(root), progress=watch)
    except (TookTooLong, InputError) as error:
        of_prompt = isinstance(error, PromptError)
        return Outcome(error=str(error), busy=after(), of_prompt=of_prompt)
    except ComputeError as error:
        return Outcome(error=str(error), trace=traceback.format_exc(), busy=after(), again=True)
    except Exception as error:  # a fault of ours must not end a sweep of a thousand others
        told = f"the measurement failed in a way that was not foreseen: {error!r}"
        return Outcome(error=told, trace=traceback.format_exc(), busy=after())
    seconds = float(result.provenance["seconds"]) if computed else 0.0
    return Outcome(result.key, seconds, after())


@lru_cache(maxsize=1)  # it remembers how much was written since it last looked at all results
def _store(root: str) -> Store:
    return Store(Path(root))
