"""Jacobians between tokens against the definition, through the whole sequence, in true float64."""

from dataclasses import replace

from family_matrix import DEPTH, FAST, IDS, double_reader, exact, off, tiered

from coupling_core.engine.jacobians import between_tokens
from coupling_core.engine.jacobians.decode import decode, with_context
from coupling_core.engine.jacobians.earlier_tokens import context_jacobians, source
from coupling_core.engine.jacobians.true_float64 import TrueFloat64

BLOCKS = (2, DEPTH)
"""One inside, and the last, to which the final norm belongs."""
THROUGH_THE_CACHE = ("gpt2", "llama3", "gpt_neox", "gemma3", "mistral", "falcon_rw", "opt_350m")
ELSE = ("bloom", "openai_gpt", "mamba", "bert", "t5-decoder", "olmo", "qwen3")
"""Attention of another form, no cache, a cache of another kind, bidirectional, two stacks."""


@tiered((*THROUGH_THE_CACHE, *ELSE), full=("mamba",))
def test_they_are_those_of_the_definition(name):
    """Each token with itself, one output from every input, and one input to every output."""
    reader = double_reader(name)
    causal = reader.kind.causal
    with TrueFloat64():
        own = dict(between_tokens.self_jacobians(reader, BLOCKS, (1, 7)))
        to_one = {t: list(between_tokens.output_jacobians(reader, BLOCKS, t)) for t in (2, 7)}
        from_one = {3: dict(between_tokens.input_jacobians(reader, BLOCKS, 3, (2, 7)))}
    assert list(own) == [1, 7]
    for t, jacobians in own.items():
        for block, J in zip(BLOCKS, jacobians, strict=True):
            assert off(J, exact(name, block, t, t)) < 1e-9
    for output, found in to_one.items():
        last = output if causal else len(IDS)
        for block, J in zip(BLOCKS, found, strict=True):
            expected = [exact(name, block, t1, output) for t1 in range(1, last + 1)]
            assert max(map(off, J, expected)) < 1e-9
            assert len(J) == last
    for given, found in from_one.items():
        assert list(found) == [t for t in (2, 7) if t >= given or not causal]
        for t2, jacobians in found.items():
            for block, J in zip(BLOCKS, jacobians, strict=True):
                assert off(J, exact(name, block, given, t2)) < 1e-9


@tiered(THROUGH_THE_CACHE, fast=set(FAST) - {"bert"}, full=())
def test_these_families_need_no_differentiation_through_the_sequence(name, monkeypatch):
    reader = double_reader(name)
    monkeypatch.setattr(between_tokens, "through_all", None)
    with TrueFloat64():
        assert [len(J) for J in between_tokens.output_jacobians(reader, BLOCKS, 7)] == [7, 7]
        assert [len(J) for J in between_tokens.output_jacobians(reader, BLOCKS, 1)] == [1, 1]
        assert len(list(between_tokens.input_jacobians(reader, BLOCKS, 2, [7]))) == 1


def test_a_wrong_sum_is_noticed():
    """The check with one random cotangent, on keys and values that are those of other tokens."""
    with TrueFloat64():
        (capture,), (call,) = with_context(double_reader("llama3"), [2], 6)
        assert context_jacobians(capture, source(call, 1)) is not None
        right = source(call, 1)
        a, b, c = right.norm
        wrong = replace(right, norm=(a * (1 + 1e-6), b, c))
        assert context_jacobians(capture, wrong) is None


def test_nothing_is_captured_twice_or_out_of_order():
    with TrueFloat64():
        found = list(decode(double_reader("llama3"), [1, 3], [6, 2, 6]))
    assert [[capture.token for capture in each] for each in found] == [[2, 2], [6, 6]]
