"""Two models, or two ways to look at one, compared prompt by prompt in a table of many."""

import pickle

import numpy as np
import pandas as pd
import pytest
import tiny
from scipy import stats

from coupling_core import InputError, compare_models, means_by, measure
from coupling_core.analysis.scores import mean_interval
from coupling_core.base.records import HOW

TEXTS = ("The cat sat", "on the mat")
IDS = ([3, 1, 4], [1, 5, 9])


def planted(n=60, shift=0.05, seed=0, ks=(8,), **columns):
    """Two models whose numbers differ by a shift, prompt by prompt, in a noise that they share."""
    rng = np.random.default_rng(seed)
    hard, noise = rng.normal(0, 0.2, n), rng.normal(0, 0.02, (2, n))
    rows = [
        (name, f"prompt {number}", "depth", k, hard[number] + noise[of, number] + shift * (not of))
        for of, name in enumerate("ab")
        for number in range(n)
        for k in ks
    ]
    names = ["model", "prompt", "kind", "k", "corrected"]
    return pd.DataFrame(rows, columns=names).assign(**columns)


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
    assert list(found.each.prompt) == table["prompt"][table["model"] == "a"].tolist()
    assert compare_models(table, "b", "a").difference == pytest.approx(-found.difference)


def test_only_prompts_of_both_count():
    table = planted(8)
    table.loc[(table["model"] == "a") & (table["prompt"] == "prompt 3"), "corrected"] = np.nan
    table = table[~((table["model"] == "b") & (table["prompt"] == "prompt 5"))]
    found = compare_models(table, "a", "b")
    assert (found.n, found.without, found.enough) == (6, 2, False)


def test_a_few_prompts_have_an_interval_and_no_p_and_one_has_neither():
    found = compare_models(planted(3, topic=list("xxy") * 2), "a", "b")
    of = mean_interval(found.each.a - found.each.b)
    assert (found.low, found.high) == pytest.approx((of.low, of.high))
    assert np.isnan(found.p)
    groups = found.means_by("topic").set_index("topic")
    assert np.isfinite(groups.low["x"])
    assert np.isnan(groups.low["y"])
    one = compare_models(planted(1), "a", "b")
    assert np.isnan([one.low, one.high, one.p]).all()


def test_rounding_is_no_difference():
    table = planted(12, shift=0.0)
    a = table["corrected"][table["model"] == "a"].to_numpy()
    rounded = a + np.random.default_rng(0).normal(0, 1e-16, len(a))
    table.loc[table["model"] == "b", "corrected"] = rounded
    found = compare_models(table, "a", "b")
    assert found.difference == 0
    assert np.isnan([found.p, found.low, found.high]).all()
    assert set(found.each["difference"]) == {0}


def test_each_difference_has_what_stands_beside_its_prompt():
    table = planted(6, topic=list("xyzxyz") * 2, difficulty=1.0, definition="paper")
    found = compare_models(table, "a", "b")
    each = found.each
    assert list(each) == ["prompt", "topic", "a", "b", "difference"]
    topics = dict(zip(table["prompt"], table["topic"], strict=True))
    assert each["topic"].tolist() == [topics[prompt] for prompt in each["prompt"]]
    assert each["difference"].mean() == pytest.approx(found.difference)
    assert (each.attrs["a"], each.attrs["measure"], each.attrs["k"]) == ("a", "corrected", 8)
    assert pickle.loads(pickle.dumps(found)).verdict == found.verdict
    colours = [trace.name.split(":")[0] for trace in found.plot(by="topic").figure.data]
    assert colours == ["x", "y", "z"]


def test_differences_have_groups_by_any_columns_of_the_prompts():
    topics = ["one", "one", np.nan, "two", "two", np.nan]
    table = planted(6, topic=topics * 2, size=[1, 2, np.nan, 4, 5, 6] * 2, step=[1, 2, 3] * 4)
    found = compare_models(table, "a", "b")
    groups = found.means_by("topic").fillna({"topic": "none"}).set_index("topic")
    assert groups["n"].to_dict() == {"one": 2, "none": 2, "two": 2}
    both = found.means_by(["topic", "size"])
    assert list(both.columns[:3]) == ["topic", "size", "n"]
    assert both["n"].sum() == 6
    assert found.means_by("step")["n"].tolist() == [2, 2, 2]  # the prompts' own, not a checkpoint's


