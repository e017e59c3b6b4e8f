"""The functions of the released package: same names, same dictionaries, same values."""

import logging
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import tiny
import torch
from refused import refusals

from coupling_core import ComputeError, InputError
from coupling_core.engine import reference
from coupling_core.measuring.compat import coupling_from_hooks, run_coupling_hf

PROMPTS = ["The cat sat on the mat", "the dog lay down beside it", "it was tired"]
WIDTH, BLOCKS, TOKENS = 64, 3, 5
"""Of the chain of planted blocks, wide enough for K = 50."""

VALUE = 5e-6
"""How far a mis-coupling may be off: both sides may have their Jacobians in float32."""


def mis_couplings(jacobians, k, p=2):
    """The released definition, as it reads: full SVDs and a double loop, by role and by name."""
    svds = [np.linalg.svd(J) for J in jacobians]
    L = len(jacobians)
    found = {role: {"trace": np.empty((L, L)), "norm": np.empty((L, L))} for role in ("ujv", "vju")}
    for row, J in enumerate(jacobians):
        s = svds[row][1][:k]
        for column in range(L):
            U, V = svds[column][0][:, :k], svds[column][2][:k].T
            for role, M in (("ujv", U.T @ J @ V), ("vju", V.T @ J @ U)):
                distance = np.linalg.norm(np.abs(M) - np.diag(s))
                found[role]["trace"][row, column] = distance / np.trace(np.diag(s))
                found[role]["norm"][row, column] = distance / np.linalg.norm(s, p)
    return found


def oracle(model, tokenizer, prompt, token, final_norm):
    """Jacobians of all blocks by the definition, over the whole sequence."""
    ids = tokenizer(prompt)["input_ids"]
    at = token + len(ids) + 1 if token < 0 else token
    L = model.config.num_hidden_layers
    norms = [None] * (L - 1) + [final_norm]
    return [
        reference.block_jacobian(model, ids, block, at, at, norm).double().numpy()
        for block, norm in enumerate(norms, 1)
    ]


def check(tables, expected):
    assert tables.keys() == expected.keys() == {"trace", "norm"}
    for name, values in expected.items():
        assert tables[name].dtype == torch.float32
        assert tables[name].device.type == "cpu"
        assert tables[name].shape == values.shape
        assert tables[name].numpy() == pytest.approx(values, abs=VALUE)


@pytest.fixture(scope="module")
def tokenizer():
    return tiny.tokenizer()


@pytest.mark.parametrize(("token", "final_norm", "count"), [(-1, "include", 2), (3, "exclude", 1)])
def test_values_are_those_of_the_definition(llama, tokenizer, token, final_norm, count):
    asked = {"token": token, "final_norm": final_norm}
    out = run_coupling_hf(llama, tokenizer, "tiny", PROMPTS[:count], **asked)
    assert list(out) == [*range(count)]
    norm = llama.model.norm if final_norm == "include" else None
    for prompt, found in zip(PROMPTS, out.values(), strict=False):
        assert found.keys() == {"prompt", "coupling_ujv", "coupling_vju"}
        assert found["prompt"] == prompt
        jacobians = oracle(llama, tokenizer, prompt, token, norm)
        for role in ("ujv", "vju"):
            by_k = found[f"coupling_{role}"]
            assert list(by_k) == [10, 30]  # 50 is more than the width
            for k, tables in by_k.items():
                check(tables, mis_couplings(jacobians, k)[role])


@pytest.mark.parametrize("family", ["gpt_neox", "qwen3"])
def test_by_default_the_states_are_those_that_the_model_hands_out(tokenizer, family):
    model = tiny.model(family)
    ids = torch.tensor([tokenizer(PROMPTS[0])["input_ids"]])
    embedded = model.get_input_embeddings()(ids).requires_grad_()
    states = model(inputs_embeds=embedded, output_hidden_states=True).hidden_states
    hooks = {
        f"block_{i}": {0: before, 1: after} for i, (before, after) in enumerate(pairwise(states))
    }
    from_states = coupling_from_hooks(hooks)
    (found,) = run_coupling_hf(model, tokenizer, family, PROMPTS[:1]).values()
    for tables, expected in zip(
        (found["coupling_ujv"], found["coupling_vju"]), from_states, strict=True
    ):
        for k in (10, 30):
            check(tables[k], {name: x.numpy() for name, x in expected[k].items()})


