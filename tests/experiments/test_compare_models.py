"""Two models, or two ways to look at one, compared prompt by prompt in a table of many."""

import pickle

import numpy as np
import pandas as pd
import pytest
import tiny
from scipy import stats

from coupling_core import (
    InputError,
    Request,
    compare_models,
    means_by,
    measure,
)
from coupling_core.analysis.scores import mean_interval
from coupling_core.base.records import HOW
from coupling_core.experiments.sweeps import read_table, write_table

TEXTS = ("The cat sat", "on the mat", "The dog sat on the mat")
IDS = ([3, 1, 4], [1, 5, 9])


def planted(n=60, shift=0.05, seed=0, ks=(8,), **columns):
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
    ).assign(**columns)


@pytest.mark.parametrize("n", [60, 5])
def test_a_difference_is_taken_prompt_by_prompt(n):
    table = planted(n).sample(frac=1, random_state=0)  # in any order
    found = compare_models(table, "a", "b")
    wide = table.pivot(index="prompt", columns="model", values="corrected")
    apart = wide["a"] - wide["b"]
    assert found.difference == pytest.approx(apart.mean())
    assert found.p == pytest.approx(stats.ttest_rel(wide["a"], wide["b"]).pvalue)
    student = stats.t.interval(0.95, n - 1, apart.mean(), stats.sem(apart))
    np.testing.assert_allclose((found.low, found.high), student)
    assert (found.n, found.without, found.k) == (n, 0, 8)
    assert list(found.prompts) == table["prompt"][table["model"] == "a"].tolist()
    assert compare_models(table, "b", "a").difference == pytest.approx(-found.difference)


def test_only_prompts_of_both_count():
    table = planted(8)
    table.loc[(table["model"] == "a") & (table["prompt"] == "prompt 3"), "corrected"] = np.nan
    table = table[~((table["model"] == "b") & (table["prompt"] == "prompt 5"))]
    found = compare_models(table, "a", "b")
    assert (found.n, found.without, found.enough) == (6, 2, False)


def test_a_few_prompts_have_an_interval_and_no_p_and_one_has_neither():
    table = planted(3, topic=list("xxy") * 2)
    found = compare_models(table, "a", "b")
    of = mean_interval(np.array(found.of_a) - np.array(found.of_b))
    assert (found.low, found.high) == pytest.approx((of.low, of.high))
    assert np.isnan(found.p)
    groups = found.means_by("topic").set_index("topic")
    assert np.isfinite(groups.low["x"])
    assert np.isnan(groups.low["y"])
    one = compare_models(planted(1), "a", "b")
    assert np.isnan([one.low, one.high, one.p]).all()
    assert one.reason in str(one)


def test_rounding_is_no_difference():
    table = planted(12, shift=0.0)
    a = table["corrected"][table["model"] == "a"].to_numpy()
    rounded = a + np.random.default_rng(0).normal(0, 1e-16, len(a))
    table.loc[table["model"] == "b", "corrected"] = rounded
    found = compare_models(table, "a", "b")
    assert found.difference == 0
    assert found.reason
    assert np.isnan([found.p, found.low, found.high]).all()
    assert set(found.by_prompt()["difference"]) == {0}
    (dots,) = found.plot().figure.data
    assert set(dots.x) == {0}


def test_each_difference_has_what_stands_beside_its_prompt():
    table = planted(6, topic=list("xyzxyz") * 2, difficulty=1.0, definition="paper")
    found = compare_models(table, "a", "b")
    each = found.by_prompt()
    assert list(each) == ["prompt", "topic", "a", "b", "difference"]
    topics = dict(zip(table["prompt"], table["topic"], strict=True))
    assert each["topic"].tolist() == [topics[prompt] for prompt in each["prompt"]]
    assert each["difference"].mean() == pytest.approx(found.difference)
    told = {"a": "a", "b": "b", "measure": "corrected", "kind": "depth", "k": 8.0}
    assert each.attrs == told | {"definition": "paper", "column": "model"}
    assert pickle.loads(pickle.dumps(found)) == found
    colours = [trace.name.split(":")[0] for trace in found.plot(by="topic").figure.data]
    assert colours == ["x", "y", "z"]
    assert len(found.plot().figure.data) == 1


