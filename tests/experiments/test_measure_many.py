"""Many prompts with several models from Python: the table of a sweep, and two models compared."""

import inspect
import json
import pickle
import re
import warnings
from functools import partial
from pathlib import Path

import by_hand
import numpy as np
import pandas as pd
import pytest
import tiny
from scipy import stats
from torch import nn

from coupling_core import (
    InputError,
    Request,
    Store,
    View,
    compare_models,
    jacobian,
    means_by,
    measure,
    measure_many,
    score_pairs,
    wrap,
)
from coupling_core.analysis.scores import mean_interval, means
from coupling_core.base.records import HOW
from coupling_core.experiments.sweeps import read_table, write_table
from coupling_core.experiments.sweeps.table import COLUMNS, MEASURED, OF_ONE_KIND
from coupling_core.measuring import many

TEXTS = ("The cat sat", "on the mat", "The dog sat on the mat")


OF_DEPTH = [
    name
    for name in COLUMNS
    if name not in (*OF_ONE_KIND, "k_share", "floor_error", "blocks", "loss", "score")
]
"""Columns of a table of blocks at one token, of models whose performance is not known."""


@pytest.fixture(scope="module")
def where(tmp_path_factory):
    return tiny.folder(tmp_path_factory.mktemp("models") / "llama")


@pytest.fixture(scope="module")
def own():
    return tiny.model("gpt2", seed=1)


@pytest.fixture(scope="module", autouse=True)
def kept(tmp_path_factory):
    """What one test has measured is read in the next, where that is not what it is about."""
    asked.store = Store(tmp_path_factory.mktemp("kept"), gallery=Path("none"))


def asked(prompts, models, **said):
    how = {"k": (4, 8), "tokenizer": tiny.tokenizer(), "progress": False, "store": asked.store}
    return measure_many(prompts, models, **how | said)


def test_every_model_meets_every_prompt_with_the_numbers_of_measure(where, own):
    table = asked(TEXTS, [where, own, {"model": where, "untrained": 0}])
    assert list(table.columns) == OF_DEPTH
    names = ["llama", "GPT2LMHeadModel", "llama, untrained (seed 0)"]
    assert list(table["model"].unique()) == names
    assert len(table) == 3 * len(TEXTS) * 2
    models = (({"model": str(where)}, {}), ({}, {"model": own, "tokenizer": tiny.tokenizer()}))
    for name, (says, module) in zip(names, models, strict=False):
        for text in TEXTS:
            result = measure(Request(text, k=8, **says), **module)
            rows = table[(table["model"] == name) & (table["prompt"] == text)]
            for row in rows.itertuples():
                expected = means(score_pairs(result, View(row.k)))
                assert {each: getattr(row, each) for each in expected} == expected
                aligned = means(score_pairs(result, View(row.k, "alignment")))
                assert row.alignment == aligned["coupling"]
                assert (row.tokens, row.layers) == (len(result.tokens), result.n_blocks)
                assert row.certified


def test_a_table_says_what_its_scores_are(own, tmp_path):
    table = asked(TEXTS[:1], own, k=4, definition="alignment", final_norm="exclude")
    said = {name: of for name, of in table.attrs.items() if name != "left_out"}
    assert said == {
        "kind": "depth", "final_norm": "exclude", "token": -1, "k": 4,
        "definition": "alignment", "role": "A",
    }  # fmt: skip
    table.to_parquet(tmp_path / "t.parquet")
    assert pd.read_parquet(tmp_path / "t.parquet").attrs["definition"] == "alignment"
    paths = asked(TEXTS[:1], own, k=None, kind="trajectory")
    assert "definition" not in paths.attrs


def test_each_module_may_have_a_tokenizer_of_its_own(own, monkeypatch):
    came = []

    def watching(request, store, **how):
        came.append(how["tokenizer"])
        return measure(request, store, **how)

    monkeypatch.setattr("coupling_core.experiments.many_answers.measure", watching)
    shared, other = tiny.tokenizer(), tiny.tokenizer()
    models = {"a": own, "b": {"model": own, "tokenizer": other}}
    table = asked(TEXTS[:1], models, k=4, tokenizer=shared)
    assert table["model"].tolist() == ["a", "b"]
    assert [one is shared for one in came] == [True, False]
    assert came[1] is other


def test_it_goes_on_where_it_stopped(where, tmp_path, monkeypatch):
    measured = []

    def counting(request, store, **how):
        measured.append(request.prompt)
        if len(measured) == 2:
            raise KeyboardInterrupt
        return measure(request, store, **how)

    monkeypatch.setattr(many, "measure", counting)
    with pytest.raises(KeyboardInterrupt):
        asked(TEXTS, [where], store=tmp_path / "kept")
    entries = [each for each in Store(tmp_path / "kept").entries() if not each.read_only]
    assert len(entries) == 1
    again = asked(TEXTS, [where], store=tmp_path / "kept")
    entries = [each for each in Store(tmp_path / "kept").entries() if not each.read_only]
    assert len(entries) == len(TEXTS)
    assert set(again["key"]) == {each.key for each in entries}
    pd.testing.assert_frame_equal(again, asked(TEXTS, [where], store=tmp_path / "kept"))


def test_what_stands_beside_a_prompt_is_kept(where, tmp_path):
    rows = [
        {"prompt": TEXTS[0], "category": "cat", "difficulty": 1, "mood": "calm", "tokens": 7},
        {"prompt": TEXTS[1], "category": "mat", "difficulty": None, "mood": "flat", "tokens": 8},
    ]
    frame = pd.DataFrame(rows)
    (tmp_path / "prompts.jsonl").write_text(frame.to_json(orient="records", lines=True))
    frame.to_csv(tmp_path / "prompts.csv", index=False)
    for prompts in (rows, frame, tmp_path / "prompts.jsonl", str(tmp_path / "prompts.csv")):
        table = asked(prompts, where, k=4)
        assert list(table.columns) == [*OF_DEPTH, "mood", "prompt_tokens"]
        assert list(table["mood"]) == ["calm", "flat"]
        assert [int(n) for n in table["prompt_tokens"]] == [7, 8]
        assert list(table["category"]) == ["cat", "mat"]
        assert table["difficulty"][0] == 1
        assert np.isnan(table["difficulty"][1])
    write_table(tmp_path / "t.csv", table)
    np.testing.assert_allclose(
        read_table(tmp_path / "t.csv")["corrected"], table["corrected"], 1e-5
    )


def test_a_cell_that_a_prompt_lacks_is_nan_and_no_column_is_lost(own):
    rows = [
        {"prompt": TEXTS[0], "tokens": 7, "prompt_tokens": 8, "mood": "calm"},
        {"prompt": TEXTS[1], "tokens": None},
    ]
    table = asked(rows, own, k=4)
    assert list(table.columns) == [*OF_DEPTH, "prompt_prompt_tokens", "prompt_tokens", "mood"]
    assert table["tokens"][0] == 3
    assert list(table.iloc[0, -3:]) == [7, 8, "calm"]
    assert all(np.isnan(cell) for cell in table.iloc[1, -3:])


def test_models_have_the_names_that_they_are_given(own):
    other = tiny.model("gpt2", seed=2)
    named = asked(TEXTS[:1], {"a": own, "b": other}, k=4)
    assert list(named["model"]) == ["a", "b"]
    numbered = asked(TEXTS[:1], [own, other], k=4)
    assert list(numbered["model"]) == ["GPT2LMHeadModel", "GPT2LMHeadModel 2"]
    assert list(numbered["corrected"]) == list(named["corrected"])
    assert named["corrected"][0] != named["corrected"][1]


