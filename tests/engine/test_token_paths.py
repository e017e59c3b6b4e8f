"""Measured paths: tiny models of several families against what the model itself does."""

from dataclasses import replace

import numpy as np
import pytest
import shallow
import torch

from coupling_core import PathView, Request, measure, project_paths
from coupling_core.analysis import trajectory as of
from coupling_core.analysis.exports import arrays
from coupling_core.engine.jacobians.decode import decode, read
from coupling_core.engine.jacobians.linearised_path import linearised_errors
from coupling_core.kinds.trajectory import compose as measuring
from coupling_core.kinds.trajectory.compose import kept_tokens

IDS = (5, 9, 2, 7, 11, 3, 8)
ASK = Request(IDS, kind="trajectory")


@pytest.fixture(scope="module")
def result():
    return measure(ASK, model=shallow.model("llama"))


def own_states(model):
    """Every hidden state as the model gives it, the last one raw from a hook; and that one."""
    seen = []
    blocks = read(model, list(IDS)).runner.blocks
    handle = blocks[-1].register_forward_hook(
        lambda _, args, output: seen.append(output if torch.is_tensor(output) else output[0])
    )
    with torch.no_grad():
        told = model(torch.tensor([IDS]), output_hidden_states=True).hidden_states
    handle.remove()
    return torch.stack([*(x[0] for x in told[: len(blocks)]), seen[0][0]]), told[-1][0]


@pytest.mark.parametrize("family", ["llama", "bert"])
def test_states_entropies_and_errors_are_the_models_own_and_only_the_last_is_normed(family):
    model = shallow.model(family)
    included, excluded = (
        measure(replace(ASK, final_norm=norm), model=model) for norm in ("include", "exclude")
    )
    raw, last = own_states(model)
    normed = raw.numpy().copy()
    assert bool(included.provenance["final_norm"]) == (family != "bert")
    if family != "bert":
        normed[-1] = last.numpy()  # in decoders, what the model tells is normed
        assert np.abs(normed[-1] - raw[-1].numpy()).max() > 0.1
    for found, expected in ((included, normed), (excluded, raw.numpy())):
        np.testing.assert_allclose(found.states, expected, atol=2e-5)
        np.testing.assert_allclose(found.norms, np.linalg.norm(expected, axis=-1), rtol=1e-5)
        np.testing.assert_allclose(found.line_shape, of.line_shape(found.states))
        np.testing.assert_allclose(found.step_lengths, of.step_lengths(found.states))
    np.testing.assert_array_equal(included.entropy, excluded.entropy)
    with torch.no_grad():
        p = model(torch.tensor([IDS])).logits[0].double().softmax(-1).numpy()
    np.testing.assert_allclose(included.entropy[-1], -(p * np.log(p)).sum(-1), rtol=1e-4)
    reader = read(model, list(IDS))
    for captures in decode(reader, (1, 2), range(1, len(IDS) + 1)):
        at = captures[0].token - 1
        errors = linearised_errors(captures, reader.kind.final_norm)
        np.testing.assert_allclose(included.one_step[:, at], errors.one_step, rtol=1e-5)
        np.testing.assert_allclose(included.rolled_out[:, at], errors.rolled_out, rtol=1e-5)


def test_weights_held_in_lower_precision_give_the_same_to_the_bit():
    held, plain = shallow.model("gpt2").bfloat16(), shallow.model("gpt2").bfloat16().float()
    found, expected = (measure(ASK, model=model) for model in (held, plain))
    for name in ("norms", "entropy", "step_lengths", "one_step", "rolled_out", "states"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
    assert next(held.parameters()).dtype == torch.bfloat16


def test_of_a_long_prompt_the_first_and_the_last_states_are_kept():
    for n, most, kept in (
        (4, 4, [1, 2, 3, 4]), (4, 9, [1, 2, 3, 4]), (6, 4, [1, 4, 5, 6]), (6, 1, [1, 6]),
        (1, 0, [1]),
    ):  # fmt: skip
        assert kept_tokens(n, most).tolist() == kept


def test_numbers_are_kept_of_all_tokens_where_states_are_not(monkeypatch, result):
    monkeypatch.setattr(measuring, "STATES_BYTES", 3 * result.states[:, 0].nbytes)
    short = measure(ASK, model=shallow.model("llama"))
    assert short.kept.tolist() == [1, 6, 7]
    assert short.states.shape == (3, 3, 32)
    np.testing.assert_array_equal(short.states, result.states[:, [0, 5, 6]])
    np.testing.assert_array_equal(short.line_shape, result.line_shape)
    found = project_paths(short, PathView(first=False))
    assert found.tokens.tolist() == [6, 7]
    pca = arrays(short, PathView(first=True))["pca"]
    assert np.isfinite(pca[..., 0]).all(0).tolist() == [True] + [False] * 4 + [True] * 2
