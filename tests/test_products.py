"""Products by oneDNN are those of float64, of any layout, and only where they may be."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from coupling_core import products
from coupling_core.products import LEAST, FastLinear, product

LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "as it is": lambda t: t,
    "transposed": lambda t: t.T.contiguous().T,
    "every second row": lambda t: t.repeat_interleave(2, 0)[::2],
    "columns of a wider one": lambda t: torch.cat([t, t], 1)[:, t.shape[1] :],
    "one row, repeated": lambda t: t[:1].expand_as(t),
    "one column, repeated": lambda t: t[:, :1].expand_as(t),
}


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry for each product that oneDNN was given."""
    given: list[int] = []
    real = products._linear

    def linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        given.append(x.numel())
        return real(x, weight, bias)

    monkeypatch.setattr(products, "_linear", linear)
    return given


def random(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(len(shape) + sum(shape)))


@pytest.mark.parametrize("of_b", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("of_a", LAYOUTS.values(), ids=LAYOUTS)
def test_a_product_is_that_of_float64(
    of_a: Callable[[Tensor], Tensor], of_b: Callable[[Tensor], Tensor], counted: list[int]
) -> None:
    a, b = of_a(random(150, 130)), of_b(random(130, 120))
    exact, terms = a.double() @ b.double(), a.double().abs() @ b.double().abs()
    assert ((product(a, b).double() - exact).abs() < 1e-5 * terms).all()
    assert len(counted) == 1


def test_what_is_not_a_number_stays_so() -> None:
    a = random(150, 130)
    a[3, 5] = torch.nan
    found = product(a, random(130, 120))
    assert found[3].isnan().all()
    assert found[:3].isfinite().all()


def test_other_products_are_left_to_torch(
    counted: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    few, a, b = random(8, 8), random(150, 130), random(130, 120)
    assert few.numel() * len(few) < LEAST
    assert torch.equal(product(few, few), few @ few)
    assert torch.equal(product(a.double(), b.double()), a.double() @ b.double())
    monkeypatch.setattr(products, "ONEDNN", None)  # a torch that was built without it
    assert torch.equal(product(a, b), a @ b)
    assert counted == []


def test_a_product_carries_no_gradient() -> None:
    a = random(150, 130).requires_grad_()
    assert not product(a, random(130, 120)).requires_grad


@pytest.mark.parametrize("bias", [True, False])
def test_linear_maps_without_a_gradient_are_products(bias: bool, counted: list[int]) -> None:
    layer, x = nn.Linear(130, 120, bias), random(2, 75, 130)
    with torch.no_grad():
        expected = layer(x)
        with FastLinear():
            found = layer(x)
    assert counted == [x.numel()]
    assert found.shape == (2, 75, 120)
    assert torch.allclose(found, expected, atol=1e-5)


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