def test_token_ids_and_other_kinds(own):
    table = asked([[3, 1, 4], [1, 5, 9, 2]], own, k=(1, 4), kind="self", token=-1)
    assert list(table["prompt"].unique()) == ["#3 #1 #4", "#1 #5 #9 #2"]
    assert list(table["k"]) == [1, 4, 1, 4]
    paths = asked([[3, 1, 4]], own, kind="trajectory")
    assert paths["line_shape"].notna().all()
    assert paths["k"].isna().all()
    assert [name for name in MEASURED if name in paths] == ["line_shape", "expodistance"]
    assert paths["model"].notna().all()


def test_where_no_k_is_said_each_model_is_measured_at_its_own(own):
    gpt = by_hand.GPT()
    models = {"narrow": wrap(gpt, blocks=gpt.blocks), "wide": own}
    table = asked([[3, 1, 4]], models, k=None)
    assert list(table["k"]) == [23, 31]  # a layer norm takes one rank
    assert table["corrected"][1] == measure([3, 1, 4], model=own).scores(k=31).mean().corrected
    with pytest.warns(UserWarning, match=r"K must lie in 1..24"):
        assert list(asked([[3, 1, 4]], models, k=32)["model"]) == ["wide"]


def test_a_narrow_model_has_the_k_that_it_is_wide_enough_for(where):
    wide = {"model": "coupling-explorer/mini-64", "revision": "step0"}
    with pytest.warns(UserWarning, match="K = 60 is left out of narrow, whose width is 32"):
        table = asked(TEXTS[:1], {"narrow": where, "wide": wide}, k=(8, 60))
    assert list(zip(table["model"], table["k"], strict=True)) == [
        ("narrow", 8), ("wide", 8), ("wide", 60)
    ]  # fmt: skip
    with pytest.raises(InputError, match="at K = 8, and not at 60: its width is 32, beyond which"):
        compare_models(table, "wide", "narrow", k=60)
    result = measure(Request(TEXTS[0], k=60, **wide))
    assert table["corrected"].iloc[2] == means(score_pairs(result, View(60)))["corrected"]
    with pytest.warns(UserWarning, match="left out: narrow: The cat sat: K must lie"):
        assert set(asked(TEXTS[:1], {"narrow": where, "wide": wide}, k=60)["model"]) == {"wide"}


def test_a_wrapped_module_has_its_own_name():
    gpt = by_hand.GPT()
    wrapped = wrap(gpt, blocks=gpt.blocks, final_norm=gpt.ln_f, forward=lambda g, ids: g(ids))
    table = measure_many([[1, 2, 3], [4, 5, 6]], models=[wrapped], k=5)
    assert table["model"].tolist() == ["GPT", "GPT"]
    result = measure([4, 5, 6], k=5, model=wrapped)
    assert table["corrected"][1] == result.scores(k=5).mean().corrected
    j = jacobian(wrapped, [4, 5, 6], block=2, token=3, k=5)
    assert (j.s == result.singular_values[1, :5]).all()


def hooked():
    model = tiny.model("llama")
    model.model.layers[1].register_forward_hook(lambda module, given, out: out)
    return model


def test_what_is_not_stored_is_said_once_with_how_it_would_be(tmp_path, caplog):
    model, store = hooked(), Store(tmp_path / "store")
    measure_many([[1, 2, 3], [4, 5, 6]], model, k=4, store=store)
    (told,) = [one.message for one in caplog.records if "not stored" in one.message]
    assert told.startswith(
        "the results of LlamaForCausalLM (with a hook) are not stored: code of your own runs"
    )
    assert '{"model": module, "variant": "..."}' in told
    assert not store.root.exists()


def test_a_module_is_stored_by_what_was_done_to_it(tmp_path, caplog):
    said, store = {"model": hooked(), "variant": "hooked"}, Store(tmp_path / "store")
    table = measure_many([[1, 2, 3]], {"mine": said, "plain": tiny.model("llama")}, store=store)
    assert table["model"].tolist() == ["mine", "plain"]
    assert not [one for one in caplog.records if "not stored" in one.message]
    keys = {one.key for one in store.entries() if not one.read_only}
    mine = measure([1, 2, 3], store, model=said["model"], variant="hooked")
    assert mine.key in keys
    assert len(keys) == 2


def test_a_prompt_that_fails_is_left_out_and_told(own):
    with pytest.warns(UserWarning, match="is out of range"):
        table = asked([[3, 1, 4], [10_000]], own, k=4)
    assert len(table) == 1
    (why,) = table.attrs["left_out"].values()
    assert "is out of range" in why
    with pytest.raises(InputError, match=r"^token id 10000 is out of range"):
        asked([[10_000]], own, k=4)


@pytest.mark.parametrize(
    ("prompts", "models", "words"),
    [
        ([], ["minilm-l6"], "nothing is to be measured"),
        ("no/such/file.csv", ["minilm-l6"], "prompts' file no/such/file.csv is not there"),
        ("no such file", ["minilm-l6"], "is no file's path: expected a list of texts"),
        ([{"text": "a"}], ["minilm-l6"], "prompt 1 of those that came has no 'prompt', but text"),
        ([{"prompt": " "}], ["minilm-l6"], "prompt 1 of those that came is empty or missing"),
        (pd.DataFrame({"prompt": ["a", None]}), ["minilm-l6"], "prompt 2 .* in a frame by dropna"),
        (["minilm-l6"], ["The cat sat"], "may be a prompt: those come first"),
        (["a"], {}, "nothing is to be measured"),
        (["a", "  "], ["minilm-l6"], "prompt 2 of those that came is empty"),
        (["a"], ["no-such-model"], "is unknown: expected an alias"),
        (["a"], [{"model": "minilm-l6", "k": 4}], "a model of a name says k"),
        (["a"], [{"model": "minilm-l6", "variant": "x"}], "a model of a name says variant"),
        (["a"], [{"model": nn.Linear(2, 2), "dtype": "float16"}], "of your own says dtype"),
        (["a"], [], "nothing is to be measured"),
        (["a"], {"model": "minilm-l6", "untraind": 1}, "a model of a name says untraind"),
        (Path("gone.csv"), ["minilm-l6"], "the prompts' file gone.csv is not there"),
    ],
)
def test_what_cannot_be_measured_is_refused_in_words(prompts, models, words):
    with pytest.raises(InputError, match=words):
        asked(prompts, models)


def test_a_model_that_comes_twice_is_measured_once(where, own):
    with pytest.warns(UserWarning, match="llama comes more than once among the models"):
        table = asked(["The cat sat"], [where, where, own, own], k=4)
    assert table["model"].tolist() == ["llama", *dict.fromkeys(table["model"][1:])]
    assert len(table) == 3  # of modules nobody knows whether they are one
    named = asked(["The cat sat"], {"a": where, "b": where}, k=4)
    assert named["model"].tolist() == ["a", "b"]


def test_a_k_that_is_most_of_a_width_is_told():
    found = compare_models(planted(ks=(50,)).assign(width=64), "a", "b")
    assert found.verdict.endswith(
        "K = 50 is 78\u00a0% of the narrower model's width (64): so many directions are nearly all "
        "that there are, and tell little; a tenth is k=6."
    )
    assert "narrower" not in compare_models(planted(ks=(50,)).assign(width=640), "a", "b").verdict


