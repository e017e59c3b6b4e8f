"""A job under way: where it stands, what it has so far, and a way to stop it."""

from collections.abc import Callable, Iterable, Sequence

import streamlit as st

from coupling_core.base.results import Progress, Result
from coupling_core.base.units import counted, duration, size
from coupling_core.serving.jobs import JobStatus
from coupling_core.serving.lists import Prompts
from explorer.asking.queue import is_active, queue
from explorer.session.plain_errors import plain_errors
from explorer.session.plain_text import plain
from explorer.session.session import change

EVERY = 0.5
"""Seconds between two looks at the job."""

ANEW = 8
"""Further prompts of a list after which the page shows what they come to."""

_COUNTED = {
    "blocks": "Block",
    "tokens": "Token",
    "rows": "Comparing token",
    "edits": "Edit",
    "products": "Product",
    "noise": "Noise",
    "training": "Step",
}
"""What is counted in each stage that counts."""


def watch(
    key: str, draw_partial: Callable[[Result], None], *, who: str = "", and_then: str = ""
) -> None:
    """Follow a job until it ends, then draw the whole page anew.

    The worker never touches the page: this fragment looks at the job's status time and again, so
    that a refresh or a closed tab costs nothing. Of a list of prompts the page is drawn anew each
    time that some more of them are there.

    Args:
        key: of the job.
        draw_partial: draws what the job has so far.
        who: is measured, where a page may be about another one.
        and_then: the job of the untrained twin, which comes next and is cancelled with it; "" of
            none.
    """
    suffix = "; then the untrained twin, about as long" * bool(and_then)
    seen = _prompts_done(queue().status(key))

    @st.fragment(run_every=EVERY)
    def follow() -> None:
        status = queue().status(key)
        if not is_active(status) or not queue().waits(key):
            st.rerun()
        if _prompts_done(status) >= seen + ANEW:
            st.rerun()
        done, text = where(status)
        st.progress(done, _of(who, text) + suffix)
        name = f"cancel@{hash(key)}"  # which others' widgets have too
        jobs = (key, and_then) if and_then else (key,)
        st.button("Cancel", on_click=stop, args=jobs, icon=":material/stop:", key=name)
        if status.owners > 1:
            st.caption(f"{status.owners} sessions wait for this; it is computed once.")
        if status.progress and status.progress.partial:
            with plain_errors():
                draw_partial(status.progress.partial)

    follow()


def _prompts_done(status: JobStatus | None) -> int:
    """How many prompts of a list are measured; 0 where the job is none of a list."""
    return status.prompts.done if status and status.prompts else 0


def stop(*keys: str) -> None:
    """Stop waiting for jobs; for the callback of a button."""
    for key in keys:
        queue().leave(key)
    change()


def left(keys: Iterable[str]) -> list[str]:
    """Which jobs are under way, as long as this session waits for them."""
    return [key for key in keys if is_active(queue().status(key)) and queue().waits(key)]


def show_progress(waiting: Sequence[str], of: int, who: str = "") -> None:
    """Show how far several jobs are, with that of them which runs or comes next."""
    active = [one for key in waiting if is_active(one := queue().status(key))]
    first = min(active, key=lambda one: one.place, default=None)
    far, told = where(first) if first else (0.0, "")
    ended = of - len(waiting)
    if of > 1:
        told = f"{ended} of {of} measured" + f": {told}" * bool(told)
    st.progress((ended + far) / of, _of(who, told))


def _of(who: str, text: str) -> str:
    """Where a job stands, of whom that is said."""
    return f"{who}: {text[:1].lower()}{text[1:]}" if who else text


def loads(status: JobStatus) -> bool:
    """Whether a job is at a step that has no way out: reading weights from the disk."""
    stage = status.progress.stage if status.progress else "loading"
    return status.state == "running" and stage in ("converting", "loading")


def tell_queue() -> None:
    """Say which jobs are ahead of one that is asked for now; nothing where none is."""
    if ahead := queue().active():
        verb = "is" if len(ahead) == 1 else "are"
        st.caption(f"{counted(len(ahead), 'job')} {verb} ahead in the queue{_time_of(ahead)}.")


def _time_of(ahead: Sequence[JobStatus]) -> str:
    """What jobs still take, by how fast those that run have gone on; "" where nothing tells."""
    left = [_left(status) for status in ahead]
    known = [seconds for seconds in left if seconds is not None]
    if not known:
        return ""
    verb = "takes" if len(ahead) == 1 else "take"
    least = "at least " if len(known) < len(left) else ""
    return f" ({verb} {least}about {duration(sum(known))} more)"


def _left(status: JobStatus) -> float | None:
    if status.prompts and status.prompts.left is not None:
        return status.prompts.left
    progress = status.progress
    if status.prompts or progress is None or not progress.done:
        return None
    return status.seconds * (progress.total / progress.done - 1)


def where(status: JobStatus) -> tuple[float, str]:
    """Fraction done, and where a job stands in words."""
    if status.state == "queued":
        time = _time_of(queue().active()[: status.place])
        return 0.0, f"Queued, number {status.place} in line{time}"
    if status.prompts and status.prompts.left is not None:
        return _of_list(status.prompts, status.progress)
    done, text = _of_one(status)
    if status.prompts:  # none of them was measured yet
        return 0.0, f"Prompt {status.prompts.done + 1} of {status.prompts.total}: {text}"
    return done, text


def _of_list(prompts: Prompts, progress: Progress | None) -> tuple[float, str]:
    """Of a list of prompts, how long the rest takes."""
    within = progress.done / progress.total if progress and progress.total else 0.0
    done = min(prompts.done + within, prompts.total) / prompts.total
    at = f"Prompt {min(prompts.done + 1, prompts.total)} of {prompts.total}"
    return done, f"{at}, about {duration(prompts.left or 0.0)} left"


def _of_one(status: JobStatus) -> tuple[float, str]:
    so_far = duration(status.seconds)
    progress = status.progress
    if progress and progress.stage == "converting":
        return 0.0, f"{plain(progress.note)}; {so_far} so far"
    if progress is None or loads(status):
        return 0.0, f"Loading the model, {so_far}"
    if progress.stage == "downloading":
        arrived = f"{size(progress.done)} of {size(progress.total)}"
        return progress.done / max(progress.total, 1), f"Downloading the model, {arrived}, {so_far}"
    if progress.stage == "tracing":
        return 0.0, f"Running the prompt through the model, {so_far}"
    if progress.stage == "saving":
        return 1.0, "Saving the result"
    what = _COUNTED[progress.stage]
    return progress.done / progress.total, f"{what} {progress.done} of {progress.total}, {so_far}"
