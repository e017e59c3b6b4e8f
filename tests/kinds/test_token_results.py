"""Comparisons of tokens as results: measured, stored, partial, cancelled; means by brute force."""

from dataclasses import replace

import numpy as np
import pytest
import tiny

from coupling_core import DEFINITIONS, Cancelled, InputError, Request, Store, View, measure
from coupling_core.analysis.locality import by_distance
from coupling_core.analysis.scores import score_by_k
from coupling_core.analysis.token_scores import score_positions
from coupling_core.base.results import TokensResult
from coupling_core.engine import reference
from coupling_core.engine.jacobians import between_tokens
from coupling_core.engine.jacobians.decode import read
from coupling_core.engine.pairs.token_coupling import kept_corner
from coupling_core.measuring.measure import find_stored
from coupling_core.sources.resolved import resolve

IDS = (5, 17, 42, 8, 17)
N, L, K, FIXED = len(IDS), 4, 5, 4
MODES = ("self", "fixed-input", "fixed-output")
ALLOWED = {"self": range(N), "fixed-input": range(FIXED - 1, N), "fixed-output": range(FIXED)}


def asked(mode, **changes):
    token = {} if mode == "self" else {"token": FIXED}
    return Request(IDS, **{"kind": mode, "k": K, "k_view": 3} | token | changes)


@pytest.fixture(scope="module")
def model():
    return tiny.model("llama")


@pytest.fixture(scope="module")
def pairs(model):
    return {m: measure(asked(m, block=1, other_block=3), model=model) for m in MODES}


@pytest.fixture(scope="module")
def means(model):
    return {mode: measure(asked(mode), model=model) for mode in MODES}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return Store(tmp_path_factory.mktemp("store"), gallery=tmp_path_factory.mktemp("none"))


@pytest.fixture(scope="module")
def svds(model):
    """Each Jacobian by (block, position) with its full SVD."""
    return {
        mode: {at: (J, *np.linalg.svd(J)) for at, J in jacobians(model, mode).items()}
        for mode in MODES
    }


def jacobians(model, mode):
    """All of them by (block, position), from 0, with the final norm in the last block."""
    reader, every = read(model, list(IDS)), range(1, N + 1)
    blocks = range(1, L + 1)
    if mode == "fixed-output":
        return {
            (block, at): J.numpy()
            for block, found in enumerate(between_tokens.output_jacobians(reader, blocks, FIXED))
            for at, J in enumerate(found)
        }
    found = (
        between_tokens.input_jacobians(reader, blocks, FIXED, every)
        if mode == "fixed-input"
        else between_tokens.self_jacobians(reader, blocks, every)
    )
    return {(b, t - 1): J.numpy() for t, of_token in found for b, J in enumerate(of_token)}


def brute_force(svds, k, definition, role):
    """Means over all pairs of Jacobians but a Jacobian with itself, and how many they are."""
    total, count = np.zeros((N, N)), np.zeros((N, N), int)
    for (block, row), (J, _, own, _) in svds.items():
        for (other, column), (_, U, s, Vh) in svds.items():
            ranks = [int((each > 1e-5).sum()) for each in (own, s)]
            if (block, row) == (other, column) or min(ranks) < k:
                continue
            u, v = U[:, :k], Vh[:k].T
            A = reference.coupling_matrix(J, *((u, v) if role == "A" else (v, u)))
            total[row, column] += reference.score(A, own[:k], definition)
            count[row, column] += 1
    return np.where(count, total / np.maximum(count, 1), np.nan), count


@pytest.mark.parametrize("mode", MODES)
def test_means_are_those_of_a_double_loop(svds, means, mode):
    result = means[mode]
    for definition, role in (*((name, "A") for name in DEFINITIONS), ("paper", "B")):
        expected, count = brute_force(svds[mode], K, definition, role)
        found = score_positions(result, View(k=K, definition=definition, role=role))
        assert found.coupling == pytest.approx(expected, abs=2e-4, nan_ok=True), definition
        weighed = np.nansum(expected * count) / count.sum()  # every pair of Jacobians alike
        assert found.mean().coupling == pytest.approx(weighed, abs=2e-4), definition
        has_score = ~np.isnan(found.corrected).all(1)
        assert list(np.flatnonzero(has_score)) == list(ALLOWED[mode])
    np.testing.assert_array_equal(result.pairs[..., list(result.k_grid).index(K)], count)


