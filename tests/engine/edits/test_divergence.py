"""KL divergences from logits: in float32 as good as in float64, and in float64 to the bit."""

import torch

from coupling_core.engine import reference
from coupling_core.engine.edits.divergence import Divergences, divergence_of


def drawn(*shape, dtype=torch.float32):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0), dtype=dtype)


def by_reference(own, logits):
    return torch.stack([reference.divergence(own.double(), one.double()) for one in logits])


def test_divergences_are_those_of_the_formula_near_and_far_and_of_the_same_exactly_zero():
    own = 4 * drawn(5, 300)
    assert not any(each.any() for each in Divergences(own).of(torch.stack([own, own])))
    z = drawn(4, 50, dtype=torch.float64)
    log_p = z.log_softmax(-1)
    for size in (1e-6, 1.0, 1e3, 1e5):
        delta = size * torch.randn(3, 4, 50, dtype=torch.float64)
        found, _ = divergence_of(log_p, log_p.exp(), delta)
        expected = torch.stack([reference.divergence(z, z + one) for one in delta])
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-15)


def test_float32_is_good_to_five_digits():
    own = 4 * drawn(2, 49152)
    p = own.double().softmax(-1)
    for size, shift in ((1e-3, 0.0), (0.05, 10.0), (0.3, 0.0), (2.0, 10.0), (20.0, 0.0)):
        generator = torch.Generator().manual_seed(1)
        logits = own + size * torch.randn(3, 2, 49152, generator=generator) + shift
        found, mean = Divergences(own).of(logits)
        torch.testing.assert_close(found, by_reference(own, logits), rtol=1e-5, atol=0)
        expected = (p * (logits.double() - own.double())).sum(-1)
        torch.testing.assert_close(mean, expected, rtol=1e-6, atol=1e-6 * max(1.0, size))


def test_what_overflows_float32_is_taken_in_float64():
    own = 4 * drawn(3, 400)
    own[0, 7] = -torch.inf  # no outcome, in either
    own[1, 3] = 300.0  # others are below the smallest number of float32
    logits = torch.stack([own + 0.5 * drawn(3, 400), own + 200 * drawn(3, 400)])
    logits[:, 0, 7] = -torch.inf
    found, _ = Divergences(own).of(logits)
    for at in range(2):
        shown = torch.arange(400) != 7
        expected = reference.divergence(own[:1, shown].double(), logits[at, :1, shown].double())
        torch.testing.assert_close(found[at, :1], expected, rtol=1e-9, atol=0)
    torch.testing.assert_close(
        found[:, 1:], by_reference(own[1:], logits[:, 1:]), rtol=1e-5, atol=1e-30
    )
