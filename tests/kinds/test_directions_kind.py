"""Directions of tiny models: measured, tried on the model that they are of, and their files."""

import gc
import json
import pickle
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import tiny
import torch
from command_line import printed
from refused import said
from safetensors.numpy import save_file
from transformers import AutoModelForCausalLM

import coupling_core as cc
from coupling_core.analysis.directions import held
from coupling_core.base.results.directions import READOUTS
from coupling_core.engine import reference
from coupling_core.store import direction_file
from coupling_core.store.archive import decode, encode

PROMPT = "The cat sat on the mat"


@pytest.fixture(scope="module")
def result(folder, tmp_path_factory):
    store = cc.Store(tmp_path_factory.mktemp("store"))
    return cc.measure(cc.Request(PROMPT, model=str(folder), kind="directions"), store)


@pytest.fixture
def command(run, folder):
    return lambda *args: run("directions", "--model", folder, "--prompt", PROMPT, *args)


def test_everything_is_measured_of_the_width_and_kept(result):
    assert result.complete
    assert result.count == result.width == 32
    assert result.rounding.max() < 0.05
    assert not result.missing
    again = decode(encode(result))
    np.testing.assert_array_equal(again.u, result.u)
    assert again.vocabulary == result.vocabulary
    assert 0 < result.beyond_chance.mean() < 0.2
    assert all(result.consistency().values())
    assert not all(replace(result, vocabulary={}).consistency().values())  # which is forged


def test_matrices_and_scores_in_its_own_bases_are_those_of_depth(result, folder):
    depth = cc.measure(cc.Request(PROMPT, model=str(folder), k=32, k_view=32))
    np.testing.assert_array_equal(result.matrices, depth.matrices[0])
    np.testing.assert_array_equal(result.singular_values, depth.singular_values[:, :32])
    found = cc.cross_scores(result, result, k=16)
    np.testing.assert_allclose(found.corrected, depth.scores(k=16).corrected, atol=2e-3)
    np.testing.assert_allclose(np.diag(found.corrected), 1, atol=2e-3)


@pytest.mark.parametrize(
    ("family", "final"), [("llama", "model.norm"), ("gpt2", "transformer.ln_f")]
)
def test_a_block_s_directions_and_readouts_are_the_reference_s(family, final):
    model, ids, last = tiny.model(family), [3, 1, 4, 1, 5, 9], 6
    last_norm = model.get_submodule(final)
    weight = last_norm.weight.data = torch.linspace(0.2, 3, 32)  # so that it makes a difference
    W, E = model.get_output_embeddings().weight, model.get_input_embeddings().weight
    result = cc.measure(ids, model=model, kind="directions", store=None)
    for block in (2, 4):
        norm = last_norm if block == 4 else None
        J = reference.block_jacobian(model, ids, block, last, last, norm).double()
        u, s, vh = torch.linalg.svd(J)
        np.testing.assert_allclose(result.singular_values[block - 1], s, rtol=1e-3, atol=1e-3)
        one = torch.ones_like(weight)
        for at, (vectors, matrix, scale) in enumerate(
            [(u.T, W, one if block == 4 else weight), (vh, W, weight), (vh, E, one)]
        ):
            said = [reference.readout(matrix, scale, vector) for vector in vectors[:4]]
            found = result.peakedness[at, block - 1, :4]
            np.testing.assert_allclose(found, [peak for peak, _ in said], rtol=1e-3)
            for k, (_, ends) in enumerate(said):
                assert set(result.top[at, block - 1, k, :, 0]) == set(ends)


def test_json_and_the_table_have_the_blocks_and_directions_of_the_view(command, result, tmp_path):
    said = printed(command("--json", "--block", "2", "--k", "3"))
    assert len(said["directions"]) == 3 * len(READOUTS)
    np.testing.assert_allclose(said["singular_values"], result.singular_values[1:2, :3], rtol=1e-5)
    assert command("--out", tmp_path / "x.csv", "--block", "-1", "--k", "2")[0] == 0
    assert len((tmp_path / "x.csv").read_text().splitlines()) == 1 + 2 * len(READOUTS)


def test_a_readout_that_is_chance_names_no_token(command, result):
    chance = int((~result.beyond_chance[:, 1]).sum())
    assert command("--block", "2")[1].count("no more than chance") == chance
    assert "whose readout is beyond chance" in command()[1]
    assert "one in a hundred" in result.verdict
    assert result.plot().figure.data[0].y.tolist() == result.beyond_chance[0].sum(-1).tolist()


