"""Coupling matrices of all pairs against a double loop over the definition."""

import itertools

import numpy as np
import pytest
import tiny
import torch
from cases import planted_jacobians

from coupling_core import Request, View, measure, score_pairs
from coupling_core.base.definitions import sampled_definitions
from coupling_core.base.records import ROLES
from coupling_core.engine import reference
from coupling_core.engine.pairs import products
from coupling_core.engine.pairs.coupling import GROUP, Pairs
from coupling_core.engine.pairs.products import nested, random_frames, sample_chance
from coupling_core.engine.pairs.svd import top_svd

BLOCKS, WIDTH, K, VIEW = 5, 40, 8, 3


@pytest.fixture(scope="module")
def measured():
    jacobians = torch.tensor(planted_jacobians(BLOCKS, WIDTH, 0.5), dtype=torch.float32)
    svds = [top_svd(J, K) for J in jacobians]
    pairs = Pairs(BLOCKS, WIDTH, K, VIEW, torch.device("cpu"))
    for J, svd in zip(jacobians, svds, strict=True):
        pairs.add(J, svd)
    return jacobians.numpy(), svds, pairs


def test_every_pair_is_the_matrix_of_the_definition(measured):
    jacobians, svds, pairs = measured
    fields = pairs.arrays()
    for row, column, role in itertools.product(range(BLOCKS), range(BLOCKS), ROLES):
        u, v = svds[column].u.numpy(), svds[column].v.numpy()
        A = reference.coupling_matrix(jacobians[row], *((u, v) if role == "A" else (v, u)))
        at = ROLES.index(role), row, column
        assert fields["diagonal"][at] == pytest.approx(np.diag(A), abs=1e-5), at
        off = A - np.diag(np.diag(A))
        corners = [np.linalg.norm(off[:k, :k]) ** 2 for k in range(1, K + 1)]
        assert fields["off_diagonal"][at] == pytest.approx(np.array(corners), abs=1e-5), at
        corner = fields["matrices"][at].astype(float) * fields["singular_values"][row, 0]
        assert corner == pytest.approx(A[:VIEW, :VIEW], abs=2e-3), at


def test_the_released_algorithm_gives_the_same_scores():
    model, ids = tiny.model("llama"), [5, 17, 42, 8, 99]
    measured = measure(Request(tuple(ids), k=4), model=model)
    for role, expected in zip(ROLES, reference.released(model, ids, 4), strict=True):
        found = score_pairs(measured, View(k=4, definition="released", role=role)).coupling
        assert np.abs(found - expected).max() <= 1e-5
    states = reference.released_states(model, ids)[:2]
    in_rows = reference.released_jacobian(*states, batch=1)
    torch.testing.assert_close(in_rows, reference.released_jacobian(*states))


def test_a_block_in_its_own_basis_is_diagonal_with_its_singular_values(measured):
    fields = measured[2].arrays()
    for block in range(BLOCKS):
        assert fields["diagonal"][0, block, block] == pytest.approx(
            fields["singular_values"][block], abs=1e-5
        )
        assert fields["off_diagonal"][0, block, block, -1] < 1e-8


def test_blocks_that_have_not_come_yet_are_nan():
    J = torch.tensor(planted_jacobians(GROUP + 2, WIDTH, 0.5), dtype=torch.float32)
    pairs = Pairs(GROUP + 2, WIDTH, K, VIEW, torch.device("cpu"))
    for jacobian in J[: GROUP + 1]:
        pairs.add(jacobian, top_svd(jacobian, K))
    fields = pairs.arrays()
    for name in ("diagonal", "off_diagonal"):
        assert np.isfinite(fields[name][:, : GROUP + 1, :GROUP]).all()
        assert np.isfinite(fields[name][:, GROUP, GROUP]).all()
        assert np.isnan(fields[name][:, :GROUP, GROUP:]).all()
        assert np.isnan(fields[name][:, GROUP + 1]).all()
    assert np.isfinite(fields["singular_values"][GROUP]).all()
    assert np.isnan(fields["singular_values"][GROUP + 1]).all()
    assert len(fields["certificates"]) == GROUP + 1


