"""Many prompts with several models from Python: the table of a sweep."""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
import tiny
from tokenizers.normalizers import Lowercase

from coupling_core import (
    Request,
    Store,
    View,
    compare_models,
    means_by,
    measure,
    measure_many,
    score_pairs,
)
from coupling_core.analysis.scores import means
from coupling_core.experiments.sweeps.table import COLUMNS, MEASURED, OF_ONE_KIND
from coupling_core.measuring import many

TEXTS = ("The cat sat", "on the mat", "The dog sat on the mat")
IDS = ([3, 1, 4], [1, 5, 9])


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
def asked(asked):
    return partial(asked, k=(4, 8))


def own_entries(store):
    return [each for each in Store(store).entries() if not each.read_only]


def test_every_model_meets_every_prompt_with_the_numbers_of_measure(asked, where, own):
    table = asked(TEXTS, [where, own, {"model": where, "untrained": 0}])
    assert list(table.columns) == OF_DEPTH
    names = ["llama", "GPT2LMHeadModel", "llama, untrained (seed 0)"]
    assert list(table["model"].unique()) == names
    assert len(table) == 3 * len(TEXTS) * 2
    models = (({"model": str(where)}, {}), ({}, {"model": own, "tokenizer": tiny.tokenizer()}))
    for name, (says, module) in zip(names, models, strict=False):
        result = measure(Request(TEXTS[2], k=8, **says), **module)
        rows = table[(table["model"] == name) & (table["prompt"] == TEXTS[2])]
        for row in rows.itertuples():
            expected = means(score_pairs(result, View(row.k)))
            assert {each: getattr(row, each) for each in expected} == expected
            aligned = means(score_pairs(result, View(row.k, "alignment")))
            assert row.alignment == aligned["coupling"]
            assert (row.tokens, row.layers) == (len(result.tokens), result.n_blocks)
            assert row.certified


def test_a_table_says_what_its_scores_are(asked, own):
    table = asked(TEXTS[:1], own, k=4, definition="alignment", final_norm="exclude")
    said = {name: of for name, of in table.attrs.items() if name != "left_out"}
    assert said == {
        "kind": "depth", "final_norm": "exclude", "token": -1, "k": 4,
        "definition": "alignment", "role": "A",
    }  # fmt: skip


def test_it_goes_on_where_it_stopped(asked, where, tmp_path, monkeypatch):
    measured = []

    def counting(request, store, **how):
        measured.append(request.prompt)
        if len(measured) == 2:
            raise KeyboardInterrupt
        return measure(request, store, **how)

    monkeypatch.setattr(many, "measure", counting)
    with pytest.raises(KeyboardInterrupt):
        asked(TEXTS, [where], store=tmp_path / "kept")
    assert len(own_entries(tmp_path / "kept")) == 1
    again = asked(TEXTS, [where], store=tmp_path / "kept")
    assert len(measured) == 4  # and the first is not measured again
    assert set(again["key"]) == {each.key for each in own_entries(tmp_path / "kept")}
    pd.testing.assert_frame_equal(again, asked(TEXTS, [where], store=tmp_path / "kept"))


def test_what_stands_beside_a_prompt_is_kept(asked, own, tmp_path):
    rows = [
        {"prompt": TEXTS[0], "category": "cat", "difficulty": 1, "mood": "calm", "tokens": 7},
        {"prompt": TEXTS[1], "category": "mat", "difficulty": None, "mood": "flat", "tokens": 8},
    ]
    frame = pd.DataFrame(rows)
    (tmp_path / "prompts.jsonl").write_text(frame.to_json(orient="records", lines=True))
    frame.to_csv(tmp_path / "prompts.csv", index=False)
    columns = {name: list(frame[name]) for name in frame}
    files = (tmp_path / "prompts.jsonl", str(tmp_path / "prompts.csv"))
    for prompts in (rows, frame, columns, dict(frame), *files):
        table = asked(prompts, own, k=4)
        assert list(table.columns) == [*OF_DEPTH, "mood", "prompt_tokens"]
        assert list(table["mood"]) == ["calm", "flat"]
        assert [int(n) for n in table["prompt_tokens"]] == [7, 8]
        assert list(table["category"]) == ["cat", "mat"]
        np.testing.assert_array_equal(table["difficulty"], [1, np.nan])


def test_texts_may_be_a_column_and_cells_of_a_csv_file_have_their_types(asked, own, tmp_path):
    pd.testing.assert_frame_equal(asked(pd.Series(TEXTS), own), asked(TEXTS, own))
    file = tmp_path / "p.csv"
    file.write_text("prompt,rating,year,code,category\nThe cat,1.5,2001,007,1\nsat,,2002,012,2\n")
    table = asked(file, own, k=4)
    np.testing.assert_array_equal(table["rating"], [1.5, np.nan])
    found = {name: table[name].tolist() for name in ("year", "code", "category")}
    assert found == {"year": [2001, 2002], "code": ["007", "012"], "category": ["1", "2"]}


def test_models_have_the_names_that_they_are_given_or_those_of_their_classes(asked, own, narrow):
    other = tiny.model("gpt2", seed=2)
    named = asked(IDS[:1], {"untrained": own, "trained": other}, k=4)
    assert list(named["model"]) == ["untrained", "trained"]
    numbered = asked(IDS[:1], [own, other, narrow], k=4)
    assert list(numbered["model"]) == ["GPT2LMHeadModel", "GPT2LMHeadModel 2", "GPT"]
    assert list(numbered["corrected"][:2]) == list(named["corrected"])


