"""`coupling whatif`, run as people run it, on tiny models; and the results behind it."""

import re
from dataclasses import replace

import numpy as np
import pytest
import tiny
import torch
from cases import what_if_result
from command_line import printed
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM, LlamaModel

from coupling_core import EffectView, Request, Store, edited, effect_maps, measure
from coupling_core.analysis.effects import mean_effects
from coupling_core.analysis.exports import frame
from coupling_core.engine import reference

PROMPT = "The cat sat on the mat"


@pytest.fixture(scope="module")
def result(folder, tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("store"))
    return measure(Request(PROMPT, model=str(folder), kind="what-if"), store)


@pytest.fixture
def command(run, folder):
    return lambda *args: run("whatif", "--model", folder, "--prompt", PROMPT, *args)


def test_every_edit_has_the_effect_of_the_edited_model(result, folder):
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    ids = torch.tensor([result.token_ids.tolist()])
    with torch.no_grad():
        own = model(ids).logits[0]
        for edit, found, stays in zip(result.edits, result.divergence, result.stays, strict=True):
            with edited(model, edit):
                other = model(ids).logits[0]
            expected = reference.divergence(own, other)
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-8, err_msg=edit)
            assert ((own.argmax(-1) == other.argmax(-1)).numpy() == stays).all(), edit
    assert result.complete
    assert not result.refused
    assert result.provenance["at_once"]["sequences"] > 1


def test_the_verdict_names_the_blocks_and_the_pair_that_are_missed_least(result):
    found = effect_maps(result, EffectView())
    np.testing.assert_allclose(found.interchange, found.interchange.T)
    pairs = np.where(np.triu(np.ones((4, 4)), 1), found.interchange, np.nan)
    one, other = np.unravel_index(np.nanargmin(pairs), pairs.shape)
    told = found.verdict
    assert re.search(rf"\b{one + 1} and {other + 1}\b", told)
    assert f"block {int(np.nanargmin(found.skip)) + 1} " in told


def test_the_report_names_the_edit_and_the_blocks_that_do_most_and_least(command, result):
    order = np.argsort(effect_maps(result, EffectView()).skip, kind="stable") + 1
    out = command()[1]
    assert result.edits[int(np.argmax(mean_effects(result, EffectView())))] in out
    (line,) = [line for line in out.splitlines() if line.startswith("skipped")]
    assert [int(at) for at in re.findall(r"(\d+) \(", line)] == [*order[:3], *order[:-4:-1]]


def test_tokens_are_a_view_of_one_measurement(command, result):
    said = printed(command("--json", "--tokens", "2,-1"))
    expected = result.divergence[:, [1, -1]].mean(1)
    found = mean_effects(result, EffectView((2, -1)))
    np.testing.assert_allclose(found, expected.astype(np.float64), rtol=1e-6)
    assert said["averaged_over"] == [2, len(result.tokens)]
    assert said["edits"][result.edits[0]]["divergence"] == pytest.approx(expected[0], rel=1e-3)


def test_one_edit_has_its_number_and_what_the_model_then_says(command, result):
    said = printed(command("--json", "--edit", "interchange(3, 1)"))
    at = result.edits.index("interchange(1,3)")
    assert said["edit"] == "interchange(1,3)"
    np.testing.assert_allclose(said["by_token"], result.divergence[at], rtol=1e-3, atol=1e-8)
    assert said["divergence"] == pytest.approx(mean_effects(result, EffectView())[at], rel=1e-3)
    assert {"before", "after"} <= set(said)
    status, out, _ = command("--edit", "reverse(1-3)", "--tokens", "-1")
    assert status == 0
    assert "reverse(1-3)" in out
    assert "goes on" in out


@pytest.mark.full
def test_effects_are_correlated_with_the_coupling_of_the_same_blocks(run, tmp_path):
    folder, model = tmp_path / "deeper", tiny.model("llama")
    model.config.num_hidden_layers = 5
    torch.manual_seed(0)
    LlamaForCausalLM(model.config).save_pretrained(folder)
    tiny.tokenizer().save_pretrained(folder)
    (tmp_path / "prompts.txt").write_text("\n".join(f"cat {n}" for n in range(5)))
    of = ("whatif", "--model", folder, "--coupling", "depth")
    said = printed(run(*of, "--prompts", tmp_path / "prompts.txt", "--json"))
    one = said["interchange"]
    assert (one["pairs"], one["prompts"]) == (10, 5)
    assert one["partial"]["low"] <= one["partial"]["rho"] <= one["partial"]["high"]
    assert 0 < one["partial_mantel_p"] <= 1
    assert "replace" in said
    assert "Nothing is claimed" in run(*of, "--prompt", "cat 1")[1]  # of one prompt


def test_a_model_without_a_head_says_what_is_measured():
    shape = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 3}
    torch.manual_seed(0)
    model = LlamaModel(LlamaConfig(**shape, num_attention_heads=2, vocab_size=50)).eval()
    found = measure([3, 1, 4, 1, 5], model=model, kind="what-if", store=None)
    assert (found.measured_of, found.unit) == ("states", "relative distance")
    ids = torch.tensor([[3, 1, 4, 1, 5]])
    with torch.no_grad():
        own = model(ids).last_hidden_state[0]
        with edited(model, "interchange(1,3)"):
            other = model(ids).last_hidden_state[0]
    expected = (other - own).norm(dim=-1) / own.norm(dim=-1)
    at = found.edits.index("interchange(1,3)")
    np.testing.assert_allclose(found.divergence[at], expected, rtol=1e-4)


def test_numbers_that_are_not_finite_are_told_with_the_edit_that_made_them():
    model, ids = tiny.model("llama"), [5, 17, 200]
    inner, seen = model.model.layers[3].mlp.down_proj, []

    def overflow(module, args, output):
        """Too large for float32 anywhere but behind the blocks before it."""
        seen.append(args[0].detach().abs().amax())
        return torch.where(seen[-1] > 1.05 * seen[0], torch.inf, 0.0) + output

    with torch.no_grad():
        hook = inner.register_forward_hook(overflow)
        model(torch.tensor([ids]))
    found = measure(ids, model=model, kind="what-if", store=None)
    hook.remove()
    told = {edit for edit, why in found.refused.items() if "no finite numbers" in why}
    assert 0 < len(told) < len(found.edits)
    missing = np.isnan(found.divergence).any(1)
    assert {found.edits[at] for at in np.flatnonzero(missing)} == set(found.refused)
    assert found.complete


def test_a_table_names_each_edit_and_why_it_has_no_number():
    result = what_if_result()
    divergence = result.divergence.copy()
    divergence[3] = np.nan
    refused = {result.edits[3]: "no"}
    found = frame(replace(result, divergence=divergence, refused=refused), EffectView())
    assert list(found.edit) == list(result.edits)
    assert (found.refused[3], np.isnan(found.divergence[3])) == ("no", True)
