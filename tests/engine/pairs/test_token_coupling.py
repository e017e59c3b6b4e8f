"""Coupling between positions, against a double loop over the definition."""

import itertools

import numpy as np
import pytest
import tiny

from coupling_core import View, measure, score_positions
from coupling_core.base.definitions import DEFINITIONS
from coupling_core.base.records import ROLES
from coupling_core.engine import reference
from coupling_core.engine.jacobians import between_tokens
from coupling_core.engine.jacobians.decode import read

IDS = [5, 17, 42, 17, 3]
N, K, TOKEN = len(IDS), 4, 3
CASES = [("self", None), ("fixed-input", TOKEN), ("fixed-output", TOKEN)]
ALLOWED = {"self": range(N), "fixed-input": range(TOKEN - 1, N), "fixed-output": range(TOKEN)}


@pytest.fixture(scope="module")
def reader():
    return read(tiny.model("llama"), IDS)


def couple(mode, token, family="llama"):
    asked = {} if token is None else {"token": token}
    return measure(
        IDS,
        None,
        model=tiny.model(family),
        kind=mode,
        block=1,
        other_block=3,
        progress=False,
        **asked,
    )


@pytest.fixture(scope="module")
def measured():
    return {mode: couple(mode, token) for mode, token in CASES}


def jacobians(reader, mode, block):
    """By position, from 0."""
    if mode == "fixed-output":
        found = enumerate(next(between_tokens.output_jacobians(reader, [block], TOKEN)), 1)
    elif mode == "fixed-input":
        found = (
            (t, J)
            for t, (J,) in between_tokens.input_jacobians(reader, [block], TOKEN, range(1, N + 1))
        )
    else:
        found = (
            (t, J) for t, (J,) in between_tokens.self_jacobians(reader, [block], range(1, N + 1))
        )
    return {t - 1: J.numpy() for t, J in found}


@pytest.mark.parametrize("mode", ALLOWED)
def test_every_pair_has_the_score_of_the_definition(reader, measured, mode):
    rows, columns = jacobians(reader, mode, 1), jacobians(reader, mode, 3)
    bases = {j: np.linalg.svd(other) for j, other in columns.items()}
    for definition, role in itertools.product(DEFINITIONS, ROLES):
        expected = np.full((N, N), np.nan)
        for i, J in rows.items():
            s = np.linalg.svd(J)[1][:K]
            for j, (U, _, Vh) in bases.items():
                u, v = U[:, :K], Vh[:K].T
                A = reference.coupling_matrix(J, *((u, v) if role == "A" else (v, u)))
                expected[i, j] = reference.score(A, s, definition)
        found = score_positions(measured[mode], View(k=K, definition=definition, role=role))
        assert found.coupling == pytest.approx(expected, abs=2e-4, nan_ok=True), definition
        assert list(np.flatnonzero(~np.isnan(found.coupling[TOKEN - 1]))) == list(ALLOWED[mode])
        assert found.mean().corrected == pytest.approx(np.nanmean(found.corrected))


@pytest.mark.parametrize("definition", DEFINITIONS)
def test_the_floor_is_what_random_frames_score(reader, measured, definition):
    J = jacobians(reader, "fixed-output", 1)[1]
    s = np.linalg.svd(J)[1][:K]
    sampled = reference.chance(J, s, definition, 2000)
    found = score_positions(measured["fixed-output"], View(k=K, definition=definition)).chance[1]
    result = measured["fixed-output"]
    if definition in result.sampled:  # from eight frames
        at = result.sampled.index(definition), 1, K - 1
        error = 4 * float(result.chance_error[at])
    else:  # the root of a mean stands for the mean of a root
        error = 0.01
    assert found == pytest.approx(np.full(N, sampled.mean()), abs=error)


def test_context_jacobians_have_the_rank_of_their_heads():
    # 2 heads of values of width 8, and 4 scores.
    result = couple("fixed-output", 4)
    assert list(result.rank[0]) == [20] * 3 + [32, 0]
    assert result.certified
    at_rank = score_positions(result, View(k=20)).coupling
    above = score_positions(result, View(k=21)).coupling
    assert not np.isnan(at_rank[:4, :4]).any()
    assert list(zip(*np.nonzero(~np.isnan(above)), strict=True)) == [(3, 3)]


def test_a_bidirectional_model_forbids_nothing():
    for mode, token in CASES:
        result = couple(mode, token, "bert")
        assert not np.isnan(score_positions(result, View(k=K)).coupling).any()