@pytest.mark.parametrize("k", [[4, 8], "8", (8,)])
def test_one_k_is_compared_at_a_time(k):
    with pytest.raises(InputError, match="k is one K of the table, a number such as 8, and"):
        inspect.unwrap(compare_models)(planted(), "a", "b", k=k)
    with pytest.raises(InputError, match="measure is one column of the table"):
        inspect.unwrap(compare_models)(planted(), "a", "b", measure=["corrected"])


def test_models_of_two_widths_are_compared_at_a_share_of_each():
    table = planted(ks=(8, 16))
    table = table.assign(width=[80 if name == "a" else 160 for name in table["model"]])
    found = compare_models(table, "a", "b", k=0.1)
    own = table[table["k"] == table["width"] // 10]
    means = own.groupby("model")["corrected"].mean()
    assert (found.a_mean, found.b_mean) == pytest.approx((means["a"], means["b"]))
    assert "at K = 0.1 of the width, 8 of a and 16 of b, over n = 60 prompts" in found.verdict
    assert found.by_prompt().attrs["k"] == 0.1
    with pytest.raises(InputError, match=r"'b' at K = 12, 16, and not at 24 \(0\.15 of its width"):
        compare_models(table.replace({"k": {8: 12}}), "a", "b", k=0.15)
    with pytest.raises(InputError, match="no model of the table was measured at K = 0\\.5"):
        compare_models(table, "a", "b", k=0.5)
    with pytest.raises(InputError, match="lacks the column width"):
        compare_models(planted(), "a", "b", k=0.1)
    most = compare_models(planted().assign(width=10), "a", "b", k=0.8)
    assert "K = 8 is 80\u00a0% of the narrower" in most.verdict


def test_a_share_of_each_width_is_measured(where, own):
    gpt = by_hand.GPT()
    models = {"named": where, "own": own, "by hand": wrap(gpt, blocks=gpt.blocks)}
    table = asked([[3, 1, 4], [1, 5, 9]], models, k=0.25)
    assert dict(zip(table["model"], table["k"], strict=True)) == {
        "named": 8,
        "own": 8,
        "by hand": 6,
    }
    assert table["k_share"].tolist() == [0.25] * 6
    at_six = asked([[3, 1, 4]], models["by hand"], k=6)["corrected"]
    assert table["corrected"][4] == at_six[0]
    both = asked([[3, 1, 4], [1, 5, 9]], own, k=[0.25, 4, 8.0 / 31])
    assert both["k"].tolist() == [4, 8, 8] * 2
    np.testing.assert_array_equal(both["k_share"], [np.nan, 0.25, 8.0 / 31] * 2)
    several = means_by(both.assign(model="a"), "model")
    assert several["n"].tolist() == [2, 2, 2]
    twice = asked([[3, 1, 4], [1, 5, 9]], {"a": own, "b": own}, k=[8, 0.25])
    assert compare_models(twice, "a", "b", k=8).n == compare_models(twice, "a", "b", k=0.25).n == 2
    assert compare_models(table, "named", "by hand", k=0.25).n == 2


def test_raw_scores_are_told_beside_their_chance():
    floors = [0.5 if name == "a" else 0.4 for name in planted()["model"]]
    table = planted().assign(coupling=planted()["corrected"], chance=floors)
    found = compare_models(table, "a", "b", measure="coupling")
    assert (found.a_chance, found.b_chance) == pytest.approx((0.5, 0.4))
    assert "Chance gives 0.500 and 0.400, which differ by 0.100; interval and p" in found.verdict
    assert "Chance" not in compare_models(table, "a", "b").verdict
    with pytest.raises(InputError, match="'width' says of what a row is, and is no number that"):
        compare_models(table.assign(width=64), "a", "b", measure="width")


def test_the_error_of_sampled_floors_is_in_the_table_and_in_the_verdict(own):
    ids = [[3, 1, 4], [1, 5, 9]]
    table = asked(ids, {"a": own, "b": own}, k=4, definition="released")
    wanted = measure(ids[0], model=own, k=4).scores(k=4, definition="released").floor_error
    assert table["floor_error"][0] == wanted > 0
    assert "floor_error" not in asked(ids, own, k=4)
    sampled = planted().assign(definition="released", floor_error=0.03)
    found = compare_models(sampled, "a", "b")
    assert (found.a_floor_error, found.b_floor_error) == pytest.approx((0.03, 0.03))
    within = "error of 0.0300 and 0.0300, from which the difference cannot be told, whatever"
    assert within in found.verdict
    small = compare_models(sampled.assign(floor_error=0.001), "a", "b").verdict
    assert "error of 0.0010 and 0.0010, which interval and p leave out" in small
    untold = compare_models(sampled.drop(columns="floor_error"), "a", "b").verdict
    assert "an error that interval and p leave out" in untold


def test_several_k_are_told_as_they_were_asked_for(own):
    table = asked([[3, 1, 4]], {"a": own, "b": own}, k=(4, 0.5))
    for said in ({}, {"k": 5}):
        with pytest.raises(InputError, match=r"(several k: |it has )4, 0\.5 of the width"):
            compare_models(table, "a", "b", **said)


def test_two_widths_are_told_a_k_that_says_something():
    table = planted(ks=(50,)).assign(width=64)
    other = planted(ks=(48,)).assign(width=48)
    table = pd.concat([table[table.model == "a"], other[other.model == "b"]])
    with pytest.raises(InputError, match=r"k=4\) does, or at a share of each one's width, k=0\.1"):
        compare_models(table, "a", "b")


def test_results_that_are_not_certified_are_told():
    table = planted()
    failed = (table["prompt"] == "prompt 3") & (table["model"] == "a")
    table = table.assign(certified=~failed)
    assert "1 result of 120 is not certified: an SVD" in compare_models(table, "a", "b").verdict
    assert "certified" not in compare_models(planted(), "a", "b").verdict
    assert "certified" not in compare_models(planted().assign(certified=True), "a", "b").verdict
    assert means_by(table, "model").attrs["uncertified"] == 1
    with pytest.raises(InputError, match="the table has no row"):
        compare_models(table[:0], "a", "b")


def test_differences_are_in_the_order_of_the_prompts():
    table = planted(12).sample(frac=1, random_state=0)
    order = table["prompt"][table["model"] == "a"].tolist()
    assert list(compare_models(table, "a", "b").prompts) == order


def test_each_difference_has_what_stands_beside_its_prompt():
    table = planted(6).assign(topic=list("xyzxyz") * 2, difficulty=1.0, definition="paper")
    found = compare_models(table, "a", "b")
    each = found.by_prompt()
    assert list(each) == ["prompt", "topic", "a", "b", "difference"]
    topics = dict(zip(table["prompt"], table["topic"], strict=True))
    assert each["topic"].tolist() == [topics[prompt] for prompt in each["prompt"]]
    assert each["difference"].mean() == pytest.approx(found.difference)
    told = {"a": "a", "b": "b", "measure": "corrected", "kind": "depth", "k": 8.0}
    assert each.attrs == told | {"definition": "paper", "column": "model"}
    assert pickle.loads(pickle.dumps(found)) == found


def planted(n=60, shift=0.05, seed=0, ks=(8,)):
    """Two models whose numbers differ by a shift, prompt by prompt, in a noise that they share."""
    rng = np.random.default_rng(seed)
    hard, noise = rng.normal(0, 0.2, n), rng.normal(0, 0.02, (2, n))
    return pd.DataFrame(
        [
            {
                "model": name,
                "prompt": f"prompt {number}",
                "kind": "depth",
                "k": k,
                "corrected": hard[number] + noise[of, number] + shift * (name == "a"),
            }
            for of, name in enumerate("ab")
            for number in range(n)
            for k in ks
        ]
    )


def test_a_difference_is_taken_prompt_by_prompt():
    table = planted().sample(frac=1, random_state=0)  # in any order
    found = compare_models(table, "a", "b")
    wide = table.pivot(index="prompt", columns="model", values="corrected")
    assert found.difference == pytest.approx((wide["a"] - wide["b"]).mean())
    assert found.p == pytest.approx(stats.ttest_rel(wide["a"], wide["b"]).pvalue)
    assert found.low < 0.05 < found.high
    ordinary = stats.t.interval(0.95, 59, *(f(wide["a"] - wide["b"]) for f in (np.mean, stats.sem)))
    np.testing.assert_allclose((found.low, found.high), ordinary)
    assert (found.n, found.without, found.enough, found.k) == (60, 0, True, 8)
    back = compare_models(table, "b", "a")
    assert back.difference == pytest.approx(-found.difference)
    assert "n = 60 prompts" in str(found)


def test_the_interval_has_its_level_and_the_test_too():
    """Of 200 pairs of models that do not differ, about one in twenty is called different."""
    found = [compare_models(planted(40, 0, seed), "a", "b") for seed in range(200)]
    assert 2 <= sum(one.p < 0.05 for one in found) <= 20
    assert sum(not one.low < 0 < one.high for one in found) == sum(one.p < 0.05 for one in found)


def test_the_interval_of_five_prompts_has_its_level_too():
    """Drawing five prompts anew would leave out the truth in 17 of 100 tables, not in 5."""
    found = [compare_models(planted(5, 0, seed), "a", "b") for seed in range(400)]
    assert sum(not one.low < 0 < one.high for one in found) <= 36


def test_only_prompts_of_both_count():
    table = planted(8)
    table.loc[(table["model"] == "a") & (table["prompt"] == "prompt 3"), "corrected"] = np.nan
    table = table[~((table["model"] == "b") & (table["prompt"] == "prompt 5"))]
    found = compare_models(table, "a", "b")
    assert (found.n, found.without, found.enough) == (6, 2, False)
    few = compare_models(planted(1), "a", "b")
    assert np.isnan([few.low, few.high, few.p]).all()
    assert "at least 5 prompts" in few.reason
    assert few.reason in str(few)


@pytest.mark.parametrize(
    ("table", "said", "words"),
    [
        (planted(ks=(4, 8)), {}, "the table has several k: 4, 8"),
        (planted(), {"k": 5}, "no k = 5: it has 8"),
        (planted(), {"a": "c"}, "no model 'c': it has 'a', 'b'"),
        (planted(), {"measure": "alignment"}, "'alignment' is no column of numbers"),
        (pd.concat([planted(), planted()]), {}, "several rows of 'a' with one prompt"),
        (planted(1).iloc[:0], {}, "the table has no row"),
    ],
)
def test_what_cannot_be_compared_is_refused(table, said, words):
    with pytest.raises(InputError, match=words):
        compare_models(table, **{"a": "a", "b": "b"} | said)


def test_a_column_that_is_empty_is_told_as_that():
    rows = [
        {"model": model, "prompt": prompt, "kind": "depth", "k": 8, "corrected": np.nan}
        for model in "ab"
        for prompt in "xy"
    ]
    with pytest.raises(InputError, match="no corrected of 'a', where every row is empty"):
        compare_models(pd.DataFrame(rows), "a", "b")


def test_a_comparison_shows_itself_as_its_sentence():
    rows = [
        {"model": model, "prompt": str(n), "kind": "depth", "k": 8, "corrected": n / 7 + at}
        for at, model in enumerate("ab")
        for n in range(6)
    ]
    found = compare_models(pd.DataFrame(rows), "a", "b")
    assert repr(found).startswith("ModelComparison(")
    assert len(repr(found)) < 200


@pytest.mark.parametrize(
    "other",
    [
        {"definition": "alignment"},
        {"role": "B"},
        {"token": 1},
        {"final_norm": "exclude"},
        {"blocks": "2-4"},
    ],
    ids=HOW,
)
def test_scores_that_came_about_in_other_ways_are_kept_apart(own, other):
    (name,) = other
    one = asked(TEXTS, {"a": own}, k=4)
    same = asked(TEXTS, {"b": own}, k=4)
    table = asked(TEXTS, {"b": own}, k=4, **other)
    assert compare_models(pd.concat([one, same]), "a", "b").difference == 0
    with pytest.raises(InputError, match=f"the rows differ in {name}"):
        compare_models(pd.concat([one, table]), "a", "b")
    means = means_by(pd.concat([same, table]), "model")
    usual = same[name].unique() if name in same else ["all"]
    told = [each if each == each else "all" for each in means[name]]
    assert told == [*usual, *table[name].unique()]
    assert list(means.n) == [len(TEXTS)] * 2


@pytest.mark.parametrize("blocks", ["2-4", range(2, 5), [-3, 3, 4], (n for n in (2, 3, 4))])
def test_scores_are_of_the_blocks_that_are_chosen(own, where, tmp_path, blocks):
    table = asked(TEXTS, {"a": own, "b": where}, blocks=blocks)
    told = "2-4"
    assert set(table["blocks"]) == {table.attrs["blocks"]} == {told}
    for row in table[table["model"] == "b"].itertuples():
        found = measure(Request(row.prompt, k=8, model=str(where)))
        expected = found.scores(row.k, "2-4").mean()
        assert (row.corrected, row.coupling) == (expected.corrected, expected.coupling)
        assert row.alignment == found.scores(row.k, "2-4", definition="alignment").mean().coupling
    compared = compare_models(table, "a", "b", k=4)
    assert f"at K = 4 (blocks {told!r}), over n = 3" in compared.verdict
    assert compared.blocks == compared.by_prompt().attrs["blocks"] == told
    write_table(tmp_path / "t.csv", table)
    assert set(read_table(tmp_path / "t.csv")["blocks"]) == {told}


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"blocks": "2-9"}, "a: block 9 is out of range: this model has blocks 1..4"),
        ({"blocks": -1}, "blocks=-1 is one block, and scores are of pairs"),
        ({"blocks": "two"}, "blocks 'two' are none that a model can have: expected a text such as"),
        ({"blocks": 0}, "blocks 0 are none that a model can have"),
        ({"blocks": []}, r"blocks \[\] are none that a model can have"),
        ({"blocks": "2-4", "kind": "self"}, "choose pairs of the kind depth, and self was asked"),
    ],
)
def test_blocks_that_there_are_not_are_refused_before_all_is_measured(own, said, why):
    store = Store(gallery=Path("none"))
    with pytest.raises(InputError, match=why):
        asked(TEXTS, {"a": own}, store=store, **said)
    assert len(store.entries()) <= 1