@pytest.mark.parametrize("definition", [d for d, each in DEFINITIONS.items() if each.floor])
def test_mean_floors_and_corrected_scores_are_means_over_the_same_pairs(svds, means, definition):
    s = {at: values for at, (_, _, values, _) in svds["self"].items()}
    floor = {}
    for at, (J, *_) in svds["self"].items():
        expected = np.sqrt((s[at][:K] ** 2).sum() + (K * np.linalg.norm(J) / len(J)) ** 2)
        norm = np.linalg.norm(s[at][:K], 1 if definition == "paper" else 2)
        shared = (K * np.linalg.norm(J) / len(J)) ** 2 / (s[at][:K] ** 2).sum()
        closed = {"alignment": 0.0, "overlap": shared}
        floor[at] = closed.get(definition, 1 - expected / norm)
    scores = score_positions(means["self"], View(k=K, definition=definition))
    of_row = [np.mean([floor[block, 2] for block in range(L)])] * N
    assert scores.chance[2] == pytest.approx(np.array(of_row), abs=1e-5)
    above = np.zeros((L, L))
    for block, other in np.ndindex(L, L):
        _, U, _, Vh = svds["self"][other, 4]
        A = reference.coupling_matrix(svds["self"][block, 2][0], U[:, :K], Vh[:K].T)
        raw = reference.score(A, s[block, 2][:K], definition)
        above[block, other] = (raw - floor[block, 2]) / (1 - floor[block, 2])
    assert scores.corrected[2, 4] == pytest.approx(above.mean(), abs=2e-4)


@pytest.mark.parametrize("mode", MODES)
def test_a_pair_of_blocks_is_what_the_stages_give(svds, pairs, mode):
    result, expected = pairs[mode], svds[mode]
    first, *_, last = ALLOWED[mode]
    assert isinstance(result, TokensResult)
    assert (result.blocks, result.block_count, result.width) == ((1, 3), L, 32)
    assert list(np.flatnonzero(result.allowed)) == list(ALLOWED[mode])
    J, _, s, _ = expected[0, last]
    assert result.singular_values[0, last, :8] == pytest.approx(s[:8], rel=1e-4)
    _, U, _, Vh = expected[2, first]
    A = U[:, :3].T @ J @ Vh[:3].T
    found = result.matrix(last + 1, first + 1)
    assert np.abs(found) == pytest.approx(np.abs(A), abs=2e-3 * float(s[0]))
    assert (result.certified, result.complete) == (True, True)


def test_a_jacobian_with_itself_scores_exactly_one(model):
    result = measure(asked("self", block=2, k=1), model=model)
    for definition, k in ((name, k) for name in DEFINITIONS for k in (2, 10)):
        found = score_positions(result, View(k=k, definition=definition))
        itself = np.diag(found.coupling)
        np.testing.assert_allclose(itself, 1, rtol=0, atol=1e-12, err_msg=definition)
        assert found.against_itself().trace() == N


def test_the_mean_of_a_bidirectional_model_allows_every_pair():
    result = measure(asked("fixed-output"), model=tiny.model("bert"))
    assert result.allowed.all()
    assert not np.isnan(score_positions(result, View(k=K)).coupling).any()


def test_a_larger_corner_is_measured_anew(folder, store):
    request = Request("The cat", model=str(folder), kind="self", block=1, k=K, k_view=2)
    small, large = measure(request, store), measure(replace(request, k_view=4), store)
    assert (small.k_view, large.k_view) == (2, 4)
    assert measure(request, store).key == small.key


def test_blocks_and_tokens_count_from_the_end(model):
    last = measure(asked("fixed-output", block=-1, other_block=-3, token=-1), model=model)
    assert (last.blocks, last.token) == ((4, 2), N)
    norm = measure(asked("fixed-output", block=4, token=-1, final_norm="exclude"), model=model)
    assert not np.allclose(last.singular_values[0], norm.singular_values[0], rtol=1e-2)


@pytest.mark.parametrize("block", [1, None])
def test_it_stops_at_any_position_and_what_was_done_is_told(model, block):
    seen = []

    def stop(progress):
        seen.append(progress)
        if progress.partial is not None and progress.done == 3:
            raise Cancelled("enough")

    with pytest.raises(Cancelled):
        measure(asked("self", block=block), model=model, progress=stop)
    partial = seen[-1].partial
    assert (seen[-1].done, seen[-1].total) == (3, N)
    assert not partial.complete

    found = score_positions(partial, View(k=K)).coupling
    assert not np.isnan(found[:3, :3]).any()
    assert np.isnan(found[3:]).all()


