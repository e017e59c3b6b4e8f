"""The identities that hold in every model family, on tiny models of each.

`make families` runs all of them, and writes down what came out: benchmarks/families.py reads the
names of these tests.
"""

import itertools

import pytest
import shallow
import tiny
import torch
from checks import relative
from family_matrix import (
    DEPTH,
    IDS,
    STACKS,
    double_reader,
    exact,
    inputs,
    is_bidirectional,
    model,
    reader,
    tiered,
)

from coupling_core import InputError
from coupling_core.engine.jacobians.derivative_check import check_derivative
from coupling_core.engine.jacobians.same_token import block_jacobian
from coupling_core.engine.jacobians.trace import trace
from coupling_core.engine.jacobians.true_float64 import TrueFloat64
from coupling_core.engine.loading import in_float32


@tiered()
def test_replaying_a_block_gives_the_next_state(name):
    for token in (1, 5):
        blocks = reader(name).at(token).blocks
        for block, following in itertools.pairwise(blocks):
            assert torch.allclose(block.replay(block.state[None, None]), block.output, atol=1e-5)
            assert torch.equal(block.output, following.state)


@tiered()
def test_states_are_those_of_the_whole_sequence(name):
    stack = STACKS[name][1]
    kind, moment = reader(name).kind, reader(name).at(5)
    assert kind.causal == (not is_bidirectional(name))
    with torch.no_grad():
        output = model(name)(**inputs(name), output_hidden_states=True, use_cache=False)
    states = getattr(output, f"{stack}_hidden_states" if stack else "hidden_states")
    if name == "mamba":  # its list leaves the embedding out
        states = (moment.blocks[0].state.expand(1, 5, -1), *states)
    for block, state in zip(moment.blocks, states, strict=False):
        # Some families scale or project what they call their first states.
        if state.shape[-1] == block.state.numel():
            assert torch.allclose(block.state, state[0, 4], atol=1e-4)
    raw = moment.blocks[-1].output
    last = raw if kind.final_norm is None else kind.final_norm(raw)
    if states[-1].shape[-1] == last.numel():
        assert torch.allclose(last, states[-1][0, 4], atol=1e-4)
    if moment.logits is not None:
        assert torch.allclose(moment.logits, output.logits[0, 4], atol=1e-3)


def largest_error(name, attention):
    """Over tokens and blocks; every Jacobian is also held against a difference."""
    reads, errors = double_reader(name, attention), []
    with TrueFloat64():
        for token in (1, 5):
            for block in reads.at(token).blocks:
                norm = reads.kind.final_norm if block.number == reads.n_blocks else None
                found = block_jacobian(block, norm)
                errors.append(relative(found, exact(name, block.number, token, token, attention)))
                assert errors[-1] < 1e-9
                check_derivative(block, found, norm)
    return max(errors)


@pytest.mark.parametrize(
    ("attention", "name"),
    [
        *(pytest.param("default", p.values[0], marks=p.marks) for p in tiered().args[1]),
        *(
            # Eager attention hides how rows meet, which matters where all of them are run.
            pytest.param("eager", name, marks=() if name == "bert" else pytest.mark.slow)
            for name in STACKS
        ),
    ],
)
def test_the_jacobian_is_that_of_the_definition(attention, name, record_property):
    how = None if attention == "default" else attention
    record_property("error", largest_error(name, how))


@tiered(full=())
def test_a_jacobian_to_another_token_has_no_skip_term(name):
    assert exact(name, 2, 3, 5).any()
    assert exact(name, 2, 5, 3).any() == is_bidirectional(name)
    with TrueFloat64():
        block = double_reader(name).at(5).blocks[1]
        x = block.state[None, None].requires_grad_()
        with_skip = torch.autograd.functional.jacobian(block.replay, x)[:, 0, 0]
        without = block_jacobian(block)
    eye = torch.eye(len(with_skip), dtype=torch.float64)
    assert relative(with_skip - without, eye) < 1e-9


@tiered(full=("mixtral",))
def test_lent_weights_give_the_numbers_of_a_float32_model(name):
    """Weights in bfloat16, lent to one block at a time, against the same weights in float32."""
    family, stack = STACKS[name]
    held, upcast = (shallow.model(family, DEPTH) for _ in range(2))
    for rounded, plain in zip(held.parameters(), upcast.parameters(), strict=True):
        rounded.data = rounded.data.bfloat16()
        plain.data = rounded.data.float()
    ids = list(IDS)
    expected = [block_jacobian(block) for block in trace(upcast, ids, 5, stack=stack).blocks]
    before = [(p, p.data_ptr(), p.dtype) for p in held.parameters()]
    with in_float32(held, torch.device("cpu")):
        traced = trace(held, ids, 5, stack=stack)
        for block, jacobian in zip(traced.blocks, expected, strict=True):
            assert torch.equal(block_jacobian(block), jacobian)
    assert [(p, p.data_ptr(), p.dtype) for p in held.parameters()] == before
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in held.modules())


@pytest.mark.parametrize("family", tiny.REFUSED)
def test_what_does_not_replay_is_refused(family):
    with pytest.raises(InputError):
        trace(tiny.model(family), list(IDS), 2)