def test_all_blocks_by_number_are_all_of_them_and_those_of_other_depths_keep_their_name(own):
    assert "blocks" not in asked(TEXTS, {"a": own}, blocks="1-4")
    gpt = by_hand.GPT()
    models = {"a": own, "b": wrap(gpt, blocks=gpt.blocks)}
    table = asked([[3, 1, 4], [1, 5, 9]], models, k=4, blocks="-2--1")
    assert set(table["blocks"]) == {"-2--1"}
    assert compare_models(table, "a", "b").n == 2


TOPICS = [
    {"prompt": " ".join(["the cat sat on"] * n), "topic": "odd" if n % 2 else "even"}
    for n in range(1, 12)
]


def test_two_ways_to_look_at_a_model_are_compared_prompt_by_prompt(own):
    asked_so = partial(asked, TOPICS, {"a": own}, k=4)
    late, early = asked_so(blocks="-2--1"), asked_so(blocks="1-2")
    table = pd.concat([late, asked_so(), early])
    found = compare_models(table, "3-4", "1-2", column="blocks")
    apart = late["corrected"] - early["corrected"]
    assert found.difference == pytest.approx(apart.mean())
    assert found.p == pytest.approx(stats.ttest_rel(late["corrected"], early["corrected"]).pvalue)
    assert (found.model, found.blocks, found.n) == ("a", "", 11)
    assert found.verdict.startswith("blocks 3-4 ")
    assert "at K = 4 of a, over n = 11 prompts" in found.verdict
    assert compare_models(table, "1-2", "all", column="blocks").a_mean == found.b_mean
    assert "blocks" not in found.by_prompt().attrs
    groups = found.means_by("topic")
    assert groups["topic"].tolist() == ["odd", "even"]
    for name, row in groups.set_index("topic").iterrows():
        of = apart[(late["topic"] == name).to_numpy()]
        assert (row.n, row.difference) == (len(of), pytest.approx(of.mean()))
        interval = stats.t.interval(0.95, len(of) - 1, of.mean(), stats.sem(of))
        assert (row.low, row.high) == pytest.approx(interval)
        assert row.p == pytest.approx(stats.ttest_1samp(of, 0).pvalue)
    assert groups.attrs["column"] == "blocks"