def test_models_of_two_widths_are_compared_at_a_share_of_each():
    table = planted(ks=(8, 16))
    table = table.assign(width=[80 if name == "a" else 160 for name in table["model"]])
    found = compare_models(table, "a", "b", k=0.1)
    own = table[table["k"] == table["width"] // 10]
    means = own.groupby("model")["corrected"].mean()
    assert (found.a_mean, found.b_mean) == pytest.approx((means["a"], means["b"]))
    assert found.k_of_each == (8, 16)
    assert found.each.attrs["k"] == 0.1


def test_scores_that_came_about_in_other_ways_are_kept_apart():
    usual = {"definition": "paper", "role": "A", "token": -1, "final_norm": "include"}
    one = planted(6, **usual)
    unsaid = one[one["model"] == "a"].drop(columns=list(usual))  # is as usual
    both = pd.concat([unsaid, one[one["model"] == "b"]])
    expected = compare_models(one, "a", "b")
    assert compare_models(both, "a", "b").difference == expected.difference
    others = ("alignment", "B", 1, "exclude", "2-4")
    for name, value in dict(zip(HOW, others, strict=True)).items():
        other = one[one["model"] == "b"].assign(**{name: value})
        mixed = pd.concat([one[one["model"] == "a"], other])
        with pytest.raises(InputError, match=f" {name}"):
            compare_models(mixed, "a", "b")
        means = means_by(mixed.assign(model="m"), "model")
        assert means["n"].tolist() == [6, 6]
        assert means[name].tolist()[1] == value


def test_two_ways_to_look_at_a_model_are_compared_prompt_by_prompt(asked, own):
    prompts = [
        {"prompt": " ".join(["the cat sat on"] * n), "topic": "odd" if n % 2 else "even"}
        for n in range(1, 6)
    ]
    late, every, early = (asked(prompts, {"a": own}, blocks=b) for b in ("-2--1", None, "1-2"))
    table = pd.concat([late, every, early])
    found = compare_models(table, "3-4", "1-2", column="blocks")
    apart = late["corrected"] - early["corrected"]
    assert found.difference == pytest.approx(apart.mean())
    assert (found.model, found.how.get("blocks"), found.n) == ("a", None, 5)
    groups = found.means_by("topic").set_index("topic")
    assert groups["n"].to_dict() == {"odd": 3, "even": 2}
    for topic, mean in groups["difference"].items():
        assert mean == pytest.approx(apart[(late["topic"] == topic).to_numpy()].mean())
    for a, b in (("-2--1", "1-2"), ("3,4", "2,1")):  # however blocks are named
        assert compare_models(table, a, b, column="blocks").difference == found.difference
    of_all = compare_models(table, "1-4", "1-2", column="blocks")
    assert (of_all.a, of_all.a_mean) == ("all", pytest.approx(every["corrected"].mean()))


def test_blocks_of_one_side_alone_are_noted():
    """Which has the last block, which holds the final norm, and over how many blocks they go."""

    def of(a, b, norm="include"):
        table = planted(6, layers=4, final_norm=norm)
        table = table.assign(model="m", blocks=np.where(table["model"] == "a", a, b))
        return compare_models(table, a, b, column="blocks")

    for a, b, last in (("3-4", "1-2", "blocks 3-4"), ("1-2", "all", "all blocks")):
        assert f"The last block is among {last} alone" in of(a, b).verdict
    for found in (of("1-3", "1-2"), of("3-4", "1-2", "exclude")):
        assert "last block" not in found.verdict
    assert "go over 3 and 2 blocks" in of("1-3", "1-2").verdict
    assert "2 blocks are in both" in of("1-3", "1-2").verdict
    assert "go over" not in of("1-2", "3-4").verdict
    models = planted(6, layers=[4] * 6 + [3] * 6, blocks="2-3")
    assert "among the blocks of b alone" in compare_models(models, "a", "b").verdict
    every = models.drop(columns="blocks")
    assert "go over 4 and 3 blocks" in compare_models(every, "a", "b").verdict


def test_the_error_of_sampled_floors_is_in_the_table(asked, own):
    table = asked(IDS, {"a": own}, definition="released")
    wanted = measure(IDS[0], model=own, k=4).scores(k=4, definition="released").floor_error
    assert table["floor_error"][0] == wanted > 0
    assert "floor_error" not in asked(IDS, own)


def test_two_modules_of_one_class_are_told_apart(asked, own, tmp_path):
    one = asked(IDS, own, blocks="1-2")
    other = asked(IDS, tiny.model("gpt2", seed=2), blocks="3-4")
    assert one["model"][0] == other["model"][0]
    both = pd.concat([one, other])
    with pytest.warns(UserWarning, match="GPT2LMHeadModel"):
        compare_models(both, "1-2", "3-4", column="blocks")
    trained = np.repeat([True, False], len(one))
    with pytest.raises(InputError, match="the trained '"):
        compare_models(both.assign(trained=trained), "1-2", "3-4", column="blocks")


def worlds():
    """Tables of which a reader must be told something, and how they are compared."""
    raw = planted(coupling=planted()["corrected"], chance=[0.5] * 60 + [0.4] * 60)
    failed = ~((planted()["prompt"] == "prompt 3") & (planted()["model"] == "a"))
    sampled = planted(definition="released", floor_error=0.03)
    of_two = planted(6, model="m", definition=["paper"] * 6 + ["released"] * 6)
    blocks = planted(6, model="m", width=64, layers=6, blocks=["1-4"] * 6 + ["2-3"] * 6)
    paths = planted(6, kind="trajectory", k=np.nan, layers=[30] * 6 + [8] * 6)
    paths = paths.rename(columns={"corrected": "line_shape"})
    one_floor = of_two.assign(floor_error=[np.nan] * 6 + [1e-3] * 6)
    return {
        "nothing": (planted(), {}), "few prompts": (planted(3), {}), "one prompt": (planted(1), {}),
        "most of the width": (planted(width=10), {"k": 0.8}),
        "two widths": (planted(6, width=[64] * 6 + [16] * 6), {}),
        "raw scores": (raw, {"measure": "coupling"}),
        "not certified": (planted(certified=failed), {}),
        "floors hide the difference": (sampled, {}),
        "small floors": (sampled.assign(floor_error=0.001), {}),
        "floors without an error": (sampled.drop(columns="floor_error"), {}),
        "one sampled floor": (
            one_floor, {"a": "paper", "b": "released", "column": "definition"}
        ),
        "one draw": (planted(6, trained=[True] * 6 + [False] * 6), {}),
        "blocks in both": (blocks, {"a": "1-4", "b": "2-3", "column": "blocks"}),
        "paths of two depths": (paths, {"measure": "line_shape"}),
    }  # fmt: skip


def test_verdicts_say_what_bears_on_a_difference(snapshot):
    verdicts = {
        name: compare_models(table, **{"a": "a", "b": "b"} | said).verdict
        for name, (table, said) in worlds().items()
    }
    assert verdicts == snapshot


def test_scores_are_of_the_blocks_that_are_chosen(asked, own):
    table = asked(TEXTS, {"b": own}, blocks="2-4", k=(4, 8))
    assert set(table["blocks"]) == {table.attrs["blocks"]} == {"2-4"}
    for row in table.itertuples():
        found = measure(row.prompt, model=own, tokenizer=tiny.tokenizer(), k=8)
        expected = found.scores(row.k, "2-4").mean()
        assert (row.corrected, row.coupling) == (expected.corrected, expected.coupling)
        assert row.alignment == found.scores(row.k, "2-4", definition="alignment").mean().coupling
    for blocks in (range(2, 5), [-3, 3, 4]):
        pd.testing.assert_frame_equal(asked(TEXTS, {"b": own}, blocks=blocks, k=(4, 8)), table)
    assert "blocks" not in asked(TEXTS, {"b": own}, blocks="1-4")  # which are all of them
