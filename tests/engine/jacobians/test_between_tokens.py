"""Jacobians between tokens against the definition, through the whole sequence, in true float64."""

import copy
from dataclasses import replace

import pytest
import tiny
import torch
from checks import relative

from coupling_core import InputError
from coupling_core.engine import reference
from coupling_core.engine.jacobians import between_tokens, true_float64
from coupling_core.engine.jacobians.between_tokens import (
    input_jacobians,
    output_jacobians,
    self_jacobians,
)
from coupling_core.engine.jacobians.decode import decode, read, with_context
from coupling_core.engine.jacobians.earlier_tokens import context_jacobians, source

IDS = [5, 17, 42, 8, 99, 17, 3]
BLOCKS = (1, 4)
"""One inside, and the last, to which the final norm belongs."""

THROUGH_THE_CACHE = (*tiny.SHORT[:-1], "gemma3", "falcon_rw", "opt_350m", "olmo")
ELSE = ("bloom", "openai_gpt", "mamba", "bert")
"""Attention of another form, no cache, a cache of another kind, bidirectional."""
FAMILIES = (*THROUGH_THE_CACHE, *ELSE)


@pytest.fixture(scope="module")
def double():
    """A family's model in float64 with a prompt, read."""
    readers = {}

    def of(family):
        if family not in readers:
            model = copy.deepcopy(tiny.model(family)).double()
            with true_float64.TrueFloat64():
                readers[family] = model, read(model, IDS)
        return readers[family]

    return of


def expected(model, reader, block, t1, t2, stack=None, inputs=None):
    norm = reader.kind.final_norm if block == reader.n_blocks else None
    return reference.block_jacobian(model, IDS, block, t1, t2, norm, stack=stack, inputs=inputs)


@pytest.mark.parametrize("family", FAMILIES)
def test_each_token_with_itself(double, family):
    model, reader = double(family)
    with true_float64.TrueFloat64():
        found = dict(self_jacobians(reader, BLOCKS, (1, 2, 4, 7)))
        assert list(found) == [1, 2, 4, 7]
        for t, jacobians in found.items():
            for block, J in zip(BLOCKS, jacobians, strict=True):
                assert relative(J, expected(model, reader, block, t, t)) < 1e-9


@pytest.mark.parametrize("output", [1, 2, 7])
@pytest.mark.parametrize("family", FAMILIES)
def test_one_output_from_every_input(double, family, output):
    model, reader = double(family)
    last = output if reader.kind.causal else len(IDS)
    with true_float64.TrueFloat64():
        for block, J in zip(BLOCKS, output_jacobians(reader, BLOCKS, output), strict=True):
            exact = [expected(model, reader, block, t1, output) for t1 in range(1, last + 1)]
            assert len(J) == last
            assert max(relative_or_zero(*pair) for pair in zip(J, exact, strict=True)) < 1e-9


@pytest.mark.parametrize("given", [1, 3])
@pytest.mark.parametrize("family", FAMILIES)
def test_one_input_to_every_output(double, family, given):
    model, reader = double(family)
    with true_float64.TrueFloat64():
        found = dict(input_jacobians(reader, BLOCKS, given, (2, 3, 7)))
        assert list(found) == [t for t in (2, 3, 7) if t >= given or not reader.kind.causal]
        for t2, jacobians in found.items():
            for block, J in zip(BLOCKS, jacobians, strict=True):
                exact = expected(model, reader, block, given, t2)
                assert relative_or_zero(J, exact) < 1e-9


def relative_or_zero(found: torch.Tensor, exact: torch.Tensor) -> float:
    """A token outside an attention window has a Jacobian that is exactly zero."""
    return relative(found, exact) if exact.any() else float(found.abs().max())


@pytest.mark.parametrize("family", THROUGH_THE_CACHE)
def test_these_families_need_no_differentiation_through_the_sequence(double, family, monkeypatch):
    _, reader = double(family)
    monkeypatch.setattr(between_tokens, "through_all", None)
    with true_float64.TrueFloat64():
        assert [len(J) for J in output_jacobians(reader, BLOCKS, 7)] == [7, 7]
        assert [len(J) for J in output_jacobians(reader, BLOCKS, 1)] == [1, 1]
        assert len(list(input_jacobians(reader, BLOCKS, 2, [7]))) == 1


def test_an_encoder_decoder_model_attends_to_its_own_tokens():
    model = copy.deepcopy(tiny.model("t5")).double()
    start = torch.tensor([[model.config.decoder_start_token_id]])
    ids = torch.tensor([IDS])
    inputs = {"input_ids": ids, "decoder_input_ids": torch.cat([start, ids[:, :-1]], 1)}
    with true_float64.TrueFloat64():
        reader = read(model, IDS, stack="decoder")
        (J,) = output_jacobians(reader, [2], 5)
        for t1 in (1, 3, 5):
            exact = expected(model, reader, 2, t1, 5, "decoder", inputs)
            assert relative(J[t1 - 1], exact) < 1e-9


def test_a_wrong_sum_is_noticed(double):
    """The check with one random cotangent, on keys and values that are those of other tokens."""
    _, reader = double("llama")
    with true_float64.TrueFloat64():
        (capture,), (call,) = with_context(reader, [2], 6)
        assert context_jacobians(capture, source(call, 1)) is not None
        right = source(call, 1)
        a, b, c = right.norm
        wrong = replace(right, norm=(a * (1 + 1e-6), b, c))
        assert context_jacobians(capture, wrong) is None


def test_nothing_is_captured_twice_or_out_of_order(double):
    _, reader = double("llama")
    assert [[c.token for c in found] for found in decode(reader, [1, 3], [6, 2, 6])] == [
        [2, 2],
        [6, 6],
    ]


@pytest.mark.parametrize(("blocks", "tokens"), [([5], [1]), ([0], [1]), ([1], [8]), ([1], [0])])
def test_what_the_prompt_or_the_model_does_not_have_is_refused(double, blocks, tokens):
    _, reader = double("llama")
    with pytest.raises(InputError, match=r"out of range.* 1\.\."):
        list(decode(reader, blocks, tokens))