@pytest.mark.parametrize(
    ("column", "a", "b"), [("role", "A", "B"), ("definition", "paper", "alignment")]
)
def test_roles_and_definitions_of_a_model_compare_too(own, column, a, b):
    tables = [asked(TEXTS, {"m": own}, k=4, **{column: name}) for name in (a, b)]
    found = compare_models(pd.concat(tables), a, b, column=column)
    assert (found.a_mean, found.b_mean) == tuple(of["corrected"].mean() for of in tables)
    assert found.names == (f"{column} {a}", f"{column} {b}")


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({}, r"no model '3-4' \('3-4' is of its blocks: column='blocks' compares these\)"),
        ({"column": "block"}, r"the column must be one of model, blocks.*did you mean 'blocks'"),
        ({"column": "role"}, "the table has no role '3-4'.*it has 'A'"),
    ],
)
def test_what_cannot_be_compared_of_a_model_is_refused(own, said, why):
    tables = [asked(TEXTS, {"a": own}, k=4, blocks=b) for b in ("3-4", "1-2")]
    with pytest.raises(InputError, match=why):
        inspect.unwrap(compare_models)(pd.concat(tables), "3-4", "1-2", **said)
    both = pd.concat([*tables, tables[0].assign(model="b")])
    with pytest.raises(
        InputError, match=r"several models \(a, b\), and two values of its blocks are"
    ):
        compare_models(both, "3-4", "1-2", column="blocks")
    with pytest.raises(InputError, match="no column 'kind' of their own: they have tokens, with"):
        compare_models(pd.concat(tables), "3-4", "1-2", column="blocks").means_by("kind")


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda: inspect.unwrap(measure_many)(5), "the prompts came as int: expected a list of"),
        (lambda: inspect.unwrap(measure_many)(["a b"], 5), "the models came as int: expected a"),
        (lambda: inspect.unwrap(means_by)(planted(2), 5), "by is a column of the table, such as"),
        (lambda: inspect.unwrap(read_table)(5), "int came where the path of a table is needed"),
        (
            lambda: inspect.unwrap(write_table)(planted(2), "a.csv"),
            r"DataFrame came where the path .*: write_table\(path, table\)",
        ),
    ],
)
def test_what_is_no_list_and_no_path_is_refused_in_words(call, why):
    with pytest.raises(InputError, match=why):
        call()


def test_one_reason_of_all_prompts_is_the_error(own):
    with pytest.raises(InputError, match=r"^K must lie in 1\.\.32 \(the model's width\)"):
        asked(TEXTS, {"a": own}, k=33)


def test_an_empty_cell_of_a_column_is_a_group_of_its_own():
    topics = ["one", "one", np.nan, "two", "two", np.nan]
    table = planted(6).assign(topic=topics * 2, size=[1, 2, np.nan, 4, 5, 6] * 2)
    found = compare_models(table, "a", "b")
    groups = found.means_by("topic")
    assert dict(zip(groups["topic"].fillna("none"), groups["n"], strict=True)) == {
        "one": 2,
        "none": 2,
        "two": 2,
    }
    assert {"topic", "size"} <= set(found.by_prompt())
    both = found.means_by(["topic", "size"])
    assert list(both.columns[:3]) == ["topic", "size", "n"]
    assert both["n"].sum() == 6
    for wrong in (3, [3], []):
        with pytest.raises(InputError, match="a column makes the groups"):
            inspect.unwrap(found.means_by.__func__)(found, wrong)


def test_a_few_prompts_have_an_interval_and_no_p():
    table = planted(3).assign(topic=list("xxy") * 2)
    found = compare_models(table, "a", "b")
    of = mean_interval(np.array(found.of_a) - np.array(found.of_b))
    assert (found.low, found.high) == pytest.approx((of.low, of.high))
    assert np.isnan(found.p)
    assert re.search(
        r"95\u00a0%: -?0\.\d+ to 0\.\d+, no p, and wide: of 3 prompts\)", found.verdict
    )
    groups = found.means_by("topic").set_index("topic")
    assert np.isfinite(groups.low["x"])
    assert np.isnan(groups.low["y"])
    caption = found.plot(by="topic").figure.layout.meta["caption"]
    assert re.search(r"Of each alone: x .*, n = 2\); y .*\(no interval: n = 1\)\.", caption)


def test_two_modules_of_one_class_are_told_apart(own, tmp_path):
    store = tmp_path / "store"
    one = asked(TEXTS, own, k=4, store=store, blocks="1-2")
    other = asked(TEXTS, tiny.model("gpt2", seed=2), k=4, store=store, blocks="3-4")
    assert one["model"][0] == other["model"][0]
    assert one["id"].nunique() == 1
    assert one["id"][0] != other["id"][0]
    both = pd.concat([one, other])
    with pytest.warns(UserWarning, match="of 'GPT2LMHeadModel' of one module. They have the id"):
        compare_models(both, "1-2", "3-4", column="blocks")
    for column, values in (("id", ["x", "y"]), ("trained", [True, False])):
        of_two = both.assign(**{column: np.repeat(values, len(one))})
        with pytest.raises(InputError, match=f"are of several models, with the {column} '"):
            compare_models(of_two.assign(model="m"), "1-2", "3-4", column="blocks")
    mixed = both.assign(blocks="all")
    with pytest.warns(UserWarning, match="3 of the prompts have several measurements in one group"):
        means_by(mixed, "kind")
    named = mixed.assign(model=["one"] * len(one) + ["other"] * len(other))
    assert compare_models(named, "one", "other").n == 3
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*several measurements")
        means_by(named, "kind")
        means_by(both, "kind")


def test_a_column_of_the_prompts_own_says_nothing_of_models():
    table = planted(6).assign(model="m", role=["A"] * 6 + ["B"] * 6, id=list("uvwxyz") * 2)
    assert compare_models(table, "A", "B", column="role").n == 6


def test_several_measurements_that_nothing_keeps_are_told(own):
    both = [asked(TEXTS, tiny.model("gpt2", seed=n), k=4) for n in (1, 2)]
    with pytest.warns(UserWarning, match="3 of the prompts have several measurements in one group"):
        means_by(pd.concat(both), "kind")