def test_a_model_whose_head_reads_more_than_the_state_has_no_readout():
    found = cc.measure([3, 1, 4, 1, 5], model=tiny.model("bert"), kind="directions", store=None)
    assert found.complete
    assert "no matrix of the normed last state" in found.missing["writes"]
    assert "reads_embedding" not in found.missing
    assert np.isnan(found.peakedness[0]).all()


# ---- tried on the model


def test_a_written_direction_is_added_to_the_output_and_a_read_one_to_the_input(result, folder):
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    ids, n = result.token_ids.tolist(), len(result.token_ids)
    with torch.no_grad():
        run = model(torch.tensor([ids]), output_hidden_states=True)
        for side, state in (("u", 3), ("v", 2)):
            found = cc.steer(result, block=3, components=(1, 2), sizes=(0.5, 0.0), side=side)
            x = run.hidden_states[state][0, -1]
            shift = 0.5 * x.norm() * torch.from_numpy(result.basis(3, side)[:, 1]).float()
            said = reference.steered_logits(model, ids, state, n, shift)[-1:]
            expected = float(reference.divergence(run.logits[0, -1:], said)[0])
            assert found.divergence[1, 0] == pytest.approx(expected, rel=1e-3)
            assert (found.divergence[:, 1] == 0).all()
            assert found.by_chance.shape == (20, 2)
            assert found.names == (f"{side}_1", f"{side}_2")


def test_what_blocks_share_can_be_steered_along_and_taken_out(result):
    shared = cc.shared_of(result, cc.DirectionsView((2, 3), 4), "v")
    asked = {"block": 2, "sizes": (0.3,), "side": "v"}
    same = cc.steer(result, **asked, direction=7 * result.basis(2, "v")[:, 0])
    own = cc.steer(result, **asked)
    np.testing.assert_allclose(same.divergence, own.divergence, rtol=1e-5)
    assert cc.ablate(result, blocks=[2, 3], frame=shared.directions[:, :2]).divergence > 0
    assert cc.ablate(result, blocks=[2], frame=np.zeros((32, 0))).divergence == 0.0
    one, every = (cc.ablate(result, k=3, blocks=blocks) for blocks in ([2], None))
    assert (every.blocks, 0 < one.divergence < every.divergence) == ((1, 2, 3, 4), True)


def test_what_frames_hold_of_the_states_is_told(result, folder):
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    with torch.no_grad():
        run = model(torch.tensor(result.token_ids)[None], output_hidden_states=True)
    x = [run.hidden_states[state][0, -1].double().numpy() for state in (1, 2)]
    frame = np.column_stack([x[0], np.eye(32)[0]])
    found = cc.ablate(result, blocks=[2, 3], frame=frame)
    basis = np.linalg.qr(frame)[0]
    parts = [1.0, np.sum((basis.T @ x[1]) ** 2) / np.sum(x[1] ** 2)]
    assert found.part == pytest.approx(np.mean(parts), rel=1e-5)


def test_directions_of_any_origin_are_read_as_the_result_s_own(result):
    for readout, side in (("writes", "u"), ("reads", "v"), ("reads_embedding", "v")):
        at = READOUTS.index(readout)
        found = cc.read_out(result, 3 * result.basis(2, side)[:, :4], readout=readout)
        np.testing.assert_allclose(found.peakedness, result.peakedness[at, 1, :4], rtol=1e-3)
        assert found.floor == pytest.approx(float(result.floor[at, 1]), rel=1e-4)
        np.testing.assert_array_equal(found.beyond_chance, result.beyond_chance[at, 1, :4])
        first = [result.vocabulary[str(i)] for i in result.top[at, 1, :4, 0, 0]]
        assert [texts[0] for texts in found.towards] == first
        last = [result.vocabulary[str(i)] for i in result.top[at, 1, :4, 1, 0]]
        assert [texts[0] for texts in found.away] == last
        assert found.to_pandas().direction.tolist() == [1, 2, 3, 4]


def test_a_module_of_one_s_own_is_known_with_its_tokenizer_as_long_as_it_lives():
    model, tokenizer = tiny.model("gpt2"), tiny.tokenizer()
    found = cc.measure("The cat sat", None, model=model, tokenizer=tokenizer, kind="directions")
    own = {"block": 2, "model": model, "tokenizer": tokenizer}
    expected = cc.steer(found, **own).divergence
    np.testing.assert_array_equal(cc.steer(found, block=2).divergence, expected)
    elsewhere = pickle.loads(pickle.dumps(found))
    with pytest.raises(cc.InputError, match="model="):
        cc.steer(elsewhere, block=2)
    np.testing.assert_array_equal(cc.steer(elsewhere, **own).divergence, expected)
    del model, own
    gc.collect()
    with pytest.raises(cc.InputError, match="model="):
        cc.steer(found, block=2)