def test_the_first_prompt_gets_the_number_start(llama, tokenizer):
    def numbered(**limits):
        out = run_coupling_hf(llama, tokenizer, "tiny", ["a", "b", "c"], **limits)
        return {number: found["prompt"] for number, found in out.items()}

    assert numbered(end=1) == {0: "a"}
    assert numbered(start=7, end=9) == {7: "a", 8: "b"}
    assert numbered(start=2) == {2: "a"}
    assert numbered(start=3) == {}


@pytest.mark.parametrize("named", [True, False])
def test_a_saved_dictionary_is_read_without_running_code(
    llama, tokenizer, tmp_path, monkeypatch, named
):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "results" if named else tmp_path
    folder.mkdir(exist_ok=True)
    where = str(folder) if named else None
    out = run_coupling_hf(llama, tokenizer, "tiny", PROMPTS[:1], save=True, out_path=where)
    assert [path.name for path in folder.iterdir() if path.is_file()] == ["tiny_coupling.pt"]
    read = torch.load(folder / "tiny_coupling.pt", weights_only=True)
    assert read[0]["prompt"] == PROMPTS[0]
    assert read.keys() == out.keys()
    for role in ("coupling_ujv", "coupling_vju"):
        torch.testing.assert_close(read[0][role], out[0][role], rtol=0, atol=0)


def test_nothing_is_saved_unasked_and_verbose_logs(
    llama, tokenizer, tmp_path, monkeypatch, caplog, capsys
):
    monkeypatch.chdir(tmp_path)
    with caplog.at_level(logging.INFO, "coupling_core.measuring.compat"):
        run_coupling_hf(llama, tokenizer, "tiny", ["a"], start=4, end=5)
        assert caplog.messages == []
        run_coupling_hf(llama, tokenizer, "tiny", ["a"], start=4, end=5, verbose=True)
    assert "prompt 4: blocks 3/4" in caplog.messages
    assert capsys.readouterr().out == ""
    assert list(tmp_path.glob("*.pt")) == []


def test_bad_input_is_refused_before_anything_is_computed(
    llama, tokenizer, monkeypatch, tmp_path, snapshot
):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(
        "coupling_core.measuring.compat.measure", lambda *_, **__: pytest.fail("computed")
    )
    elsewhere = tiny.model("llama").to("meta")
    every = {
        "one text": {"prompts": "one text"},
        "a blank prompt": {"prompts": [PROMPTS[0], " "]},
        "token 0": {"token": 0},
        "no such device": {"device": "abacus"},
        "a device that is not here": {"device": "meta"},
        "model elsewhere": {"model": elsewhere, "device": "cpu"},
        "no such folder": {"save": True, "out_path": "no/such/folder"},
        "a slash": {"save": True, "model_name": "maker/tiny"},
    }
    usual = {"model": llama, "tokenizer": tokenizer, "model_name": "tiny", "prompts": PROMPTS}
    calls = {name: partial(run_coupling_hf, **usual | changes) for name, changes in every.items()}
    assert refusals(calls) == snapshot
    assert not list(Path().iterdir())


def planted(hidden, weights, mixing):
    """A block that is far from linear, and in which every token sees those before it."""
    return hidden + torch.tanh(torch.tril(mixing) @ hidden @ weights)


@pytest.fixture(scope="module")
def chain():
    """Weights (d d), mixing of tokens (token token) and the state (1 token d) of each block."""
    generator = torch.Generator().manual_seed(0)
    state = torch.randn(1, TOKENS, WIDTH, generator=generator).requires_grad_()
    weights = torch.randn(BLOCKS, WIDTH, WIDTH, generator=generator) / WIDTH**0.5
    mixing = torch.randn(BLOCKS, TOKENS, TOKENS, generator=generator)
    states = [state]
    for W, mix in zip(weights, mixing, strict=True):
        states.append(planted(states[-1], W, mix))
    return weights, mixing, states