def test_a_module_can_be_said_to_be_untrained(own):
    models = {"t": own, "u": {"model": tiny.model("gpt2", seed=2), "trained": False}}
    table = asked(TEXTS, models, k=4)
    assert table.groupby("model")["trained"].first().to_dict() == {"t": True, "u": False}
    assert compare_models(table, "t", "u").untrained == ("u",)
    with pytest.raises(InputError, match="trained is True or False of a module, and 1 came"):
        asked(TEXTS, {"u": {"model": own, "trained": 1}}, k=4)
    assert asked(TEXTS, {"trained": own}, k=4)["model"].unique() == ["trained"]


def test_what_is_unlike_of_two_is_told():
    table = planted(6).assign(width=[64] * 6 + [16] * 6, layers=4)
    found = compare_models(table, "a", "b")
    assert found.widths == (64, 16)
    told = "K = 8 is 12\u00a0% of the width of a (64) and 50\u00a0% of that of b (16): a share"
    assert told in found.verdict
    assert compare_models(table.assign(width=64), "a", "b").widths is None
    blocks = table.assign(width=64, layers=6, blocks=["1-4"] * 6 + ["2-3"] * 6, model="m")
    found = compare_models(blocks, "1-4", "2-3", column="blocks")
    assert (found.spans, found.shared_blocks) == ((4, 2), 2)
    assert "go over 4 and 2 blocks: scores change with the distance" in found.verdict
    assert "2 blocks are in both, and the scores of their pairs with them" in found.verdict
    apart = blocks.replace({"blocks": {"2-3": "5-6"}})
    assert "in both" not in compare_models(apart, "1-4", "5-6", column="blocks").verdict
    ways = table.assign(model="m", width=64, definition=["paper"] * 6 + ["alignment"] * 6)
    found = compare_models(ways, "paper", "alignment", column="definition")
    assert "Two definitions are two quantities" in found.verdict
    assert found.to_pandas().untrained[0] == ""


def test_columns_by_name_are_prompts_too(own):
    columns = {"prompt": list(TEXTS), "Category": ["x", "y", "x"]}
    table = asked(columns, own, k=4)
    frame = asked(pd.DataFrame(columns), own, k=4)
    pd.testing.assert_frame_equal(table, frame)
    series = asked(dict(pd.DataFrame(columns)), own, k=4)
    pd.testing.assert_frame_equal(series, table)
    assert asked({"prompt": TEXTS[0]}, own, k=4)["prompt"].tolist() == [TEXTS[0]]
    for wrong in ({"text": ["a"]}, {"prompt": ["a", "b"], "category": ["x"]}, {"prompt": 3}, {}):
        with pytest.raises(InputError, match="expected columns by name, equally long lists"):
            asked(wrong, own)


def test_numbers_of_paths_are_told_to_be_of_other_depths():
    table = planted(6).assign(kind="trajectory", k=np.nan, layers=[30] * 6 + [8] * 6)
    table = table.rename(columns={"corrected": "line_shape"})
    found = compare_models(table, "a", "b", measure="line_shape")
    assert "The two have 30 and 8 blocks, and the number may change with how" in found.verdict
    alike = compare_models(table.assign(layers=8), "a", "b", measure="line_shape")
    assert "blocks" not in alike.verdict


def test_only_sampled_floors_are_told_as_that():
    table = planted(6).assign(
        model="m",
        definition=["paper"] * 6 + ["released"] * 6,
        floor_error=[np.nan] * 6 + [1e-3] * 6,
    )
    told = compare_models(table, "paper", "released", column="definition").verdict
    assert "the floors of released are means over 8 random bases" in told
    assert "with a standard error of 0.0010, " in told
    table = table.assign(definition=["preprint"] * 6 + ["released"] * 6, floor_error=1e-3)
    told = compare_models(table, "preprint", "released", column="definition").verdict
    assert "the floors are means" in told
    assert "with a standard error of 0.0010 and 0.0010, " in told


def test_the_figure_of_raw_scores_says_what_chance_alone_does():
    table = planted(6).assign(coupling=0.9, chance=[0.8] * 6 + [0.5] * 6)
    found = compare_models(table, "a", "b", measure="coupling")
    assert "Chance alone sets the two 0.300 apart." in found.plot().figure.layout.meta["caption"]


def test_a_group_of_a_number_has_the_name_of_its_column():
    found = compare_models(planted(6).assign(size=[1, 2, 1, 2, 1, 2] * 2), "a", "b")
    caption = found.plot(by="size").figure.layout.meta["caption"]
    assert "Of each alone: size 1 " in caption


def test_one_category_is_a_group_too():
    table = planted(6).assign(category="x", source="own")
    found = compare_models(table, "a", "b")
    assert found.means_by("category")["n"].tolist() == [6]
    assert set(found.own) == {"category"}
    assert set(compare_models(table.assign(category=""), "a", "b").own) == set()


def test_a_caption_says_that_intervals_of_few_are_wide():
    def caption(topics):
        found = compare_models(planted(10).assign(topic=topics * 2), "a", "b")
        return found.plot(by="topic").figure.layout.meta["caption"]

    told = "An interval of fewer than 5 prompts is wide, may go beyond"
    assert told in caption(list("xxxxxxyyyy"))
    assert told not in caption(list("xxxxxyyyyy"))


def test_a_path_in_the_place_of_a_table_is_told_how_it_is_read():
    with pytest.raises(InputError, match=r'compare_models\(sweeps\.read_table\("t\.csv"\), "one"'):
        inspect.unwrap(compare_models)("t.csv", "a", "b")


def test_a_file_that_is_not_there_is_no_prompt(own):
    with pytest.raises(InputError, match=r"the prompts' file prmpts\.csv is not there"):
        asked("prmpts.csv", own)


def test_warnings_point_at_the_line_of_the_call(own):
    for call in (
        lambda: asked([TEXTS[0]] * 2, own, k=4),
        lambda: means_by(planted(3), "kind"),
    ):
        with pytest.warns(UserWarning, match="prompts") as told:
            call()
        assert {one.filename for one in told} == {__file__}


def test_rounding_is_no_difference():
    table = planted(12, shift=0.0)
    a = table[table["model"] == "a"].set_index("prompt")["corrected"]
    noise = np.random.default_rng(0).normal(0, 1e-16, len(a))
    b = dict(zip(a.index, a + noise, strict=True))
    table.loc[table["model"] == "b", "corrected"] = [
        b[prompt] for prompt in table["prompt"][table["model"] == "b"]
    ]
    found = compare_models(table, "a", "b")
    assert (found.difference, found.reason) == (0, "the difference is the same for every prompt")
    assert np.isnan([found.p, found.low, found.high]).all()
    assert set(found.by_prompt()["difference"]) == {0}
    (dots,) = found.plot().figure.data
    assert set(dots.x) == {0}


def test_the_last_block_on_one_side_alone_is_told(own):
    tables = {
        (blocks, norm): asked(TEXTS, {"a": own}, k=4, blocks=blocks, final_norm=norm)
        for blocks in ("3-4", "1-2", "1-3", None)
        for norm in ("include", "exclude")
    }

    def compared(a, b, norm="include"):
        both = pd.concat([tables[a, norm], tables[b, norm]])
        return compare_models(both, a or "all", b or "all", column="blocks")

    assert compared("3-4", "1-2").last_block_of == "a"
    assert compared("1-2", None).last_block_of == "b"
    assert "The last block is among blocks 3-4 alone" in compared("3-4", "1-2").verdict
    assert "The last block is among all blocks alone" in compared("1-2", None).verdict
    assert compared("1-3", "1-2").last_block_of == compared("3-4", None).last_block_of == ""
    assert compared("3-4", "1-2", "exclude").last_block_of == ""


