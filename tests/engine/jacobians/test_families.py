"""The identities that hold in every model family, on tiny models of each.

A representative third runs by default; `make families` runs all, and writes down what came out.
"""

import itertools

import pytest
import tiny
import torch
from checks import relative

from coupling_core import InputError
from coupling_core.engine import reference
from coupling_core.engine.jacobians import true_float64
from coupling_core.engine.jacobians.derivative_check import check_derivative
from coupling_core.engine.jacobians.same_token import block_jacobian
from coupling_core.engine.jacobians.trace import trace
from coupling_core.engine.loading import in_float32

IDS = [5, 17, 42, 8, 99, 17, 3]
LARGEST = 120_000
"""Parameters: every family must stay small enough for all tokens and blocks."""

REPRESENTATIVE = (
    "gpt2",  # learned positions, fused attention matrix
    "llama3",  # rotary positions with scaling, grouped queries
    "mistral",  # a window shorter than the prompt
    "mixtral",  # experts
    "falcon_rw",  # ALiBi
    "gemma3",  # norms round every branch, two kinds of attention in turn
    "gpt_neox",  # attention and MLP in parallel
    "olmo",  # norms without parameters
    "opt_350m",  # post-norm, an embedding of another width
    "openai_gpt",  # no cache, no marked layers
    "bert",  # bidirectional
    "mamba",  # no attention at all
    "t5-decoder",
    "t5-encoder",
)
CASES = [
    *((family, None) for family in (*tiny.CAUSAL, *tiny.BIDIRECTIONAL)),
    *((family, stack) for family in tiny.TWO_STACKS for stack in ("encoder", "decoder")),
]


def named(case):
    family, stack = case
    return f"{family}-{stack}" if stack else family


every_family = pytest.mark.parametrize(
    ("family", "stack"),
    [
        pytest.param(
            *case,
            id=named(case),
            marks=() if named(case) in REPRESENTATIVE else pytest.mark.slow,
        )
        for case in CASES
    ],
)


def inputs(model, stack):
    """What the reference runs an encoder-decoder model with; None for any other."""
    if stack is None:
        return None
    ids = torch.tensor([IDS])
    start = torch.tensor([[model.config.decoder_start_token_id]])
    return {"input_ids": ids, "decoder_input_ids": torch.cat([start, ids[:, :-1]], 1)}


def is_bidirectional(family, stack):
    return family in tiny.BIDIRECTIONAL or stack == "encoder"


@every_family
def test_replaying_a_block_gives_the_next_state(family, stack):
    model = tiny.model(family)
    assert sum(p.numel() for p in model.parameters()) < LARGEST
    for token in (1, 5):
        blocks = trace(model, IDS, token, stack=stack).blocks
        for block, following in itertools.pairwise(blocks):
            assert torch.allclose(block.replay(block.state[None, None]), block.output, atol=1e-5)
            assert torch.equal(block.output, following.state)


@every_family
def test_states_are_those_of_the_whole_sequence(family, stack):
    model = tiny.model(family)
    traced = trace(model, IDS, 5, stack=stack)
    assert traced.kind.causal == (not is_bidirectional(family, stack))
    with torch.no_grad():
        output = model(
            **inputs(model, stack) or {"input_ids": torch.tensor([IDS])},
            output_hidden_states=True,
            use_cache=False,
        )
    states = getattr(output, f"{stack}_hidden_states" if stack else "hidden_states")
    if family == "mamba":  # its list leaves the embedding out
        states = (traced.blocks[0].state.expand(1, 5, -1), *states)
    for block, state in zip(traced.blocks, states, strict=False):
        # Some families scale or project what they call their first states.
        if state.shape[-1] == block.state.numel():
            assert torch.allclose(block.state, state[0, 4], atol=1e-4)
    raw = traced.blocks[-1].output
    last = raw if traced.kind.final_norm is None else traced.kind.final_norm(raw)
    if states[-1].shape[-1] == last.numel():
        assert torch.allclose(last, states[-1][0, 4], atol=1e-4)
    if traced.logits is not None:
        assert torch.allclose(traced.logits, output.logits[0, 4], atol=1e-3)


@every_family
@pytest.mark.parametrize("attention", ["default", "eager"])
def test_the_jacobian_is_that_of_the_definition(family, stack, attention, record_property):
    errors = []
    model = tiny.model(family, attention=None if attention == "default" else attention).double()
    with true_float64.TrueFloat64():
        for token in (1, 5, 7):
            traced = trace(model, IDS, token, stack=stack)
            for block in traced.blocks:
                last = block.number == len(traced.blocks)
                norm = traced.kind.final_norm if last else None
                expected = reference.block_jacobian(
                    model, IDS, block.number, token, token, norm,
                    stack=stack, inputs=inputs(model, stack),
                )  # fmt: skip
                found = block_jacobian(block, norm)
                errors.append(relative(found, expected))
                assert errors[-1] < 1e-9
                check_derivative(block, found, norm)
    record_property("error", max(errors))


@every_family
def test_a_jacobian_to_another_token_has_no_skip_term(family, stack):
    model = tiny.model(family).double()
    arguments = {"stack": stack, "inputs": inputs(model, stack)}
    with true_float64.TrueFloat64():
        later = reference.block_jacobian(model, IDS, 2, 3, 5, **arguments)
        earlier = reference.block_jacobian(model, IDS, 2, 5, 3, **arguments)
        block = trace(model, IDS, 5, stack=stack).blocks[1]
        x = block.state[None, None].requires_grad_()
        with_skip = torch.autograd.functional.jacobian(block.replay, x)[:, 0, 0]
        without = block_jacobian(block)
    assert later.any()
    assert earlier.any() == is_bidirectional(family, stack)
    eye = torch.eye(len(with_skip), dtype=torch.float64)
    assert relative(with_skip - without, eye) < 1e-9


@every_family
def test_lent_weights_give_the_numbers_of_a_float32_model(family, stack):
    """Weights in bfloat16, lent to one block at a time, against the same weights in float32."""
    held = tiny.model(family)
    for parameter in held.parameters():
        parameter.data = parameter.data.bfloat16()
    upcast = tiny.model(family)
    for parameter in upcast.parameters():
        parameter.data = parameter.data.bfloat16().float()
    expected = [block_jacobian(block) for block in trace(upcast, IDS, 5, stack=stack).blocks]
    before = [(p, p.data_ptr(), p.dtype) for p in held.parameters()]
    with in_float32(held, torch.device("cpu")):
        traced = trace(held, IDS, 5, stack=stack)
        for block, jacobian in zip(traced.blocks, expected, strict=True):
            assert torch.equal(block_jacobian(block), jacobian)
    assert [(p, p.data_ptr(), p.dtype) for p in held.parameters()] == before
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in held.modules())


@pytest.mark.parametrize("family", tiny.REFUSED)
def test_what_does_not_replay_is_refused(family):
    with pytest.raises(InputError):
        trace(tiny.model(family), IDS, 2)
