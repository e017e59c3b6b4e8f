"""The real default model, SmolLM2-135M: accuracy, certificates, and what trained blocks show."""

import copy

import numpy as np
import pytest
import torch
from checks import relative

from coupling_core import Request, View, mean_off_diagonal, measure, score_pairs
from coupling_core.base.definitions import DEFINITIONS
from coupling_core.base.records import ROLES
from coupling_core.engine import reference
from coupling_core.engine.jacobians import true_float64
from coupling_core.engine.jacobians.derivative_check import check_derivative
from coupling_core.engine.jacobians.same_token import block_jacobian
from coupling_core.engine.jacobians.trace import trace
from coupling_core.engine.pairs.svd import DELTA, certify
from coupling_core.measuring.compat import KS, run_coupling_hf

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("one_thread")]

PROMPT = "What is the capital of France? The capital is"
REQUEST = Request(PROMPT)

FLOAT32_ERROR = {
    "paper": 1e-6,
    "released": 2e-6,  # divided by the 2-norm of s, three to seven times smaller than the 1-norm
    "page": 2e-6,
    "alignment": 2e-6,
    "preprint": 2e-5,  # divided by norm(A), which is small where two blocks are not coupled
}


@pytest.fixture(scope="module")
def double(loaded):
    """The model, the traced blocks and all Jacobians in true float64."""
    model = copy.deepcopy(loaded.model).double()
    ids = loaded.encode(PROMPT)
    with true_float64.TrueFloat64():
        traced = trace(model, ids, len(ids))
        jacobians = [
            block_jacobian(block, traced.kind.final_norm if block.number == 30 else None)
            for block in traced.blocks
        ]
    return model, ids, traced, jacobians


def test_the_first_of_all_tokens_alone_is_differentiated(loaded):
    """Its states become a hundred times larger in a few blocks, which are as curved as that."""
    for block in trace(loaded.model, [1], 1).blocks:
        assert check_derivative(block, block_jacobian(block)) < 0.02


@pytest.fixture(scope="module")
def svds(double):
    return [np.linalg.svd(J.numpy()) for J in double[3]]


@pytest.mark.parametrize("block", [1, 15, 30])
def test_one_token_agrees_with_the_full_sequence_definition(double, block):
    model, ids, traced, jacobians = double
    norm = traced.kind.final_norm if block == 30 else None
    with true_float64.TrueFloat64():
        expected = reference.block_jacobian(model, ids, block, len(ids), len(ids), norm)
    assert expected.dtype == torch.float64
    assert relative(jacobians[block - 1], expected) <= 1e-9


@pytest.mark.parametrize("definition", DEFINITIONS)
@pytest.mark.parametrize("k", [10, 30, 50])
def test_float32_scores_agree_with_float64(trained, double, svds, k, definition):
    jacobians = [J.numpy() for J in double[3]]
    expected = np.array(
        [
            [
                reference.score(reference.coupling_matrix(J, U[:, :k], Vh[:k].T), s[:k], definition)
                for U, _, Vh in svds
            ]
            for J, (_, s, _) in zip(jacobians, svds, strict=True)
        ]
    )
    found = score_pairs(trained, View(k=k, definition=definition)).coupling
    assert np.abs(found - expected).max() <= FLOAT32_ERROR[definition]


def test_every_svd_is_certified(trained, untrained):
    for result in (trained, untrained):
        assert len(result.certificates) == 30
        assert result.certified, [c.reason for c in result.certificates]


@pytest.fixture(scope="module")
def real_block(double):
    """A Jacobian of the middle of the model in float32, and all its triplets."""
    J = double[3][14].float()
    u, s, vh = torch.linalg.svd(J)
    return J, u, s, vh.T


WRONG = {
    "middle omitted": ([*range(20), *range(21, 51)], "missed"),
    "last omitted": ([*range(49), 50], "missed"),
    "duplicated": ([*range(20), *range(19, 49)], "not orthonormal"),
    "exchanged": ([*range(50)], "residual"),
}


def test_the_right_triplets_of_a_real_block_are_certified(real_block):
    J, u, s, v = real_block
    assert certify(J, u[:, :50], s[:50], v[:, :50], "full").certified


@pytest.mark.parametrize("how", WRONG)
def test_wrong_triplets_of_a_real_block_are_refused(real_block, how):
    J, u, s, v = real_block
    take, reason = WRONG[how]
    if how == "last omitted":
        assert s[49] > s[50] * (1 + 2 * DELTA)
    if how == "exchanged":
        u, v = v, u
    certificate = certify(J, u[:, take], s[take], v[:, take], how)
    assert not certificate.certified
    assert reason in certificate.reason


def test_the_closed_form_of_chance_agrees_with_random_frames_on_a_real_block(double, svds):
    J, s = double[3][14].numpy(), svds[14][1][:50]
    rng = np.random.default_rng(0)
    frames = [[reference.random_frame(576, 50, rng) for _ in "UV"] for _ in range(100)]
    samples = [
        np.linalg.norm(reference.coupling_matrix(J, u, v) - np.diag(s)) ** 2 for u, v in frames
    ]
    expected = np.sum(s**2) + 50**2 * np.linalg.norm(J) ** 2 / 576**2
    error = np.std(samples, ddof=1) / np.sqrt(len(samples))
    assert abs(np.mean(samples) - expected) < 3.5 * error
    assert error < 0.005 * expected


def test_the_model_knows_the_capital_of_france(trained):
    assert trained.next_tokens[0][0] == " Paris"
    assert "".join(trained.tokens) == PROMPT


def test_trained_blocks_are_coupled_above_chance_and_untrained_ones_are_not(trained, untrained):
    view = View(k=50)
    assert mean_off_diagonal(score_pairs(trained, view).corrected) >= 0.03
    assert abs(mean_off_diagonal(score_pairs(untrained, view).corrected)) <= 0.005


@pytest.fixture(scope="module")
def released(loaded):
    """The released algorithm's scores: a minute and a half."""
    return reference.released(loaded.model, loaded.encode(PROMPT), 50)


@pytest.mark.parametrize("role", ROLES)
def test_the_released_algorithm_gives_the_same_scores(released, trained, role):
    found = score_pairs(trained, View(k=50, definition="released", role=role)).coupling
    difference = np.abs(found - released[ROLES.index(role)])
    assert difference.max() <= 1e-5
    assert difference[-1].max() <= 1e-5


def test_the_drop_in_has_the_values_of_the_released_algorithm(released, loaded):
    out = run_coupling_hf(loaded.model, loaded.tokenizer, "smollm2", [PROMPT])
    assert list(out) == [0]
    assert tuple(out[0]["coupling_ujv"]) == tuple(out[0]["coupling_vju"]) == KS
    found = np.stack([out[0][f"coupling_{name}"][50]["norm"] for name in ("ujv", "vju")])
    assert found.shape == (2, 30, 30)
    assert np.abs(found - (1 - released)).max() <= 1e-5


def test_a_model_object_of_ones_own_gives_the_same_numbers(loaded, trained):
    found = measure(REQUEST, model=loaded.model, tokenizer=loaded.tokenizer)
    for definition in DEFINITIONS:
        view = View(k=50, definition=definition)
        assert score_pairs(found, view).coupling == pytest.approx(
            score_pairs(trained, view).coupling, abs=FLOAT32_ERROR[definition]
        )