def test_what_cannot_be_tried_is_refused(result, snapshot):
    one = np.ones((32, 1))
    refused = {
        "read out: another side": lambda: cc.read_out(result, one, readout="sees"),
        "read out: zero": lambda: cc.read_out(result, 0 * one),
        "read out: another width": lambda: cc.read_out(result, one[:31]),
        "read out: rows": lambda: cc.read_out(result, np.ones((8, 2))),
        "read out: not finite": lambda: cc.read_out(result, one * np.nan),
    }
    for name, options in {
        "block 9": {"block": 9},
        "side": {"block": 2, "side": "w"},
        "no component": {"block": 2, "components": ()},
        "component 33": {"block": 2, "components": (33,)},
        "no size": {"block": 2, "sizes": ()},
        "a size that is not finite": {"block": 2, "sizes": (float("nan"),)},
        "zero": {"block": 2, "direction": np.zeros(32)},
        "another width": {"block": 2, "direction": np.ones(8)},
        "the final norm": {"block": 4},
        "token 99": {"block": 2, "tokens": (99,)},
    }.items():
        refused[f"steer: {name}"] = partial(cc.steer, result, **options)
    found = {name: said(call) for name, call in refused.items()}
    kinds = {line.partition(": ")[0] for line in found.values()}
    assert kinds == {"InputError", "PromptError"}  # which is one
    assert found == snapshot


TRIED = {
    "steer": lambda found, **of: cc.steer(found, block=2, **of).divergence,
    "ablate": lambda found, **of: cc.ablate(found, **of).divergence,
    "read_out": lambda found, **of: cc.read_out(found, found.u[1][:, :3], **of).peakedness,
    "cross_scores": lambda found, **of: cc.cross_scores(found, found, **of).corrected,
}


@pytest.mark.full
def test_a_module_that_gives_something_else_by_now_is_refused(result):
    trial, model, ids = TRIED["steer"], tiny.model("gpt2"), [3, 1, 4, 1, 5]
    found = cc.measure(ids, model=model, kind="directions", store=None)
    expected = trial(found, model=model)
    with pytest.raises(cc.InputError, match="LlamaForCausalLM"):
        trial(found, model=tiny.model("llama"))
    hook = model.transformer.h[1].register_forward_hook(lambda _, x, out: 1.01 * out)
    with pytest.raises(cc.InputError, match="off by"):
        trial(found, model=model)
    hooked = cc.measure(ids, model=model, kind="directions", store=None, variant="larger")
    trial(hooked, model=model)
    hook.remove()
    with pytest.raises(cc.InputError, match="off by"):
        trial(hooked, model=model)
    np.testing.assert_array_equal(trial(found, model=model), expected)
    with torch.no_grad():
        model.transformer.h[2].mlp.c_fc.weight.mul_(1.05)
    for every in TRIED.values():
        with pytest.raises(cc.InputError, match="off by"):
            every(found, model=model)
    other = dict(result.identity) | {"digest": "0" * 64}
    with pytest.raises(cc.InputError, match="tiny-llama"):
        trial(replace(result, identity=other))


def test_a_direction_goes_to_a_file_and_back(result, tmp_path):
    path = tmp_path / "d.safetensors"
    direction_file.write_direction(direction_file.direction_of(result, -2, 2, "v"), path)
    found = direction_file.read_direction(path)
    np.testing.assert_allclose(found.vector, result.basis(3, "v")[:, 1], atol=1e-7)
    said = found.about
    assert (said["block"], said["state"], said["component"]) == (3, 2, 2)
    assert said["certificate"]["certified"]
    assert said["gauge"]
    direction_file.require_fits(found, result)
    assert held(result, found.vector, "v")[2] == pytest.approx(1, abs=1e-5)