def test_the_last_block_of_a_shallower_model_is_told_too(own):
    gpt = by_hand.GPT()
    models = {"deep": own, "shallow": wrap(gpt, blocks=gpt.blocks)}
    ids = [[3, 1, 4], [1, 5, 9]]
    found = compare_models(asked(ids, models, k=4, blocks="2-3"), "deep", "shallow")
    assert found.last_block_of == "b"
    assert "The last block is among the blocks of shallow alone" in found.verdict
    every = asked(ids, models, k=4)
    assert compare_models(every, "deep", "shallow").last_block_of == ""
    first = asked(ids, models, k=4, blocks="1-2")
    assert compare_models(first, "deep", "shallow").last_block_of == ""


def test_blocks_are_compared_however_they_are_named(own):
    tables = [asked(TEXTS, {"a": own}, k=4, blocks=b) for b in ("3-4", "1-2", "all")]
    both = pd.concat(tables)
    found = compare_models(both, "3-4", "1-2", column="blocks")
    for a, b in (("-2--1", "1-2"), ("3,4", "2,1")):
        assert compare_models(both, a, b, column="blocks").difference == found.difference
    of_all = compare_models(both, "1-4", "1-2", column="blocks")
    assert (of_all.a, of_all.a_mean) == ("all", tables[2]["corrected"].mean())
    assert "blocks" not in tables[2]


def test_the_only_share_of_a_table_is_taken(own):
    gpt = by_hand.GPT()
    models = {"wide": own, "narrow": wrap(gpt, blocks=gpt.blocks)}
    table = asked([[3, 1, 4], [1, 5, 9]], models, k=0.25)
    found = compare_models(table, "wide", "narrow")
    assert (found.k, found.k_of_each) == (0.25, (8, 6))
    assert found == compare_models(table, "wide", "narrow", k=0.25)


def test_the_remedy_for_rows_that_come_twice_keeps_what_is_compared(own):
    tables = [asked(TEXTS, {"a": own}, k=4, blocks=b) for b in ("3-4", "1-2")]
    twice = pd.concat([*tables, *tables])
    with pytest.raises(InputError, match="each prompt once") as error:
        compare_models(twice, "3-4", "1-2", column="blocks")
    assert "models names" not in str(error.value)
    columns = re.search(r"drop_duplicates\((\[.*?\])\)", str(error.value))
    once = twice.drop_duplicates(json.loads(columns[1]))
    assert compare_models(once, "3-4", "1-2", column="blocks").n == 3


def test_a_column_named_as_one_of_models_is_the_prompts_own(own):
    table = planted(6).assign(source=["x", "y", "x"] * 4, step=[1, 2, 3] * 4)
    found = compare_models(table, "a", "b")
    assert found.means_by("source")["n"].tolist() == [4, 2]
    assert "step" in found.by_prompt()


def test_the_colours_are_of_the_column_that_is_asked_for():
    table = planted(6).assign(topic=list("xyzxyz") * 2)
    found = compare_models(table, "a", "b")
    names = [trace.name.split(":")[0] for trace in found.plot(by="topic").figure.data]
    assert names == ["x", "y", "z"]
    assert len(found.plot().figure.data) == 1
    with pytest.raises(InputError, match=r"no column 'topics' of their own.*did you mean 'topic'"):
        found.plot(by="topics")


def test_one_warning_for_all_prompts_with_one_reason(own):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        asked([[1, 2], [10_000], [1, 10_000]], {"a": own}, k=4)
    left_out = [str(one.message) for one in told if "left out" in str(one.message)]
    assert len(left_out) == 1
    assert "(and 1 more): token id 10000 is out of range" in left_out[0]


def test_sets_of_blocks_that_go_over_more_blocks_are_told(own):
    tables = [asked(TEXTS, {"a": own}, k=4, blocks=b) for b in ("1-3", "1-2", "3-4")]
    both = pd.concat(tables)
    assert compare_models(both, "1-3", "1-2", column="blocks").spans == (3, 2)
    assert "The two go over 3 and 2 blocks" in str(
        compare_models(both, "1-3", "3-4", column="blocks")
    )
    assert compare_models(both, "1-2", "3-4", column="blocks").spans is None
    gpt = by_hand.GPT()
    models = {"deep": own, "shallow": wrap(gpt, blocks=gpt.blocks)}
    every = asked([[3, 1, 4], [1, 5, 9]], models, k=4)
    assert compare_models(every, "deep", "shallow").spans == (4, 3)


@pytest.mark.parametrize(("name", "other"), [("final_norm", "exclude"), ("role", "B")])
@pytest.mark.parametrize("turned", [False, True])
def test_the_remedy_for_rows_that_differ_leaves_rows_of_both(own, name, other, turned):
    models = {"a": own, "b": own}
    tables = [asked(TEXTS, models, k=4, **more) for more in ({}, {name: other})]
    joined = pd.concat(tables[::-1] if turned else tables)
    with pytest.raises(InputError, match="choose one, as table") as error:
        compare_models(joined, "a", "b")
    _, value = re.search(rf"table\[table\.({name}) == '(\w+)'\]", str(error.value)).groups()
    assert compare_models(joined[joined[name] == value], "a", "b").n == 3


def test_rows_of_models_that_have_nothing_alike_are_to_be_measured_anew(own):
    one = asked(TEXTS, {"a": own}, k=4, blocks="1-2")
    other = asked(TEXTS, {"b": own}, k=4, blocks="3-4")
    with pytest.raises(InputError, match="each has one of its own, so measure them alike in it"):
        compare_models(pd.concat([one, other]), "a", "b")
    every = asked(TEXTS, {"a": own, "b": own}, k=4)
    with pytest.raises(InputError, match=r"choose one, as table\[table\.blocks\.isna\(\)\] does"):
        compare_models(pd.concat([every, other]), "a", "b")


def test_a_block_that_is_named_twice_is_said_so(own):
    with pytest.raises(InputError, match="block 3 is named twice"):
        asked(TEXTS, {"a": own}, blocks=[2, 3, 3])


def test_weights_of_an_untrained_model_are_one_draw(where):
    table = asked(TEXTS, {"t": where, "u": {"model": where, "untrained": 0}}, k=4)
    found = compare_models(table, "t", "u")
    assert found.untrained == ("u",)
    assert "The weights of u are one random draw: interval and p are over" in found.verdict
    alone = [asked(TEXTS, {"u": {"model": where, "untrained": 0}}, k=4, role=role) for role in "AB"]
    assert compare_models(pd.concat(alone), "A", "B", column="role").untrained == ("u",)
    assert compare_models(table.assign(trained=True), "t", "u").untrained == ()


def test_all_blocks_have_one_name(own):
    some = asked(TEXTS, {"a": own}, k=4, blocks="3-4")
    every = asked(TEXTS, {"a": own}, k=4)
    assert means_by(pd.concat([some, every]), "blocks")["blocks"].tolist() == ["3-4", "all"]


def test_one_as_a_share_is_refused(own):
    with pytest.raises(InputError, match=r"K = 1\.0 may be one direction or all of them"):
        asked(TEXTS, {"a": own}, k=(0.5, 1.0))


