"""The lane in which visitors' own models train, in a process of its own beside the worker's."""

from functools import partial

from coupling_core.base.errors import InputError
from coupling_core.base.settings import settings
from coupling_core.experiments.own.lesson import learn
from coupling_core.experiments.own.plans import OwnPlan
from coupling_core.measuring.worker import Worker
from coupling_core.serving.lane import Lane
from coupling_core.sources import hub
from coupling_core.sources.suites import suites
from explorer.server import backend
from explorer.server.single import Single

WAITING = 4
"""Models that may wait to be trained: each takes a minute or two."""
MOST = 50
"""Of one's own that are kept on the disk of an app that others use."""

worker = Worker(modules=("coupling_core.experiments.own.training",))
lane = Single(lambda: Lane(WAITING))


def may_train() -> bool:
    """Whether whoever runs the app lets models be trained in it."""
    return settings().training and not settings().read_only


def names() -> list[str]:
    """Models of one's own, the latest first: those that train, then those that are suites."""
    known = suites()
    under_way = [name for name in reversed(lane().names()) if name not in known]
    done = {suite.name: suite.repo for suite in known.values() if suite.is_watched}
    return [*under_way, *sorted(done, key=lambda name: _made(done[name]), reverse=True)]


def train(plan: OwnPlan, prompt: str, device: str | None, owner: str) -> None:
    """Have a model trained."""
    if not may_train():
        raise InputError("no models are trained here")
    plan.require_free()
    if len(names()) >= MOST:
        raise InputError(f"{MOST} models of one's own are kept here: delete some first")
    work = partial(learn, plan, prompt, backend.store(), device)
    lane().submit(plan.name, lambda tell: worker.call(work, progress=tell), owner)


def _made(repo: str) -> float:
    """When a suite was made, in seconds since 1970; 0 where it has just gone."""
    try:
        return (hub.cache.repository(repo) / hub.cache.WATCHED).stat().st_mtime
    except OSError:
        return 0.0
