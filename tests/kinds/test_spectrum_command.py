"""`coupling spectrum`, run as people run it, on tiny models; and the results behind it."""

from dataclasses import replace

import numpy as np
import pytest
from cases import spectrum_result

import coupling_core as cc
from coupling_core import figures
from coupling_core.store.archive import decode, encode

PROMPT = "The cat sat on the mat"
OF_ALL_BLOCKS = ("exponents", "product_values", "shuffled_values")


@pytest.fixture(scope="module")
def result(folder, tmp_path_factory):
    store = cc.Store(tmp_path_factory.mktemp("store"))
    return cc.measure(cc.Request(PROMPT, model=str(folder), kind="spectrum"), store)


@pytest.fixture(scope="module")
def maps(result, folder):
    """M = I + J of every block, from the Jacobians themselves."""
    blocks = range(1, result.n_blocks + 1)
    found = [cc.jacobian(str(folder), PROMPT, block=block).J for block in blocks]
    return [np.eye(result.width) + J.astype(np.float64) for J in found]


def test_every_number_is_that_of_the_blocks_own_jacobians(result, maps):
    assert result.complete
    for at, M in enumerate(maps):
        J = M - np.eye(len(M))
        values = np.linalg.eigvals(M)
        far = np.abs(values[:, None] - result.values[at][None]).min(1)
        assert far.max() < 1e-9
        expected = 1 - (np.abs(values) ** 2).sum() / (M**2).sum()
        assert result.departure[at] == pytest.approx(expected**0.5, rel=1e-9)
        skew, even = np.linalg.norm(J - J.T), np.linalg.norm(J + J.T)
        assert result.asymmetry[at] == pytest.approx(skew / even, rel=1e-9)
        U, s, Vh = np.linalg.svd(J)
        k = result.u_dot_v.shape[1]
        np.testing.assert_allclose(result.singular_values[at], s[:k], rtol=1e-4)
        apart = np.diff(-s[: k + 1]) > 1e-3 * s[0]
        sure = np.flatnonzero(apart[1 : k - 1] & apart[: k - 2]) + 1
        told = (U * Vh.T).sum(0)
        np.testing.assert_allclose(result.u_dot_v[at][sure], told[sure], atol=1e-3)


def test_products_go_through_the_blocks_in_their_order(result, maps):
    P = np.eye(result.width)
    for at, M in enumerate(maps):
        P = M @ P
        s = np.linalg.svd(P, compute_uv=False)
        found, wanted = result.product_values[at], s / np.linalg.norm(s)
        np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-12)
    told = result.exponents.sum() * result.n_blocks
    assert told == pytest.approx(sum(np.linalg.slogdet(M)[1] for M in maps), rel=1e-6)
    told = cc.participation_ratio(result.product_values)
    np.testing.assert_allclose(told, result.participation[0], rtol=1e-9)


def test_token_final_norm_and_weights_are_those_that_were_asked_for(folder, result):
    other, without, twin = (
        cc.measure(cc.Request(PROMPT, model=str(folder), kind="spectrum", **changes), None)
        for changes in ({"token": 2}, {"final_norm": "exclude"}, {"untrained": 0})
    )
    assert (other.token, result.token) == (2, 6)
    assert not np.allclose(other.values, result.values)
    assert not np.allclose(twin.departure, result.departure)
    np.testing.assert_array_equal(without.values[:-1], result.values[:-1])
    assert not np.allclose(without.values[-1], result.values[-1])


def test_eigenvalues_of_a_defective_map_are_never_called_certain():
    clear = spectrum_result()
    assert clear.certain.all()
    condition = clear.condition.copy()
    condition[1:3] = [[np.inf], [1e9]]
    doubtful = replace(clear, condition=condition)
    np.testing.assert_array_equal(decode(encode(doubtful)).condition, condition)
    assert doubtful.certain.all(1).tolist() == [True, False, False, True, True]
    assert doubtful.to_pandas().certain_share.tolist() == [1, 0, 0, 1, 1]
    figure = doubtful.plot().figure
    named = {trace.name: len(trace.x) for trace in figure.data if trace.name}
    assert named["certain"] == 3 * clear.width
    assert named["may be off by more than 1\u00a0%"] == 2 * clear.width


def test_one_block_is_drawn_alone_and_a_partial_result_as_far_as_it_is_known():
    whole = spectrum_result()
    points = next(t for t in figures.eigenvalues(whole, 2).data if t.name == "certain")
    assert {row[0] for row in points.customdata} == {2}
    with pytest.raises(cc.InputError, match="block"):
        figures.eigenvalues(whole, 99)
    arrays = {name: getattr(whole, name).copy() for name in ("eigenvalues", "condition")}
    arrays |= {name: getattr(whole, name) * np.nan for name in OF_ALL_BLOCKS}
    for name in ("eigenvalues", "condition"):
        arrays[name][2:] = np.nan
    partial = replace(whole, **arrays)
    assert not partial.complete
    assert partial.verdict.startswith("Not all is measured yet")
    assert "not complete" in repr(partial)
    for name in ("eigenvalues", "maps", "products"):
        assert partial.plot(name).figure.layout.meta["alt"]