@pytest.fixture
def hooks(chain):
    states = chain[2]
    return {f"block_{i}": {0: states[i], 1: states[i + 1]} for i in range(BLOCKS)}


def chain_jacobians(chain, source, target, activation=None):
    """Of the residual maps, from one token to one token (counted from 0), in float64."""
    weights, mixing, states = ([x.detach().double() for x in part] for part in chain)
    activation = activation or (lambda x: x)
    jacobians = []
    for W, mix, state in zip(weights, mixing, states, strict=False):
        full = torch.autograd.functional.jacobian(
            lambda x, W=W, mix=mix: (activation(planted(x, W, mix)) - x)[0, target], state
        )
        jacobians.append(full[:, 0, source].numpy())
    return jacobians


@pytest.mark.parametrize(
    ("options", "source", "target"),
    [
        ({}, 4, 4),
        ({"p": 1}, 4, 4),
        ({"p": float("inf")}, 4, 4),
        ({"index": 2}, 2, 2),
        ({"index": -2, "index_in": 3}, 3, 3),
        ({"index": -1, "index_in": 1}, 1, 4),
        ({"activation": lambda x: x / x.square().mean(-1, keepdim=True).sqrt()}, 4, 4),
        ({"chunks": 7, "num_sing_vecs": (10, 20), "device": "cpu"}, 4, 4),
    ],
)
def test_hooks_give_the_values_of_the_definition(chain, hooks, options, source, target):
    jacobians = chain_jacobians(chain, source, target, options.get("activation"))
    found = coupling_from_hooks(hooks, **options)
    for tables, role in zip(found, ("ujv", "vju"), strict=True):
        assert tuple(tables) == options.get("num_sing_vecs", (10, 30, 50))
        for k in tables:
            check(tables[k], mis_couplings(jacobians, k, options.get("p", 2))[role])


def test_a_pair_whose_rank_is_below_k_is_nan(chain):
    states = [chain[2][0]]
    for W, rank in ((chain[0][0], WIDTH), (chain[0][1], 12)):
        cut = torch.arange(WIDTH) < rank
        states.append(states[-1] + (states[-1] @ W) * cut)
    hooks = {i: {0: states[i], 1: states[i + 1]} for i in range(2)}
    for tables in coupling_from_hooks(hooks):
        for name in ("trace", "norm"):
            assert torch.isfinite(tables[10][name]).all()
            assert tables[30][name].isnan().tolist() == [[False, True], [True, True]]


STATE = torch.randn(1, TOKENS, WIDTH, generator=torch.Generator().manual_seed(1))


def pair(before, change=lambda x: x + x.sin()):
    return {0: before, 1: change(before)}


def test_hooks_that_cannot_be_measured_are_refused(snapshot):
    def state():
        return STATE.clone().requires_grad_()

    sound = {"b": pair(state())}
    narrow = STATE[..., :32].clone().requires_grad_()
    every = {
        "no graph": ({"b": pair(STATE)}, {}),
        "not from the one before": ({"b": {0: state(), 1: state()}}, {}),
        "float64": ({"b": pair(STATE.double().requires_grad_())}, {}),
        "two widths": ({"a": pair(state()), "b": pair(narrow)}, {}),
        "an activation that narrows": (sound, {"activation": lambda x: x[..., :9]}),
        "a Jacobian of zeros": ({"b": pair(state(), lambda x: 1 * x)}, {}),
        "index": (sound, {"index": 5}),
        "p": (sound, {"p": 0.5}),
        "no such device": (sound, {"device": "abacus"}),
        "K above the width": (sound, {"num_sing_vecs": (65, 70)}),
        "K = 0": (sound, {"num_sing_vecs": (0, 10)}),
    }
    calls = {
        name: partial(coupling_from_hooks, hooks, **options)
        for name, (hooks, options) in every.items()
    }
    assert refusals(calls, sorts=(InputError, ComputeError)) == snapshot
