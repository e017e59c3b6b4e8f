"""Many prompts with several models from Python, here and on a dask client: the table of a sweep."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
import shallow
import tiny
from tokenizers.normalizers import Lowercase

import coupling_core as cc
from coupling_core.analysis.scores import means
from coupling_core.experiments import many_on_dask
from coupling_core.experiments.sweeps.table import (
    COLUMNS,
    MEASURED,
    OF_ONE_KIND,
    read_table,
    write_table,
)
from coupling_core.measuring import many

TEXTS = ("The cat sat", "on the mat")
IDS = ([3, 1, 4], [1, 5, 9])
LEFT_OUT = (*OF_ONE_KIND, "k_share", "floor_error", "blocks", "loss", "score")
OF_DEPTH = [name for name in COLUMNS if name not in LEFT_OUT]
"""Columns of a table of blocks at one token, of models whose performance is not known."""


@pytest.fixture(scope="module")
def asked(asked):
    return partial(asked, k=(4, 8))


def own_entries(store):
    return [each for each in cc.Store(store).entries() if not each.read_only]


def test_every_model_meets_every_prompt_with_the_numbers_of_measure(asked, folder, own):
    table = asked(TEXTS, [folder, own, {"model": folder, "untrained": 0}])
    assert list(table.columns) == OF_DEPTH
    names = ["tiny-llama", "GPT2LMHeadModel", "tiny-llama, untrained (seed 0)"]
    assert list(table["model"].unique()) == names
    assert len(table) == 3 * len(TEXTS) * 2
    models = (({"model": str(folder)}, {}), ({}, {"model": own, "tokenizer": tiny.tokenizer()}))
    for name, (says, module) in zip(names, models, strict=False):
        result = cc.measure(cc.Request(TEXTS[1], k=8, **says), **module)
        rows = table[(table["model"] == name) & (table["prompt"] == TEXTS[1])]
        for row in rows.itertuples():
            expected = means(cc.score_pairs(result, cc.View(row.k)))
            assert {each: getattr(row, each) for each in expected} == expected
            aligned = means(cc.score_pairs(result, cc.View(row.k, "alignment")))
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


def test_it_goes_on_where_it_stopped(asked, folder, tmp_path, monkeypatch):
    measured = []

    def counting(request, store, **how):
        measured.append(request.prompt)
        if len(measured) == 2:
            raise KeyboardInterrupt
        return cc.measure(request, store, **how)

    monkeypatch.setattr(many, "measure", counting)
    with pytest.raises(KeyboardInterrupt):
        asked(TEXTS, [folder], store=tmp_path / "kept")
    assert len(own_entries(tmp_path / "kept")) == 1
    again = asked(TEXTS, [folder], store=tmp_path / "kept")
    assert len(measured) == 3  # and the first is not measured again
    assert set(again["key"]) == {each.key for each in own_entries(tmp_path / "kept")}
    pd.testing.assert_frame_equal(again, asked(TEXTS, [folder], store=tmp_path / "kept"))


def test_what_stands_beside_a_prompt_is_kept(asked, own, tmp_path):
    rows = [
        {"prompt": TEXTS[0], "category": "cat", "difficulty": 1, "mood": "calm", "tokens": 7},
        {"prompt": TEXTS[1], "category": "mat", "difficulty": None, "mood": "flat", "tokens": 8},
    ]
    frame = pd.DataFrame(rows)
    (tmp_path / "prompts.jsonl").write_text(frame.to_json(orient="records", lines=True))
    frame.to_csv(tmp_path / "prompts.csv", index=False)
    pd.testing.assert_frame_equal(asked(pd.Series(TEXTS), own), asked(TEXTS, own))
    columns = {name: list(frame[name]) for name in frame}
    files = (tmp_path / "prompts.jsonl", str(tmp_path / "prompts.csv"))
    for prompts in (rows, frame, columns, dict(frame), *files):
        table = asked(prompts, own, k=4)
        assert list(table.columns) == [*OF_DEPTH, "mood", "prompt_tokens"]
        assert list(table["mood"]) == ["calm", "flat"]
        assert [int(n) for n in table["prompt_tokens"]] == [7, 8]
        assert list(table["category"]) == ["cat", "mat"]
        np.testing.assert_array_equal(table["difficulty"], [1, np.nan])
    odd = {"category": np.int64(7), "difficulty": pd.NA}
    assert asked(rows[0] | odd, own, k=4)["category"].tolist() == ["7"]
    far = [2**62 + 1, None]
    numbers = {"prompt": TEXTS, "x": [1e20, 2e20], "number": far, "mix": [far[0], 0.5]}
    table = asked(numbers, own, k=4)
    write_table(tmp_path / "t.csv", table)
    for each in (table, read_table(tmp_path / "t.csv")):
        assert [each["number"][0], *each["x"], int(each["mix"][0])] == [far[0], 1e20, 2e20, far[0]]
    with pytest.raises(cc.InputError, match="'mood'"):
        asked(frame.rename(columns={"tokens": "mood"}), own)


def test_each_module_may_have_a_tokenizer_of_its_own(asked, own):
    lower = tiny.tokenizer()
    lower.backend_tokenizer.normalizer = Lowercase()
    other = {"model": own, "tokenizer": lower, "trained": "False"}  # as a table has it
    table = asked([TEXTS[0]], {"a": own, "b": other}, k=4)
    assert table["trained"].tolist() == [True, False]
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
    assert table["corrected"][1] == cc.measure([3, 1, 4], model=own).scores(k=31).mean().corrected


def test_a_narrow_model_has_the_k_that_it_is_wide_enough_for(asked, folder, own):
    wide = {"model": "coupling-explorer/mini-64", "revision": "step0"}
    models = {"narrow": folder, "wide": wide}
    with pytest.warns(UserWarning, match="K = 60 .* narrow.* 32"):
        table = asked(TEXTS[:1], models, k=(8, 60))
    expected = [("narrow", 8), ("wide", 8), ("wide", 60)]
    assert list(zip(table["model"], table["k"], strict=True)) == expected
    result = cc.measure(cc.Request(TEXTS[0], k=60, **wide))
    assert table["corrected"].iloc[2] == means(cc.score_pairs(result, cc.View(60)))["corrected"]
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
    assert cc.compare_models(table, "own", "by hand").k_of_each == (8, 6)
    both = asked(IDS, own, k=[0.25, 4, 8.0 / 31])
    assert both["k"].tolist() == [4, 8, 8] * 2
    np.testing.assert_array_equal(both["k_share"], [np.nan, 0.25, 8.0 / 31] * 2)
    assert cc.means_by(both.assign(model="a"), "model")["n"].tolist() == [2, 2, 2]


def hooked():
    model = tiny.model("llama")
    model.model.layers[1].register_forward_hook(lambda module, given, out: out)
    return model


def test_what_is_not_stored_is_said_once(tmp_path, caplog):
    store = cc.Store(tmp_path / "store")
    cc.measure_many(IDS, hooked(), k=4, store=store)
    assert sum("not stored" in one.message for one in caplog.records) == 1
    assert not store.root.exists()


def test_a_module_is_stored_by_what_was_done_to_it(tmp_path, caplog):
    said, store = {"model": hooked(), "variant": "hooked"}, cc.Store(tmp_path / "store")
    cc.measure_many([[1, 2, 3]], {"mine": said, "plain": tiny.model("llama")}, store=store)
    assert "WARNING" not in caplog.text
    keys = {one.key for one in own_entries(store.root)}
    assert cc.measure([1, 2, 3], store, model=said["model"], variant="hooked").key in keys
    assert len(keys) == 2


def test_a_prompt_that_fails_is_left_out_and_told_once_a_reason(own):
    prompts = [[1, 2], [10_000], [1, 10_000]]
    with pytest.warns(UserWarning, match="10000") as told:
        table = cc.measure_many(prompts, {"a": own}, k=4, store=None, progress=False)
    assert table["prompt"].tolist() == ["#1 #2"]
    (warned,) = told
    assert warned.filename == __file__  # the line of the call
    assert len(table.attrs["left_out"]) == 2
    assert all("10000" in why for why in table.attrs["left_out"].values())


def test_a_model_that_comes_twice_is_measured_once(asked, folder, own):
    with pytest.warns(UserWarning, match="llama"):
        table = asked(["The cat sat"], [folder, folder, own, own], k=4)
    with pytest.warns(UserWarning, match="on the mat"):
        assert len(asked(["on the mat"] * 2, own, k=4)) == 2  # and of prompts it is told
    names = ["tiny-llama", "GPT2LMHeadModel", "GPT2LMHeadModel 2"]
    assert table["model"].tolist() == names  # of modules nobody knows whether they are one


def test_a_model_of_one_block_has_no_score_and_that_is_told():
    one = {"one": shallow.model("llama", 1)}
    with pytest.warns(UserWarning, match="one block"):
        cc.measure_many([(1, 2, 3)], one, k=4, store=None, progress=False)


def test_the_table_is_the_same_on_a_client(client, folders, tmp_path, monkeypatch):
    """Also where a model takes no such prompt, which is left out."""
    prompts, at_once = [*TEXTS, [9_999]], []

    def measured(*asked, **how):
        at_once.append(many_on_dask._ALONE.locked())
        return of_worker(*asked, **how)

    of_worker = many_on_dask.measure
    monkeypatch.setattr(many_on_dask, "measure", measured)
    with pytest.warns(UserWarning, match="9999"):
        here, there = (
            cc.measure_many(prompts, folders, k=4, store=tmp_path / name, client=of, progress=False)
            for name, of in (("here", None), ("there", client))
        )
    pd.testing.assert_frame_equal(here, there)
    assert at_once == [True] * 6  # by the workers, each alone
    assert {each.key for each in own_entries(tmp_path / "there")} == set(there["key"])
    assert list(there["prompt"]) == [*TEXTS] * 2


def test_a_store_that_the_workers_do_not_share_is_told(client, folders, tmp_path, monkeypatch):
    elsewhere, measured = cc.Store(tmp_path / "elsewhere"), many_on_dask.measure
    monkeypatch.setattr(many_on_dask, "measure", lambda asked, _, **how: measured(asked, elsewhere))
    how = {"k": 4, "store": tmp_path / "kept", "client": client, "progress": False}
    with pytest.raises(cc.ComputeError, match="disk"):
        cc.measure_many(TEXTS[:1], folders[:1], **how)