def test_each_module_may_have_a_tokenizer_of_its_own(asked, own):
    lower = tiny.tokenizer()
    lower.backend_tokenizer.normalizer = Lowercase()
    table = asked([TEXTS[0]], {"a": own, "b": {"model": own, "tokenizer": lower}}, k=4)
    expected = asked([TEXTS[0], TEXTS[0].lower()], own, k=4)
    assert table["corrected"].tolist() == expected["corrected"].tolist()
    assert table["corrected"].nunique() == 2


def test_token_ids_and_other_kinds(asked, own):
    table = asked([[3, 1, 4], [1, 5, 9, 2]], own, k=(1, 4), kind="self", token=-1)
    assert list(table["prompt"].unique()) == ["#3 #1 #4", "#1 #5 #9 #2"]
    assert list(table["k"]) == [1, 4, 1, 4]
    paths = asked([[3, 1, 4]], own, kind="trajectory")
    assert paths["line_shape"].notna().all()
    assert paths["k"].isna().all()
    assert [name for name in MEASURED if name in paths] == ["line_shape", "expodistance"]
    assert "definition" not in paths.attrs


def test_where_no_k_is_said_each_model_is_measured_at_its_own(asked, own, narrow):
    table = asked([[3, 1, 4]], {"narrow": narrow, "wide": own}, k=None)
    assert list(table["k"]) == [23, 31]
    assert table["corrected"][1] == measure([3, 1, 4], model=own).scores(k=31).mean().corrected


def test_a_narrow_model_has_the_k_that_it_is_wide_enough_for(asked, where, own):
    wide = {"model": "coupling-explorer/mini-64", "revision": "step0"}
    models = {"narrow": where, "wide": wide}
    with pytest.warns(UserWarning, match="K = 60 .* narrow.* 32"):
        table = asked(TEXTS[:1], models, k=(8, 60))
    expected = [("narrow", 8), ("wide", 8), ("wide", 60)]
    assert list(zip(table["model"], table["k"], strict=True)) == expected
    result = measure(Request(TEXTS[0], k=60, **wide))
    assert table["corrected"].iloc[2] == means(score_pairs(result, View(60)))["corrected"]
    with pytest.warns(UserWarning, match="left out: narrow"):
        assert set(asked(TEXTS[:1], models, k=60)["model"]) == {"wide"}
    for _ in range(2):  # once measured, once read from the store
        with pytest.warns(UserWarning, match="K = 50"):
            assert list(asked(TEXTS, {"a": own}, k=(4, 50)).k) == [4] * len(TEXTS)


def test_a_share_of_each_width_is_measured(asked, own, narrow):
    table = asked(IDS, {"own": own, "by hand": narrow}, k=0.25)
    assert table["k"].tolist() == [8, 8, 6, 6]
    assert table["k_share"].tolist() == [0.25] * 4
    assert table["corrected"][2] == asked(IDS[:1], narrow, k=6.0)["corrected"][0]
    assert compare_models(table, "own", "by hand").k_of_each == (8, 6)
    both = asked(IDS, own, k=[0.25, 4, 8.0 / 31])
    assert both["k"].tolist() == [4, 8, 8] * 2
    np.testing.assert_array_equal(both["k_share"], [np.nan, 0.25, 8.0 / 31] * 2)
    assert means_by(both.assign(model="a"), "model")["n"].tolist() == [2, 2, 2]


def hooked():
    model = tiny.model("llama")
    model.model.layers[1].register_forward_hook(lambda module, given, out: out)
    return model


def test_what_is_not_stored_is_said_once(tmp_path, caplog):
    store = Store(tmp_path / "store")
    measure_many(IDS, hooked(), k=4, store=store)
    assert sum("not stored" in one.message for one in caplog.records) == 1
    assert not store.root.exists()


def test_a_module_is_stored_by_what_was_done_to_it(tmp_path, caplog):
    said, store = {"model": hooked(), "variant": "hooked"}, Store(tmp_path / "store")
    measure_many([[1, 2, 3]], {"mine": said, "plain": tiny.model("llama")}, store=store)
    assert "WARNING" not in caplog.text
    keys = {one.key for one in own_entries(store.root)}
    assert measure([1, 2, 3], store, model=said["model"], variant="hooked").key in keys
    assert len(keys) == 2


def test_a_prompt_that_fails_is_left_out_and_told_once_a_reason(own):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        prompts = [[1, 2], [10_000], [1, 10_000]]
        table = measure_many(prompts, {"a": own}, k=4, store=None, progress=False)
    assert table["prompt"].tolist() == ["#1 #2"]
    (warned,) = [one for one in told if issubclass(one.category, UserWarning)]
    assert "10000" in str(warned.message)
    assert warned.filename == __file__  # the line of the call
    assert len(table.attrs["left_out"]) == 2
    assert all("10000" in why for why in table.attrs["left_out"].values())


def test_a_model_that_comes_twice_is_measured_once(asked, where, own):
    with pytest.warns(UserWarning, match="llama"):
        table = asked(["The cat sat"], [where, where, own, own], k=4)
    assert table["model"].tolist() == ["llama", *dict.fromkeys(table["model"][1:])]
    assert len(table) == 3  # of modules nobody knows whether they are one


def test_a_model_of_one_block_has_no_score_and_that_is_told():
    model = tiny.model("llama", 0)
    del model.model.layers[1:]
    model.config.num_hidden_layers = 1
    with pytest.warns(UserWarning, match="one block"):
        measure_many([(1, 2, 3)], {"one": model}, k=4, store=None, progress=False)
