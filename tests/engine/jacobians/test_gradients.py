"""Cotangents pulled back together: the same as one by one."""

import warnings
from threading import Event, Thread

import torch
from torch import nn

from coupling_core.engine.jacobians import gradients
from coupling_core.engine.jacobians.gradients import batched_gradients, gradients_by


def normed():
    """A LayerNorm's output, and the state that it is of."""
    torch.manual_seed(0)
    x = torch.randn(1, 16, requires_grad=True)
    return nn.LayerNorm(16)(x) * 2 + x, x


def test_a_batch_is_what_each_row_is_alone():
    y, x = normed()
    rows = torch.randn(5, 1, 16)
    (found,) = batched_gradients(y, [x], rows)
    for row, one in zip(found, rows, strict=True):
        (alone,) = torch.autograd.grad(y, x, one, retain_graph=True)
        assert torch.allclose(row, alone, atol=1e-6)


def test_what_is_not_reached_is_none_or_zero():
    y, x = normed()
    other = torch.randn(3, requires_grad=True)
    unit = torch.eye(16)[:, None]
    assert [part is None for part in batched_gradients(y, [other, x], unit)] == [True, False]
    assert batched_gradients(y, [other], unit) == [None]
    assert not gradients_by(y, other, unit).any()
    assert gradients_by(y, other, unit).shape == (16, 3)


def test_a_kernel_without_a_batch_goes_through_without_a_warning():
    q = torch.randn(1, 2, 8, 4, requires_grad=True)
    y = nn.functional.scaled_dot_product_attention(q, q.detach(), q.detach())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (found,) = batched_gradients(y, [q], torch.randn(3, *y.shape))
    assert found.shape == (3, *q.shape)


def test_the_first_thread_that_leaves_does_not_give_the_other_its_warnings_back(recwarn):
    first_is_in, second_is_in, left = Event(), Event(), Event()

    def first():
        with gradients._without_warning:
            first_is_in.set()
            second_is_in.wait(5)
        left.set()

    thread = Thread(target=first)
    thread.start()
    assert first_is_in.wait(5)
    with gradients._without_warning:
        second_is_in.set()
        assert left.wait(5)
        warnings.warn("There is a performance drop", UserWarning, stacklevel=1)
    thread.join()
    assert not recwarn.list