def test_parts_at_a_time_give_the_same_numbers(model, pairs, means, monkeypatch):
    monkeypatch.setattr("coupling_core.engine.pairs.token_coupling.BATCHES", 2)
    monkeypatch.setattr("coupling_core.engine.pairs.token_means.AT_ONCE", 3)
    batched = measure(asked("self", block=1, other_block=3), model=model)
    for name in ("diagonal", "off_diagonal"):
        found, whole = getattr(batched, name), getattr(pairs["self"], name)
        np.testing.assert_allclose(found, whole, rtol=1e-4, atol=1e-5)
    chunked = measure(asked("self"), model=model)
    np.testing.assert_array_equal(chunked.pairs, means["self"].pairs)
    np.testing.assert_allclose(chunked.corrected, means["self"].corrected, atol=1e-5)


def test_a_zero_jacobian_has_no_pairs_in_a_mean():
    longer = replace(asked("fixed-output", token=6), prompt=(*IDS, 99, 3))
    means = measure(longer, model=tiny.model("mistral"))
    assert means.allowed[:6].all()
    assert (means.pairs[0] == 0).all()
    assert np.isnan(score_positions(means, View(k=K)).coupling[0]).all()


def test_means_are_kept_at_some_k_and_at_p_one(means):
    result = means["self"]
    assert list(result.k_grid) == [1, 2, 3, 5, 7, 10, 15, 20, 25, 30, 32]
    for view in (View(k=4), View(k=5, p=2)):
        with pytest.raises(InputError):
            score_positions(result, view)
    score_positions(result, View(k=5, definition="page", p=2))


def test_a_pair_has_its_score_at_every_k(pairs):
    result = pairs["fixed-output"]
    raw, floor = score_by_k(result, 2, 3, View())
    assert len(raw) == result.k_max
    for k in (1, 5, 9):
        found = score_positions(result, View(k=k))
        cell = found.coupling[1, 2], found.chance[1, 2]
        assert (raw[k - 1], floor[k - 1]) == pytest.approx(cell)
    rank = int(min(result.rank[0, 1], result.rank[1, 2]))
    np.testing.assert_array_equal(np.isnan(raw), np.arange(len(raw)) >= rank)


def test_scores_by_distance(pairs, model):
    found = score_positions(pairs["self"], View(k=K))
    by = by_distance(found)
    assert list(by.distance) == list(range(N))
    assert list(by.pairs) == [N, *(2 * (N - d) for d in range(1, N))]
    two = [*np.diag(found.corrected, 2), *np.diag(found.corrected, -2)]
    assert (by.mean[2], by.spread[2]) == pytest.approx((np.mean(two), np.std(two)))
    assert (by.low[2], by.high[2]) == (min(two), max(two))
    same = by_distance(score_positions(measure(asked("self", block=2), model=model), View(k=K)))
    assert list(same.distance) == list(range(1, N))  # a Jacobian with itself enters no mean


def test_the_kept_corner_shrinks_with_the_prompt():
    for n, side in {1: 16, 64: 16, 65: 15, 128: 8, 256: 4}.items():
        assert kept_corner(n, 16) == side
        assert 2 * 2 * n * n * side**2 <= 4 << 20


@pytest.mark.parametrize(
    ("mode", "blocks"),
    [("self", {"block": 2}), ("fixed-input", {"block": 1, "other_block": 3}), ("fixed-output", {})],
)
def test_what_may_be_rounding_is_measured_again_if_nobody_looked(folder, store, mode, blocks):
    request = asked(mode, model=str(folder), **blocks)
    result = measure(request, store)
    assert not result.faint
    s = result.singular_values.copy()
    s[0, FIXED - 1] *= 1e-7
    faint = replace(result, singular_values=s)
    assert faint.faint == (mode != "self")
    unaware = dict(result.provenance) | {"ways": {"one token over a cache": 4}}
    for stored in (faint, replace(faint, provenance=unaware)):
        store.remove(result.key)
        store.put(stored)
        is_believed = mode == "self" or stored is faint
        assert (find_stored(resolve(request), store) is not None) == is_believed