def test_differences_have_groups_by_any_columns_of_the_prompts():
    topics = ["one", "one", np.nan, "two", "two", np.nan]
    table = planted(6, topic=topics * 2, size=[1, 2, np.nan, 4, 5, 6] * 2, source="own")
    found = compare_models(table.assign(step=[1, 2, 3] * 4, category="x"), "a", "b")
    groups = found.means_by("topic")
    assert dict(zip(groups["topic"].fillna("none"), groups["n"], strict=True)) == {
        "one": 2, "none": 2, "two": 2,
    }  # fmt: skip
    both = found.means_by(["topic", "size"])
    assert list(both.columns[:3]) == ["topic", "size", "n"]
    assert both["n"].sum() == 6
    assert found.means_by("step")["n"].tolist() == [2, 2, 2]  # the prompts' own, not a checkpoint's
    assert found.means_by("category")["n"].tolist() == [6]
    assert not set(compare_models(planted(6, category=""), "a", "b").own)


def test_models_of_two_widths_are_compared_at_a_share_of_each():
    table = planted(ks=(8, 16))
    table = table.assign(width=[80 if name == "a" else 160 for name in table["model"]])
    found = compare_models(table, "a", "b", k=0.1)
    own = table[table["k"] == table["width"] // 10]
    means = own.groupby("model")["corrected"].mean()
    assert (found.a_mean, found.b_mean) == pytest.approx((means["a"], means["b"]))
    assert found.k_of_each == (8, 16)
    assert found.by_prompt().attrs["k"] == 0.1


def test_the_only_share_of_a_table_is_taken(asked, own, narrow):
    table = asked(IDS, {"wide": own, "narrow": narrow}, k=0.25)
    found = compare_models(table, "wide", "narrow")
    assert (found.k, found.k_of_each) == (0.25, (8, 6))
    assert found == compare_models(table, "wide", "narrow", k=0.25)


def test_scores_that_came_about_in_other_ways_are_kept_apart(asked, own):
    one, same = asked(TEXTS, {"a": own}), asked(TEXTS, {"b": own})
    assert compare_models(pd.concat([one, same]), "a", "b").difference == 0
    unsaid = one.drop(columns=list(HOW[:-1]))  # is as usual
    assert compare_models(pd.concat([unsaid, same]), "a", "b").difference == 0
    others = ("alignment", "B", 1, "exclude", "2-4")
    for name, value in dict(zip(HOW, others, strict=True)).items():
        table = asked(TEXTS, {"b": own}, **{name: value})
        with pytest.raises(InputError, match=f" {name}"):
            compare_models(pd.concat([one, table]), "a", "b")
        means = means_by(pd.concat([same, table]), "model")
        usual = same[name].unique() if name in same else ["all"]
        told = [each if each == each else "all" for each in means[name]]
        assert told == [*usual, *table[name].unique()]
        assert list(means.n) == [len(TEXTS)] * 2


def test_two_ways_to_look_at_a_model_are_compared_prompt_by_prompt(asked, own):
    prompts = [
        {"prompt": " ".join(["the cat sat on"] * n), "topic": "odd" if n % 2 else "even"}
        for n in range(1, 12)
    ]
    late, every, early = (asked(prompts, {"a": own}, blocks=b) for b in ("-2--1", None, "1-2"))
    table = pd.concat([late, every, early])
    found = compare_models(table, "3-4", "1-2", column="blocks")
    apart = late["corrected"] - early["corrected"]
    assert found.difference == pytest.approx(apart.mean())
    assert (found.model, found.blocks, found.n) == ("a", "", 11)
    groups = found.means_by("topic")
    assert groups["topic"].tolist() == ["odd", "even"]
    for name, row in groups.set_index("topic").iterrows():
        of = apart[(late["topic"] == name).to_numpy()]
        assert (row.n, row.difference) == (len(of), pytest.approx(of.mean()))
        interval = stats.t.interval(0.95, len(of) - 1, of.mean(), stats.sem(of))
        assert (row.low, row.high) == pytest.approx(interval)
        assert row.p == pytest.approx(stats.ttest_1samp(of, 0).pvalue)
    for a, b in (("-2--1", "1-2"), ("3,4", "2,1")):  # however blocks are named
        assert compare_models(table, a, b, column="blocks").difference == found.difference
    of_all = compare_models(table, "1-4", "1-2", column="blocks")
    assert (of_all.a, of_all.a_mean) == ("all", pytest.approx(every["corrected"].mean()))


def test_roles_and_definitions_of_a_model_compare_too(asked, own):
    for column, a, b in (("role", "A", "B"), ("definition", "paper", "alignment")):
        tables = [asked(TEXTS, {"m": own}, **{column: name}) for name in (a, b)]
        found = compare_models(pd.concat(tables), a, b, column=column)
        assert (found.a_mean, found.b_mean) == tuple(of["corrected"].mean() for of in tables)
        assert found.names == (f"{column} {a}", f"{column} {b}")
    theirs = planted(6, model="m", role=["A"] * 6 + ["B"] * 6, id=list("uvwxyz") * 2)
    assert compare_models(theirs, "A", "B", column="role").n == 6  # `id` is the prompts' own here


def test_the_last_block_on_one_side_alone_is_noted(asked, own, narrow):
    tables = {
        (blocks, norm): asked(TEXTS, {"a": own}, blocks=blocks, final_norm=norm)
        for blocks in ("3-4", "1-2", "1-3", None)
        for norm in ("include", "exclude")
    }

    def last_of(a, b, norm="include"):
        both = pd.concat([tables[a, norm], tables[b, norm]])
        return compare_models(both, a or "all", b or "all", column="blocks").last_block_of

    assert (last_of("3-4", "1-2"), last_of("1-2", None)) == ("a", "b")
    assert last_of("1-3", "1-2") == last_of("3-4", None) == last_of("3-4", "1-2", "exclude") == ""
    for blocks, expected in (("2-3", "b"), (None, ""), ("1-2", "")):
        table = asked(IDS, {"deep": own, "shallow": narrow}, blocks=blocks)
        assert compare_models(table, "deep", "shallow").last_block_of == expected


def test_sets_of_blocks_that_go_over_more_blocks_are_noted(asked, own, narrow):
    both = pd.concat([asked(TEXTS, {"a": own}, blocks=b) for b in ("1-3", "1-2", "3-4")])
    found = compare_models(both, "1-3", "1-2", column="blocks")
    assert (found.spans, found.shared_blocks) == ((3, 2), 2)
    assert compare_models(both, "1-2", "3-4", column="blocks").spans is None
    every = asked(IDS, {"deep": own, "shallow": narrow})
    assert compare_models(every, "deep", "shallow").spans == (4, 3)


def test_weights_of_an_untrained_model_are_one_draw(asked, own, tmp_path):
    folder = tiny.folder(tmp_path / "llama")
    twin = {"model": folder, "untrained": 0}
    table = asked(TEXTS, {"t": folder, "u": twin})
    assert compare_models(table, "t", "u").untrained == ("u",)
    assert compare_models(table.assign(trained=True), "t", "u").untrained == ()
    alone = [asked(TEXTS, {"u": twin}, role=role) for role in "AB"]
    assert compare_models(pd.concat(alone), "A", "B", column="role").untrained == ("u",)
    said = asked(TEXTS, {"t": own, "u": {"model": tiny.model("gpt2", seed=2), "trained": False}})
    assert said.groupby("model")["trained"].first().to_dict() == {"t": True, "u": False}
    assert compare_models(said, "t", "u").untrained == ("u",)


def test_the_error_of_sampled_floors_is_in_the_table(asked, own):
    table = asked(IDS, {"a": own, "b": own}, definition="released")
    wanted = measure(IDS[0], model=own, k=4).scores(k=4, definition="released").floor_error
    assert table["floor_error"][0] == wanted > 0
    assert "floor_error" not in asked(IDS, own)


def test_two_modules_of_one_class_are_told_apart(asked, own, tmp_path):
    store = tmp_path / "store"
    one = asked(TEXTS, own, store=store, blocks="1-2")
    other = asked(TEXTS, tiny.model("gpt2", seed=2), store=store, blocks="3-4")
    assert one["model"][0] == other["model"][0]
    assert one["id"][0] != other["id"][0]
    both = pd.concat([one, other])
    with pytest.warns(UserWarning, match="GPT2LMHeadModel"):
        compare_models(both, "1-2", "3-4", column="blocks")
    for column, values in (("id", ["x", "y"]), ("trained", [True, False])):
        of_two = both.assign(**{column: np.repeat(values, len(one))}, model="m")
        with pytest.raises(InputError, match=f"the {column} '"):
            compare_models(of_two, "1-2", "3-4", column="blocks")


def test_a_table_comes_back_from_csv_as_it_was(asked, tmp_path):
    models = {"0": tiny.model("llama"), "1": tiny.model("llama", 1)}
    table = asked([{"prompt": "NA"}, {"prompt": "The cat"}], models, k=(1, 4), blocks="2-4")
    write_table(tmp_path / "t.csv", table)
    again = read_table(tmp_path / "t.csv")
    found, expected = (compare_models(of, "0", "1", k=4) for of in (again, table))
    assert found.difference == pytest.approx(expected.difference, abs=1e-5)
    assert (found.token, found.blocks, found.n) == (expected.token, "2-4", 2) == (-1, "2-4", 2)
    assert set(again["prompt"]) == {"NA", "The cat"}


def test_a_comparison_names_what_is_not_as_usual(asked, own):
    how = {"role": "B", "token": 2, "final_norm": "exclude", "definition": "alignment"}
    found = compare_models(asked(TEXTS, {"a": own, "b": own}, **how), "a", "b")
    assert found.to_pandas().loc[0, list(how)].to_dict() == how
    assert all(str(value) in found.verdict for value in how.values())


def worlds():
    """Tables of which a reader must be told something, and how they are compared."""
    raw = planted(coupling=planted()["corrected"], chance=[0.5] * 60 + [0.4] * 60)
    failed = ~((planted()["prompt"] == "prompt 3") & (planted()["model"] == "a"))
    sampled = planted(definition="released", floor_error=0.03)
    of_two = planted(6, model="m", definition=["paper"] * 6 + ["released"] * 6)
    blocks = planted(6, model="m", width=64, layers=6, blocks=["1-4"] * 6 + ["2-3"] * 6)
    paths = planted(6, kind="trajectory", k=np.nan, layers=[30] * 6 + [8] * 6)
    paths = paths.rename(columns={"corrected": "line_shape"})
    of_paths = {"measure": "line_shape"}
    return {
        "nothing": (planted(), {}),
        "few prompts": (planted(3), {}),
        "one prompt": (planted(1), {}),
        "a prompt of one alone": (planted().iloc[1:], {}),
        "most of the width": (planted(width=10), {"k": 0.8}),
        "two widths": (planted(6, width=[64] * 6 + [16] * 6), {}),
        "raw scores": (raw, {"measure": "coupling"}),
        "not certified": (planted(certified=failed), {}),
        "all certified": (planted(certified=True), {}),
        "floors hide the difference": (sampled, {}),
        "small floors": (sampled.assign(floor_error=0.001), {}),
        "floors without an error": (sampled.drop(columns="floor_error"), {}),
        "one sampled floor": (
            of_two.assign(floor_error=[np.nan] * 6 + [1e-3] * 6),
            {"a": "paper", "b": "released", "column": "definition"},
        ),
        "one draw": (planted(6, trained=[True] * 6 + [False] * 6), {}),
        "blocks in both": (blocks, {"a": "1-4", "b": "2-3", "column": "blocks"}),
        "paths of two depths": (paths, of_paths),
        "paths of one depth": (paths.assign(layers=8), of_paths),
    }


def test_verdicts_say_what_bears_on_a_difference(snapshot):
    verdicts = {
        name: compare_models(table, **{"a": "a", "b": "b"} | said).verdict
        for name, (table, said) in worlds().items()
    }
    assert verdicts == snapshot


def test_captions_say_what_bears_on_a_figure(snapshot):
    def caption(table, measure="corrected", **by):
        found = compare_models(table, "a", "b", measure=measure)
        return found.plot(**by).figure.layout.meta["caption"]

    raw = planted(6, coupling=0.9, chance=[0.8] * 6 + [0.5] * 6)
    assert {
        "raw scores": caption(raw, "coupling"),
        "groups of a number": caption(planted(6, size=[1, 2] * 6), by="size"),
        "a group of one": caption(planted(3, topic=list("xxy") * 2), by="topic"),
        "groups of five": caption(planted(10, topic=list("xxxxxyyyyy") * 2), by="topic"),
    } == snapshot


def test_scores_are_of_the_blocks_that_are_chosen(asked, own, tmp_path):
    folder = tiny.folder(tmp_path / "llama")
    table = asked(TEXTS, {"a": own, "b": folder}, blocks="2-4", k=(4, 8))
    assert set(table["blocks"]) == {table.attrs["blocks"]} == {"2-4"}
    for row in table[table["model"] == "b"].itertuples():
        found = measure(Request(row.prompt, k=8, model=str(folder)))
        expected = found.scores(row.k, "2-4").mean()
        assert (row.corrected, row.coupling) == (expected.corrected, expected.coupling)
        assert row.alignment == found.scores(row.k, "2-4", definition="alignment").mean().coupling
    compared = compare_models(table, "a", "b", k=4)
    assert compared.blocks == compared.by_prompt().attrs["blocks"] == "2-4"
    for blocks in (range(2, 5), [-3, 3, 4], (n for n in (2, 3, 4))):
        again = asked(TEXTS, {"a": own, "b": folder}, blocks=blocks, k=(4, 8))
        pd.testing.assert_frame_equal(again, table)
    assert "blocks" not in asked(TEXTS, {"a": own}, blocks="1-4")  # which are all of them
