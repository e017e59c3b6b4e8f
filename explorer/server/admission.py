"""What this app takes on: every measurement that a session asks for comes through here.

Widgets keep readers within the limits, but a link or a crafted message can ask for anything. So
the limits are held where a job is submitted, whoever asks and by whichever page.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from coupling_core.base.errors import ComputeError, InputError, refuse
from coupling_core.base.images import is_image
from coupling_core.base.kinds import kind_of
from coupling_core.base.records import DEFAULT_K, KBeyondWidth, Request
from coupling_core.base.results import Result
from coupling_core.base.settings import settings
from coupling_core.base.units import counted, duration, size
from coupling_core.measuring.measure import Report, answer
from coupling_core.measuring.worker.asking import SLACK
from coupling_core.serving.jobs import Limits
from coupling_core.sources.resolved import Resolved, resolve
from coupling_core.sources.suites import suites
from coupling_core.store.disk import Entry, Store
from explorer.server import needs
from explorer.server.estimate import Estimate

MOST_PROMPTS = 200
"""Prompts of a list: with more of them the command line is the place."""

MAIN = "main"
"""The branch of the hub that is meant where none is named."""

_PLAIN = {"dtype": Request.dtype, "quantize": Request.quantize, "stack": Request.stack}


def limits() -> Limits:
    """What the queue refuses."""
    found = settings()
    longest = found.longest_seconds
    return Limits(
        found.queue_length,
        found.jobs_per_session,
        found.jobs_per_hour,
        list_seconds=None if longest is None else SLACK * longest,
    )


def is_demo() -> bool:
    """Whether strangers use the app."""
    return settings().mode == "demo"


def is_hosted() -> bool:
    """Whether others use the app than whoever started it."""
    return is_demo() or settings().sign_in is not None


def may_change_store() -> bool:
    """Whether results may be added to the store, or deleted from it, by hand."""
    return not (is_demo() or settings().read_only)


def offered() -> tuple[str, ...] | None:
    """The models that may be asked for here, each once; None where any may."""
    if not is_demo():
        return None
    named = [name.partition("@")[0] for name in settings().models]
    known = suites().values() if settings().training else ()
    own = [suite.repo for suite in known if suite.is_watched]
    return tuple(dict.fromkeys([*named, *own]))


def revisions(model: str) -> tuple[str, ...]:
    """The revisions of an offered model that alone may be asked for; none where all may."""
    named = [name.partition("@") for name in settings().models if is_demo()]
    found = [of for name, _, of in named if name == model]
    return tuple(found) if all(found) else ()


def allowed(model: str, revision: str | None = None) -> bool:
    """Whether a model may be asked for here; without a revision, whether its branch main may."""
    models = offered()
    pinned = revisions(model)
    return models is None or (model in models and (not pinned or (revision or MAIN) in pinned))


def require_offered(request: Request) -> None:
    """Refuse a model, or a form of its weights, that is not offered here.

    Nothing is looked up for such a request, neither on this disk nor on the hub.
    """
    shown = f"{request.model}@{request.revision}" if request.revision else request.model
    refuse(
        (
            not allowed(request.model, request.revision),
            f"{shown!r} is not offered here: choose one of {', '.join(settings().models)}",
        ),
        (
            is_demo() and request != replace(request, **_PLAIN),
            "models are measured here as they are stored: leave out dtype and quant",
        ),
    )


def require(asked: Resolved) -> None:
    """Refuse a measurement that this app does not take on, before anything is done for it."""
    request = asked.request
    require_offered(request)
    found, k = settings(), request.k or DEFAULT_K
    most = found.largest_k if kind_of(request.kind).has_k else None
    refuse(
        (found.read_only, "nothing is computed here: what is stored can be looked at"),
        (
            most is not None and k > most,
            f"K = {k} is more than is measured here: at most {most}; give that",
        ),
    )
    _require_length(asked, found.longest_prompt)


def _require_length(asked: Resolved, longest: int | None) -> None:
    if longest is None:
        return
    prompt = asked.request.prompt
    n = asked.n_tokens
    if isinstance(prompt, str) and not is_image(prompt) and asked.tokens is None:
        n = len(prompt.encode())  # not counted yet: a token has a byte at least
    if n > longest:
        raise InputError(
            f"the prompt has {counted(n, 'token')}, and at most {longest} are taken on here"
        )


def measure_what_fits(
    request: Request,
    store: Store | None = None,
    *,
    device: str | None = None,
    progress: Report | None = None,
) -> Result:
    """Measure as `measure` does, unless the memory would run short, or it would take too long."""
    asked = resolve(request)
    if settings().longest_seconds is not None:
        require_time(asked, device, store.entries() if store else ())
    require_memory(asked, device)
    return answer(asked, store, device=device, progress=progress)


def require_time(asked: Resolved, device: str | None, entries: Iterable[Entry]) -> Estimate | None:
    """Refuse a K beyond the model's width, and what would take longer than is set.

    How long it takes is known by earlier measurements, or the model's shape. It is None where that
    is not known.
    """
    width, k = needs.model_of(asked).width, asked.request.k
    if width and k and k > width and kind_of(asked.request.kind).has_k:
        raise KBeyondWidth(k, width)
    longest = settings().longest_seconds
    found = needs.seconds(asked, device, entries)
    if found is None or longest is None or found.seconds <= longest or not found.is_known:
        return found
    raise InputError(
        f"this would take about {duration(found.seconds)} of computing, and at most "
        f"{duration(longest)} are taken on here: {needs.shorter(asked, longest)}"
    )


def require_list(
    asked: Sequence[Resolved], device: str | None, entries: Iterable[Entry]
) -> tuple[Estimate | None, int]:
    """Refuse a list of prompts of which this app takes on none, one job as it is.

    Gives how long so many of them take as are taken on at a time, None where that is not known, and
    how many they are.
    """
    if len(asked) > MOST_PROMPTS:
        raise InputError(
            f"{len(asked)} prompts are more than are measured at a time: at most {MOST_PROMPTS}; "
            "`coupling depth --prompts` takes any number"
        )
    for one in asked:
        require(one)
    longest, found = settings().longest_seconds, needs.seconds_of_each(asked, device, entries)
    if not found:
        return None, len(asked)
    seconds, taken = 0.0, 0
    for each in found:
        if longest is not None and seconds + each.seconds > longest:
            break
        seconds, taken = seconds + each.seconds, taken + 1
    if not taken:
        require_time(asked[0], device, entries)
    return replace(found[0], seconds=seconds), taken


def require_memory(asked: Resolved, device: str | None) -> None:
    """Refuse what would take the memory that is kept in reserve."""
    model = needs.model_of(asked)
    if model.refusal:
        raise InputError(model.refusal)
    found = needs.memory(asked, device)
    if found.memory.fits:
        needs.give_way(asked, device, found.memory.needed)
        return
    raise ComputeError(
        f"about {size(found.memory.needed)} of memory is needed, and {size(found.memory.free)} "
        f"may be used: {found.remedy}"
    )
