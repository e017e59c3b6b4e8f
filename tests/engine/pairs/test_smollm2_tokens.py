"""Comparisons of tokens in SmolLM2, against full-sequence Jacobians and dense SVDs in float64."""

import copy

import numpy as np
import pytest
import torch

from coupling_core import Request, View, measure, score_positions
from coupling_core.base.records import ROLES
from coupling_core.engine import reference
from coupling_core.engine.jacobians import between_tokens, true_float64
from coupling_core.engine.jacobians.decode import read
from coupling_core.engine.loading import load
from coupling_core.sources.resolved import resolve

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("one_thread")]

PROMPT = "What is the capital of France?"
BLOCKS, FIXED, K = (9, 30), 4, 50
SCORE = 2e-6
"""Float32 scores agree with float64 ones to 4e-7, and to 1.1e-6 where a Jacobian of the last block
is seen in the basis of the first token, whose singular values lie close."""


@pytest.fixture(scope="module")
def model():
    return load(resolve(Request(PROMPT)), "cpu")


@pytest.fixture(scope="module")
def exact(model):
    """J_{t1 t2} of the definition by (block, t1, t2), in true float64, numbered from 1."""
    double, ids = copy.deepcopy(model.model).double(), model.encode(PROMPT)
    found = {}
    with true_float64.TrueFloat64():
        reader = read(double, ids)
        calls = reader.whole
        for block, norm in zip(BLOCKS, (None, reader.kind.final_norm), strict=True):
            for output in range(1, len(ids) + 1):
                every = between_tokens.through_all(calls[block - 1], output, norm)
                for source in range(1, output + 1):
                    if source == output or FIXED in (source, output):
                        found[block, source, output] = every[source - 1].numpy()
    return len(ids), found


@pytest.fixture(scope="module")
def svds(exact):
    """Their dense SVDs, by the same numbers."""
    return {key: torch.linalg.svd(torch.from_numpy(J)) for key, J in exact[1].items()}


def pair(mode, token):
    """The two ends of a token's Jacobian."""
    return {"self": (token, token), "fixed-input": (FIXED, token), "fixed-output": (token, FIXED)}[
        mode
    ]


@pytest.mark.parametrize("other", BLOCKS)
@pytest.mark.parametrize("mode", ["self", "fixed-input", "fixed-output"])
def test_scores_are_those_of_dense_svds(model, exact, svds, mode, other):
    n, jacobians = exact
    token = {} if mode == "self" else {"token": FIXED}
    result = measure(
        Request(
            tuple(model.encode(PROMPT)), kind=mode, block=BLOCKS[0], other_block=other, **token
        ),
        model=model.model,
    )
    rows, columns = (
        {t: key for t in range(1, n + 1) if (key := (block, *pair(mode, t))) in jacobians}
        for block in (BLOCKS[0], other)
    )
    for role in ROLES:
        expected = np.full((n, n), np.nan)
        for row, key in rows.items():
            J, s = jacobians[key], svds[key].S[:K].numpy()
            for column, basis in columns.items():
                U, _, Vh = svds[basis]
                u, v = U[:, :K].numpy(), Vh[:K].T.numpy()
                A = reference.coupling_matrix(J, *((u, v) if role == "A" else (v, u)))
                expected[row - 1, column - 1] = reference.score(A, s, "paper")
        found = score_positions(result, View(k=K, role=role)).coupling
        np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
        np.testing.assert_allclose(found, expected, rtol=0, atol=SCORE)
    if other == BLOCKS[0]:
        itself = np.diag(score_positions(result, View(k=K)).coupling)[result.allowed]
        np.testing.assert_array_equal(itself, 1)
    assert result.certified