def test_what_is_no_direction_of_the_model_is_refused(result, tmp_path):
    own = direction_file.direction_of(result, 2, 1, "u")
    for changes in (
        {"width": 7},
        {"identity": {"digest": "0"}},
        {"request": cc.Request(PROMPT, kind="directions", untrained=3)},
    ):
        with pytest.raises(cc.InputError):
            direction_file.require_fits(own, replace(result, **changes))
    path, vector = tmp_path / "d.safetensors", own.vector
    whole = {"format": "coupling-direction-1", "about": json.dumps(dict(own.about))}
    spoilt = [
        (vector, {}),
        (vector, whole | {"format": "other"}),
        (vector, whole | {"about": json.dumps({"model": "x"})}),
        (2 * vector, whole),
        (vector[:5], whole),
        (vector.astype(np.float64), whole),
    ]
    save_file({"direction": vector}, path, whole)
    direction_file.require_fits(direction_file.read_direction(path), result)
    for tensor, metadata in spoilt:
        save_file({"direction": tensor}, path, metadata)
        with pytest.raises(cc.InputError):
            direction_file.read_direction(path)
    path.write_bytes(b"nonsense")
    for name in ("d.safetensors", "none.safetensors"):
        with pytest.raises(cc.InputError):
            direction_file.read_direction(tmp_path / name)


@pytest.mark.full
def test_the_command_steers_takes_out_exports_and_imports(command, result, tmp_path):
    path, sizes = tmp_path / "d.safetensors", ("--steer", "0.5,-0.5")
    one = ("--block", "2", "--component", "1", "--k", "2", "--ablate", "--export", path)
    said = printed(command("--json", *sizes, *one))
    taken_out = cc.ablate(result, blocks=[2], k=2).divergence
    assert said["ablated"]["divergence"] == pytest.approx(taken_out, rel=1e-3)
    expected = cc.steer(result, block=2, components=(1,), sizes=(0.5, -0.5)).divergence.flatten()
    again = printed(command("--json", "--import", path, *sizes))
    for found in (said, again):
        rows = [row["divergence"] for row in found["steered"]["rows"]]
        np.testing.assert_allclose(rows, expected, rtol=1e-3)
    assert again["imported"]["held_u"][1] == pytest.approx(1, abs=1e-5)
    status, out, _ = command("--import", path, "--steer", "0,1", "--ablate")
    assert status == 0
    assert "u_1 of block 2" in out
    assert "20 random" in out


def test_jacobians_in_foreign_bases_are_those_of_the_definition(result, folder):
    """A^{ll'} = U_b^T J_a V_b, its score, and not the way back."""
    other = cc.measure(cc.Request(PROMPT, model=str(folder), kind="directions", untrained=1))
    found = cc.cross_scores(result, other, k=6)
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    ids, n = result.token_ids.tolist(), len(result.token_ids)
    J = reference.block_jacobian(model, ids, 2, n, n).double().numpy()
    u, v = (other.basis(3, side)[:, :6] for side in ("u", "v"))
    A, s = u.T @ J @ v, result.singular_values[1, :6]
    expected = 1 - np.linalg.norm(A - np.diag(s)) / s.sum()
    assert found.coupling[1, 2] == pytest.approx(expected, rel=1e-4)
    back = cc.cross_scores(other, result, k=6)
    assert abs(back.coupling[1, 2] - found.coupling[1, 2]) > 2e-4
    with pytest.raises(cc.InputError, match=r"K must lie in 1[.][.]32"):
        cc.cross_scores(result, other, k=33)


def test_the_command_tells_what_blocks_share_and_takes_it_out(run, tmp_path):
    """In a model whose blocks are copies of one another, they share what they write."""
    copies = tiny.folder(tmp_path / "copies")
    model = AutoModelForCausalLM.from_pretrained(copies)
    for block in model.model.layers[1:]:
        block.load_state_dict(model.model.layers[0].state_dict())
    model.save_pretrained(copies)
    asked = ("directions", "--model", copies, "--prompt", PROMPT, "--k", "4", "--shared", "1-3")
    said = printed(run(*asked, "--json", "--ablate"))
    shared = said["shared"]
    assert shared["blocks"] == [1, 2, 3]
    beyond = sum(np.array(shared["share"]) > shared["chance"])
    assert shared["count"] == len(shared["readouts"]) == said["ablated"]["k"] == beyond >= 1
    assert 0 < said["ablated"]["part"] < 1
    assert "3 blocks" in run(*asked)[1]


def test_prompts_are_told_together(run, folder, tmp_path):
    listed = tmp_path / "prompts.txt"
    listed.write_text("The cat sat\nOn the mat\nA dog ran\n")
    asked = ("directions", "--model", folder, "--prompts", listed, "--k", "4")
    said = printed(run(*asked, "--json"))["between_prompts"]
    assert (said["n"], said["leading"]) == (3, 4)
    assert np.array(said["angles"]).shape == (4, 4)
    assert "3 prompts: 4 directions" in run(*asked, "--side", "v")[1]