@pytest.mark.parametrize("definition", sampled_definitions())
def test_the_sampled_chance_floor_agrees_with_many_frames(measured, definition):
    jacobians, svds, pairs = measured
    index = pairs.sampled.index(definition)
    for block in (0, BLOCKS - 1):
        many = reference.chance(jacobians[block], svds[block].s.numpy(), definition, frames=400)
        found = pairs.chance[index, block, -1]
        error = np.hypot(pairs.chance_error[index, block, -1], many.std() / 20)
        assert abs(found - many.mean()) < 4 * error
        assert error < 0.05


def test_the_standard_error_of_a_floor_is_that_of_a_mean_over_a_sample_of_frames():
    J = torch.tensor(planted_jacobians(1, 12, 0.5)[0], dtype=torch.float32)
    frames = random_frames(12, 3, 4, torch.device("cpu"))
    mean, error = sample_chance(J, top_svd(J, 3).s.numpy(), frames, ["preprint"])
    right, left = frames.double().numpy()
    A = [u @ J.double().numpy() @ v.T for u, v in zip(left, right, strict=True)]
    scores = [1 - np.linalg.norm(a - np.diag(np.diag(a))) / np.linalg.norm(a) for a in A]
    assert mean[0, -1] == pytest.approx(np.mean(scores), abs=1e-5)
    assert error[0, -1] == pytest.approx(np.std(scores, ddof=1) / np.sqrt(4), rel=1e-3)


def test_random_frames_are_orthonormal_and_uniform():
    frames, others = random_frames(12, 3, 4000, torch.device("cpu")).mT
    eye = torch.eye(3)
    assert (frames.mT @ frames - eye).abs().max() < 1e-5
    assert not torch.equal(frames, others)
    # Uniform: every entry has mean 0 and variance 1/d, the sign of the first entry included.
    assert frames.mean(0).abs().max() < 4 / np.sqrt(12 * 4000)
    assert (frames.square().mean(0) * 12 - 1).abs().max() < 0.15


def test_nested_corners_count_each_entry_once():
    matrix = torch.arange(9.0).reshape(1, 3, 3)
    diagonal, off = nested(matrix)
    assert diagonal[0].tolist() == [0, 4, 8]
    assert off[0].tolist() == [0, 1 + 9, 1 + 9 + 4 + 25 + 36 + 49]


def test_principal_angles_are_those_between_the_subspaces(measured):
    _, svds, pairs = measured
    angles = pairs.angles()
    for side, name in enumerate(("u", "v")):
        P, Q = getattr(svds[1], name).numpy(), getattr(svds[3], name).numpy()
        cosines = np.linalg.svd(P.T @ Q, compute_uv=False).clip(0, 1)
        assert angles[side, -1, 1, 3, :K] == pytest.approx(np.degrees(np.arccos(cosines)), abs=0.1)
        assert angles[side, -1, 1, 3] == pytest.approx(angles[side, -1, 3, 1])


def test_jacobians_that_do_not_fit_in_memory_give_the_same_numbers(measured, monkeypatch):
    monkeypatch.setattr("coupling_core.engine.pairs.square.IN_MEMORY", 0)
    pairs = Pairs(BLOCKS, WIDTH, K, VIEW, torch.device("cpu"))
    for J, svd in zip(measured[0], measured[1], strict=True):
        pairs.add(torch.from_numpy(J), svd)
    assert np.array_equal(pairs.diagonal, measured[2].diagonal)
    assert np.array_equal(pairs.off_diagonal, measured[2].off_diagonal)


def test_squares_that_are_taken_in_parts_are_the_same_to_the_bit(monkeypatch):
    for shape in ((2, 7, 9), (11,), (2, 0, 5)):
        matrices = torch.randn(*shape, shape[-1], generator=torch.Generator().manual_seed(0))
        monkeypatch.setattr(products, "SQUARES", 10**9)
        whole = products.nested(matrices)
        for at_once in (1, 100):
            monkeypatch.setattr(products, "SQUARES", at_once)
            for expected, found in zip(whole, products.nested(matrices), strict=True):
                np.testing.assert_array_equal(found, expected)
