"""Jacobians of attention by heads, against all of its Jacobian at once."""

import pytest
import torch
import torch.nn.functional as F

from coupling_core.engine.jacobians import attention_heads
from coupling_core.engine.jacobians.attention_heads import First, by_heads

D, D_HEAD, PAST = 12, 4, 5


@pytest.fixture(autouse=True)
def _no_layouts(monkeypatch):
    monkeypatch.setattr(attention_heads, "_layouts", {})


def attention(queries: int, groups: int, seed: int = 0, *, mixing: float = 0.0):
    """What so many heads, in groups that share keys and values, give of one token; its input; and
    the first maps with leaves. Each head sees so much of another one's query."""
    generator = torch.Generator().manual_seed(seed)

    def random(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    z = random(D).requires_grad_()
    weights = [random(n * D_HEAD, D) for n in (queries, groups, groups)]
    firsts = [First((w @ z).detach().requires_grad_(), w) for w in weights]
    q, k, v = (f.output.reshape(-1, 1, D_HEAD) for f in firsts)
    q = q + mixing * q.roll(1, 0)
    keys, values = (torch.cat([random(groups, PAST, D_HEAD), last], 1) for last in (k, v))
    keys, values = (x.repeat_interleave(queries // groups, 0) for x in (keys, values))
    return F.softmax(q @ keys.mT, -1).matmul(values).flatten(), z, firsts


def dense(m: torch.Tensor, firsts: list[First]) -> torch.Tensor:
    rows = []
    for entry in m:
        parts = torch.autograd.grad(entry, [f.output for f in firsts], retain_graph=True)
        rows.append(sum(part @ f.weight for part, f in zip(parts, firsts, strict=True)))
    return torch.stack(rows)


@pytest.mark.parametrize(("queries", "groups", "cotangents"), [(3, 3, 4), (6, 2, 12), (4, 1, None)])
def test_it_is_all_of_the_jacobian(queries, groups, cotangents):
    m, z, firsts = attention(queries, groups)
    found = by_heads(m, z, firsts, "any")
    (layout,) = attention_heads._layouts.values()
    if cotangents is None:  # heads that all share one key save nothing
        assert found is None
        return
    assert int(layout.cotangent.max()) + 1 == cotangents
    assert (found - dense(m, firsts)).norm() < 1e-13 * found.norm()


def test_heads_may_lie_in_any_order_and_few_cotangents_be_taken_at_a_time(monkeypatch):
    m, z, firsts = attention(6, 2)
    monkeypatch.setattr(attention_heads, "CHUNK", 5)
    mixed = m[torch.randperm(len(m), generator=torch.Generator().manual_seed(0))]
    found = by_heads(mixed, z, firsts, "any")
    assert (found - dense(mixed, firsts)).norm() < 1e-13 * found.norm()


@pytest.mark.parametrize("mixing", [0.0, 0.01])
def test_the_layout_of_one_block_serves_the_next_if_it_is_laid_out_so(mixing):
    by_heads(*attention(3, 3), "any")
    (before,) = attention_heads._layouts.values()
    m, z, firsts = attention(3, 3, seed=1, mixing=mixing)
    found = by_heads(m, z, firsts, "any")
    (after,) = attention_heads._layouts.values()
    assert (after is before) == (not mixing)
    assert found is None or (found - dense(m, firsts)).norm() < 1e-12 * found.norm()


def test_what_is_no_heads_sees_the_input_or_is_too_large_is_left_to_others(monkeypatch):
    m, z, firsts = attention(3, 3)
    assert by_heads(m + 0.1 * z[: len(m)].sum(), z, firsts, "any") is None
    monkeypatch.setattr(attention_heads, "_layouts", {})
    monkeypatch.setattr(attention_heads, "LARGEST", 12 * 36 - 1)
    assert by_heads(m, z, firsts, "any") is None
    monkeypatch.setattr(attention_heads, "LARGEST", 12 * 36)
    monkeypatch.setattr(attention_heads, "_layouts", {})
    assert by_heads(m + 0.1 * m.flip(0).cumsum(0), z, firsts, "any") is None
    assert list(attention_heads._layouts.values()) == [None]
