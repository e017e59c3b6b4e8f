"""Products are those of float64 by each library, of any layout; the faster one is chosen, once."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from coupling_core.base.folders import user_cache
from coupling_core.engine import matrix_products
from coupling_core.engine.matrix_products import OTHER, OWN, Choice, FastLinear, choice, product

LAYOUTS = {
    "as it is": lambda t: t,
    "transposed": lambda t: t.T.contiguous().T,
    "every second row": lambda t: t.repeat_interleave(2, 0)[::2],
    "columns of a wider one": lambda t: torch.cat([t, t], 1)[:, t.shape[1] :],
    "one row, repeated": lambda t: t[:1].expand_as(t),
    "one column, repeated": lambda t: t[:, :1].expand_as(t),
}


def random(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(len(shape) + sum(shape)))


A, B = random(150, 130), random(130, 120)


def plant(monkeypatch, library):
    """Let a library have been chosen, or none as yet."""
    threads = torch.get_num_threads()
    chosen = {} if library is None else {threads: Choice(library, {}, threads)}
    monkeypatch.setattr(matrix_products, "_chosen", chosen)


def time_as(monkeypatch, own):
    """Let nothing have been chosen, and torch's own library take so long beside the other."""
    plant(monkeypatch, None)
    monkeypatch.setattr(matrix_products, "_time", lambda *_: {OWN: own, OTHER: 1.0})


@pytest.fixture
def counted(monkeypatch):
    """One entry for each product that oneDNN, which was chosen, was given."""
    plant(monkeypatch, OTHER)
    given = []
    real = matrix_products._linear

    def linear(x, weight, bias):
        given.append(x.numel())
        return real(x, weight, bias)

    monkeypatch.setattr(matrix_products, "_linear", linear)
    return given


@pytest.mark.parametrize("library", [OWN, OTHER])
def test_a_product_is_that_of_float64(library, monkeypatch):
    """Each layout on either side of one that is as it is."""
    plant(monkeypatch, library)
    for name, layout in LAYOUTS.items():
        for a, b in ((layout(A), B), (A, layout(B)), (layout(A), layout(B))):
            exact, terms = a.double() @ b.double(), a.double().abs() @ b.double().abs()
            assert ((product(a, b).double() - exact).abs() < 1e-5 * terms).all(), name


def test_small_double_and_other_products_are_left_to_torch(counted, monkeypatch):
    few = random(8, 8)
    product(A, B)
    assert len(counted) == 1  # by the library that was chosen, and of others none
    assert torch.equal(product(few, few), few @ few)
    assert torch.equal(product(A.double(), B.double()), A.double() @ B.double())
    plant(monkeypatch, OWN)
    assert torch.equal(product(A, B), A @ B)
    assert len(counted) == 1
    plant(monkeypatch, None)
    monkeypatch.setattr(matrix_products, "ONEDNN", None)
    assert torch.equal(product(A, B), A @ B)
    assert choice() == Choice(OWN, {}, torch.get_num_threads())


def test_linear_maps_without_a_gradient_are_products_and_others_stay(counted):
    class Own(Tensor):
        pass

    x, layer = random(2, 75, 130), nn.Linear(130, 120)
    with torch.no_grad():
        expected = layer(x)
        with FastLinear():
            assert torch.allclose(layer(x), expected, atol=1e-5)
            assert isinstance(F.linear(A, random(120, 130).as_subclass(Own)), Own)
    with_gradient = random(150, 130).requires_grad_()
    with FastLinear():
        layer(with_gradient).sum().backward()
    assert with_gradient.grad is not None
    assert counted == [x.numel()]


def test_the_faster_library_is_chosen_and_ones_own_where_they_are_next_to_alike(
    monkeypatch,
):
    monkeypatch.setattr(matrix_products, "KEPT_SECONDS", 0)
    for own, chosen in ((2.0, OTHER), (0.5, OWN), (1.0, OWN), (1.04, OWN)):
        time_as(monkeypatch, own)
        assert choice().library == chosen


def test_the_choice_is_made_once_for_a_number_of_threads(monkeypatch):
    real, timed, together = matrix_products._time, [], Barrier(4)

    def note(libraries, threads):
        timed.append(threads)
        return real(libraries, threads)

    def multiply(_):
        together.wait()
        return product(A, B)

    plant(monkeypatch, None)
    monkeypatch.setattr(matrix_products, "_time", note)
    with ThreadPoolExecutor(4) as four:
        found = list(four.map(multiply, range(4)))
    assert all(torch.equal(each, found[0]) for each in found)
    before = torch.get_num_threads()
    torch.set_num_threads(before + 1)
    try:
        assert choice().threads == before + 1 == torch.get_num_threads()
    finally:
        torch.set_num_threads(before)
    assert timed == [before, before + 1]


def test_the_processes_of_a_machine_choose_alike_for_a_week(monkeypatch):
    time_as(monkeypatch, 2.0)
    first = choice()
    time_as(monkeypatch, 0.5)
    assert choice() == first
    for damaged in ("", "[]", "{}", '{"a": 1}', '{"a": {}}', "\x00"):
        (user_cache() / "products.json").write_text(damaged)
        time_as(monkeypatch, 0.5)
        assert choice().library == OWN
    time_as(monkeypatch, 2.0)
    monkeypatch.setattr(matrix_products, "KEPT_SECONDS", 0)
    assert choice().library == OTHER