def test_a_whole_k_may_be_a_float(own):
    table = asked(TEXTS, {"a": own, "b": own}, k=4.0)
    assert table["k"].tolist() == [4] * 6
    assert compare_models(table, "a", "b").by_prompt().attrs["k"] == 4


def test_what_is_not_said_of_a_score_is_as_usual(own):
    usual = asked(TEXTS, {"a": own}, k=4).drop(columns=list(HOW[:-1]))
    other = asked(TEXTS, {"b": own}, k=4)
    assert compare_models(pd.concat([usual, other]), "a", "b").difference == 0
    for name, value in (("definition", "alignment"), ("role", "B"), ("final_norm", "exclude")):
        other = asked(TEXTS, {"b": own}, k=4, **{name: value})
        with pytest.raises(InputError, match=f"the rows differ in {name} \\({value}, "):
            compare_models(pd.concat([usual, other]), "a", "b")


def test_measurements_looked_at_in_several_ways_are_no_repeated_ones(where):
    named = {"models": {"a": where}, "k": 4, "store": None}
    topics = [{"prompt": text, "topic": "one"} for text in TEXTS]
    every, some = asked(topics, **named), asked(topics, blocks="2-4", **named)
    twice = pd.concat([every, some]).assign(key=[f"key {n}" for n in range(3)] * 2)
    other = twice.assign(topic="two")
    for table in (twice, pd.concat([twice, other])):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            means_by(table, "topic")
        assert [str(one.message) for one in told if "row already" in str(one.message)] == []
    with pytest.warns(UserWarning, match=r'drop_duplicates\(\["blocks", "key"\]\) leaves each'):
        means_by(pd.concat([twice, some.assign(key=twice["key"][:3].tolist())]), "topic")


def test_a_model_may_be_called_as_a_part_of_one_is(where):
    (one,) = set(asked(TEXTS[:1], {"untrained": {"model": where, "untrained": 0}})["model"])
    assert one == "untrained"


def test_a_comparison_names_its_definition(own):
    table = asked(TEXTS, {"a": own, "b": own}, k=4, definition="alignment")
    found = compare_models(table, "a", "b")
    assert "at K = 4 (definition 'alignment')" in found.verdict
    assert found.to_pandas().definition[0] == "alignment"
    usual = asked(TEXTS, {"a": own, "b": own}, k=4)
    assert "definition" not in compare_models(usual, "a", "b").verdict


def test_prompts_that_only_one_model_has_are_counted_in_the_sentence(own):
    table = asked(TEXTS, {"a": own, "b": own}, k=4)
    assert "left out" not in compare_models(table, "a", "b").verdict
    told = compare_models(table.iloc[1:], "a", "b").verdict
    assert "(1 that one of the two lacks, or without a number, is left out)" in told


@pytest.mark.parametrize("k", [0, 1.5, -0.1, 8.5, "8", True, [4, 8.5], [4, 0.0]])
def test_a_k_that_is_none_is_refused_in_words(own, k):
    with pytest.raises(InputError, match="K is a whole number from 1 on, below 1 a share of each"):
        inspect.unwrap(measure_many)(TEXTS, own, k=k, store=None)


def test_numbers_of_a_csv_file_are_numbers(own, tmp_path):
    file = tmp_path / "p.csv"
    file.write_text("prompt,rating,year,code,name\nThe cat,1.5,2001,007,a\nsat,,2002,012,\n")
    table = asked(file, own, k=4)
    frame = asked(pd.read_csv(file, dtype={"code": str}), own, k=4)
    for column in ("rating", "year", "code", "name"):
        pd.testing.assert_series_equal(table[column], frame[column])


def test_a_module_narrower_than_one_k_has_rows_for_the_others(own, recwarn):
    width = measure((3, 1, 4), model=own).width
    table = asked(TEXTS, {"a": own}, k=(4, width + 1))
    assert list(table.k) == [4] * len(TEXTS)
    told = [str(one.message) for one in recwarn if "left out" in str(one.message)]
    assert told == [f"K = {width + 1} is left out of a, whose width is {width}"]
    again = asked(TEXTS, {"a": own}, k=(4, width + 1))  # of which the store has all by now
    pd.testing.assert_frame_equal(again, table)


def test_a_column_of_a_frame_is_a_list_of_prompts(own):
    column = pd.Series(TEXTS)
    listed = asked(TEXTS, own, k=4)
    pd.testing.assert_frame_equal(asked(column, own, k=4), listed)


def test_a_definition_that_there_is_not_is_no_fault_of_the_prompts(own):
    with pytest.raises(InputError, match=r"^definition must be one of"):
        asked(TEXTS, own, definition="papr")


def test_models_without_a_k_in_common_are_told_the_one_that_both_could_have(own):
    one = asked(TEXTS, {"a": own}, k=4)
    other = asked(TEXTS, {"b": own}, k=8)
    with pytest.raises(InputError, match=r"no K in common \(4 and 8\).*k=3\)"):  # of a width of 32
        compare_models(pd.concat([one, other]), "a", "b")


def test_a_comparison_names_what_is_not_as_usual(own):
    how = {"role": "B", "token": 2, "final_norm": "exclude"}
    table = asked(TEXTS, {"a": own, "b": own}, k=4, **how)
    found = compare_models(table, "a", "b")
    assert "(role 'B', token 2, final norm 'exclude')" in found.verdict
    assert found.to_pandas().loc[0, list(how)].to_dict() == how


def test_where_every_k_is_beyond_the_width_that_is_the_error():
    model = tiny.model("llama", 0)
    with pytest.raises(InputError, match=r"^K must .*width"):
        measure_many([(1, 2, 3)], model, k=(1000, 2000), store=None, progress=False)


def test_a_model_of_one_block_has_no_score_and_that_is_told():
    model = tiny.model("llama", 0)
    del model.model.layers[1:]
    model.config.num_hidden_layers = 1
    with pytest.warns(UserWarning, match="one block, and coupling is of pairs of blocks"):
        measure_many([(1, 2, 3)], {"one": model}, k=4, store=None, progress=False)


def test_a_named_model_narrower_than_one_k_has_rows_for_the_others(where):
    with pytest.warns(UserWarning, match="K = 50 is left out of llama, whose width is 32"):
        table = measure_many(["The cat sat"], [str(where)], k=(4, 50), progress=False)
    assert table["k"].tolist() == [4]


def test_a_category_that_is_a_number_is_taken_as_from_a_file():
    frame = pd.DataFrame({"prompt": [[1, 2, 3], [4, 5]], "category": [1, 2]})
    table = measure_many(frame, tiny.model("llama"), k=4, store=None, progress=False)
    assert table["category"].tolist() == ["1", "2"]


def test_a_table_comes_back_from_csv_as_it_was(tmp_path):
    prompts = [{"prompt": "NA"}, {"prompt": "The cat"}]
    table = asked(
        prompts,
        {"0": tiny.model("llama"), "1": tiny.model("llama", 1)},
        k=(1, 4),
        definition="preprint",
    )
    table.to_csv(tmp_path / "t.csv", index=False)
    again = read_table(tmp_path / "t.csv")
    found, expected = (compare_models(of, "0", "1", k=4) for of in (again, table))
    assert (found.verdict, found.token) == (expected.verdict, -1)
    assert set(again["prompt"]) == {"NA", "The cat"}
    lost = pd.read_csv(tmp_path / "t.csv", keep_default_na=False)
    with pytest.raises(InputError, match=r"has texts in it: coupling_core\.sweeps\.read_table"):
        compare_models(lost, "0", "1", k=4)
