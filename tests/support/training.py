"""A training run with planted results, in a hub cache and a store that a test lays out."""

from dataclasses import replace

import numpy as np
from cases import SCORES, planted, trajectory_result

from coupling_core import Request, Store
from coupling_core.sources.hub import cache
from coupling_core.sources.resolved import resolve
from coupling_core.sources.suites import Suite

SUITE = Suite("tiny", "someone/tiny", "Tiny run", (0, 1, 2, 4))
REQUEST = Request("The cat sat down", k=4)
STRENGTHS = {0: 0.0, 1: 0.5, 4: 1.0}
"""By which `SCORES` off the diagonal are multiplied, by step; step 2 is not measured."""
LOSSES = "step,train,held_out\n0,6.1,6.0\n1,5.5,\n2,5.0,4.9\n4,4.0,4.5\n"


def commit(step):
    return f"{step + 1:040x}"


def lay_out(monkeypatch, root):
    """Make a hub cache that knows every step's commit, and the losses; no weights are there."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(root / "hub"))
    repository = cache.repository(SUITE.repo)
    (repository / "refs").mkdir(parents=True)
    for step in SUITE.steps:
        (repository / "refs" / f"step{step}").write_text(commit(step))
    (repository / "losses.csv").write_text(LOSSES)


def scores(step):
    """The planted scores of a step."""
    return np.where(np.eye(len(SCORES)), 1.0, STRENGTHS[step] * SCORES)


def depth_of(step):
    asked = SUITE.request(REQUEST, step)
    return planted(scores(step), request=asked, identity=resolve(asked).identity)


def paths_of(step, **changes):
    asked = SUITE.request(REQUEST, step).of_kind("trajectory")
    return trajectory_result(seed=step, request=asked, identity=resolve(asked).identity, **changes)


def stored(root):
    """A store with the blocks of steps 0, 1 and 4, and the paths of 0 and 4."""
    store = Store(root / "store", gallery=root / "gallery")
    for result in (*map(depth_of, STRENGTHS), *map(paths_of, (0, 4))):
        store.put(replace(result, key=store.key(result.request, result.identity)))
    return store
