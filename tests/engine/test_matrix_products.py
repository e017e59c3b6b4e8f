"""Products are those of float64 by each library, of any layout; the faster one is chosen, once."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from coupling_core.base.folders import user_cache
from coupling_core.engine import matrix_products
from coupling_core.engine.matrix_products import (
    LEAST,
    OTHER,
    OWN,
    Choice,
    FastLinear,
    choice,
    product,
)

LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "as it is": lambda t: t,
    "transposed": lambda t: t.T.contiguous().T,
    "every second row": lambda t: t.repeat_interleave(2, 0)[::2],
    "columns of a wider one": lambda t: torch.cat([t, t], 1)[:, t.shape[1] :],
    "one row, repeated": lambda t: t[:1].expand_as(t),
    "one column, repeated": lambda t: t[:, :1].expand_as(t),
}


def plant(monkeypatch: pytest.MonkeyPatch, library: str) -> None:
    """Let a library have been chosen."""
    threads = torch.get_num_threads()
    monkeypatch.setattr(matrix_products, "_chosen", {threads: Choice(library, {}, threads)})


@pytest.fixture
def unchosen(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process that has multiplied nothing yet."""
    monkeypatch.setattr(matrix_products, "_chosen", {})


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry for each product that oneDNN, which was chosen, was given."""
    plant(monkeypatch, OTHER)
    given: list[int] = []
    real = matrix_products._linear

    def linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        given.append(x.numel())
        return real(x, weight, bias)

    monkeypatch.setattr(matrix_products, "_linear", linear)
    return given


def random(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(len(shape) + sum(shape)))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_product_is_that_of_float64(layout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each layout on either side of one that is as it is, by each library."""
    plain_a, plain_b = random(150, 130), random(130, 120)
    of_a, of_b = LAYOUTS[layout](plain_a), LAYOUTS[layout](plain_b)
    for library in (OWN, OTHER):
        for a, b in ((of_a, plain_b), (plain_a, of_b), (of_a, of_b)):
            plant(monkeypatch, library)
            exact, terms = a.double() @ b.double(), a.double().abs() @ b.double().abs()
            assert ((product(a, b).double() - exact).abs() < 1e-5 * terms).all()


def test_other_products_are_left_to_torch(
    counted: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    few, a, b = random(8, 8), random(150, 130), random(130, 120)
    product(a, b)
    assert len(counted) == 1  # by the library that was chosen, and of others none
    assert few.numel() * len(few) < LEAST
    assert torch.equal(product(few, few), few @ few)
    assert torch.equal(product(a.double(), b.double()), a.double() @ b.double())
    plant(monkeypatch, OWN)
    assert torch.equal(product(a, b), a @ b)
    assert len(counted) == 1


def test_a_torch_without_onednn_has_no_choice(
    unchosen: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matrix_products, "ONEDNN", None)
    a, b = random(150, 130), random(130, 120)
    assert torch.equal(product(a, b), a @ b)
    assert choice() == Choice(OWN, {}, torch.get_num_threads())


def test_linear_maps_without_a_gradient_are_products(counted: list[int]) -> None:
    x = random(2, 75, 130)
    for layer in (nn.Linear(130, 120), nn.Linear(130, 120, bias=False)):
        with torch.no_grad():
            expected = layer(x)
            with FastLinear():
                found = layer(x)
        assert found.shape == (2, 75, 120)
        assert torch.allclose(found, expected, atol=1e-5)
    assert counted == [x.numel()] * 2


def test_linear_maps_keep_their_gradients(counted: list[int]) -> None:
    layer, x = nn.Linear(130, 120), random(150, 130).requires_grad_()
    with FastLinear():
        layer(x).sum().backward()
    assert counted == []
    assert x.grad is not None
    assert layer.weight.grad is not None


def test_weights_of_another_sort_multiply_themselves(counted: list[int]) -> None:
    class Own(Tensor):
        pass

    weight = random(120, 130).as_subclass(Own)
    with torch.no_grad(), FastLinear():
        assert isinstance(F.linear(random(150, 130), weight), Own)
    assert counted == []


def test_the_faster_library_is_chosen_and_ones_own_where_they_are_next_to_alike(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for own, chosen in ((2.0, OTHER), (0.5, OWN), (1.0, OWN), (1.04, OWN)):
        monkeypatch.setattr(matrix_products, "_chosen", {})
        monkeypatch.setattr(matrix_products, "KEPT_SECONDS", 0)
        monkeypatch.setattr(matrix_products, "_time", lambda *_, own=own: {OWN: own, OTHER: 1.0})
        found = choice()
        assert found.library == chosen
        assert found.gflops[OWN] * own == pytest.approx(found.gflops[OTHER])


def test_the_choice_is_made_once_for_a_number_of_threads(
    unchosen: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, timed = matrix_products._time, []
    together = Barrier(4)

    def note(libraries: Mapping[str, Any], threads: int) -> dict[str, float]:
        timed.append(threads)
        return real(libraries, threads)

    def multiply(_: int) -> Tensor:
        together.wait()
        return product(random(150, 130), random(130, 120))

    monkeypatch.setattr(matrix_products, "_time", note)
    with ThreadPoolExecutor(4) as four:
        found = list(four.map(multiply, range(4)))
    assert timed == [torch.get_num_threads()]
    assert all(torch.equal(each, found[0]) for each in found)
    before = torch.get_num_threads()
    torch.set_num_threads(before + 1)
    try:
        assert choice().threads == before + 1
        assert torch.get_num_threads() == before + 1
    finally:
        torch.set_num_threads(before)
    assert timed == [before, before + 1]


def test_the_processes_of_a_machine_choose_alike(
    unchosen: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matrix_products, "_time", lambda *_: {OWN: 2.0, OTHER: 1.0})
    first = choice()
    monkeypatch.setattr(matrix_products, "_chosen", {})
    monkeypatch.setattr(matrix_products, "_time", lambda *_: {OWN: 1.0, OTHER: 2.0})
    assert choice() == first
    monkeypatch.setattr(matrix_products, "_chosen", {})
    monkeypatch.setattr(matrix_products, "KEPT_SECONDS", 0)
    assert choice().library == OWN


def test_a_damaged_memory_of_the_choice_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = user_cache()
    folder.mkdir(parents=True)
    monkeypatch.setattr(matrix_products, "_time", lambda *_: {OWN: 2.0, OTHER: 1.0})
    for text in ("", "[]", "{}", '{"a": 1}', '{"a": {}}', "\x00"):
        (folder / "products.json").write_text(text)
        monkeypatch.setattr(matrix_products, "_chosen", {})
        assert choice().library == OTHER
