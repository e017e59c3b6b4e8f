"""What is made of results has a sentence, a table, and mostly a figure, as results have."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
import tiny
from cases import directions_result, planted, random_result, trajectory_result, what_if_result
from sweep_table import sweep_of, zoo
from training import REQUEST, SUITE

import coupling_core as cc
from coupling_core.base.trials import Ablation, Readings, Steering

CHANCE = np.linspace(0.01, 0.2, 20)


def pair_of_kinds():
    """Coupling and effects of one model over one prompt."""
    effects = what_if_result(n_blocks=6)
    depth = random_result(n_blocks=6)
    return replace(depth, identity=effects.identity, tokens=effects.tokens), effects


def ablation(**changes):
    made = Ablation((2, 3), 5, 4, 64, "tokens", 0.5, CHANCE, 0.1, directions_result())
    return replace(made, **changes)


def steering():
    asked = (3, "u", (4, 6), ("u_1", "u_2"), (0.1, 1.0), "tokens")
    divergence, chance = np.array([[0.01, 0.9], [0.0, 0.2]]), np.stack([CHANCE, CHANCE], 1)
    rest = (((), ()),) * 2, (((), ()),) * 2, np.zeros((2, 2, 0)), np.zeros((2, 2, 0))
    return Steering(*asked, divergence, chance, *rest, directions_result())


def compared_models():
    rows = [
        {"model": model, "prompt": text, "kind": "depth", "k": 8, "corrected": score}
        for text, scores in {"a": (0.3, 0.1), "b": (0.5, 0.2)}.items()
        for model, score in zip(("one", "other"), scores, strict=True)
    ]
    return cc.compare_models(pd.DataFrame(rows), "one", "other")


def course(depth=None, steps=(0, 1, 4)):
    """A training run of which some steps are measured, in the depth-wise comparison alone."""
    measured = {0: planted(), 4: random_result(n_blocks=3)} if depth is None else depth
    return cc.Course(SUITE, REQUEST, steps, measured, {})


def readings(**changes):
    texts = ((" Paris", " France"), (" x",), (" Rome",)), ((" a",),) * 3
    heights = np.array([9.0, 2.0, 6.0])
    return replace(
        Readings("reads_embedding", heights, 5.0, *texts, directions_result()), **changes
    )


@cache
def swept():
    """What a table says whose intervals take a while to resample."""
    return cc.find(sweep_of(zoo(), prompts=4), cc.Question(k=8))


@cache
def between_tokens():
    model = tiny.model("llama")
    return cc.measure((3, 1, 4, 1, 5), model=model, kind="self", k=4, store=None)


def crossed():
    """The scores of one model's Jacobians in the bases of another, of numbers made up."""
    values = np.array([[0.9, 0.2], [0.1, 0.6]])
    sides = {"a": directions_result(), "b": directions_result(seed=1)}
    maps = values, np.zeros((2, 2)), values, 1 - np.eye(2)
    return cc.CrossScores(*maps, (1, 2), result=None, view=cc.View(k=3), **sides)


def between_prompts():
    one, other = directions_result(), directions_result(token_ids=np.arange(5, 9))
    return cc.between_prompts([one, other], cc.DirectionsView((2, 3), 4))


DRAWN = {
    "Comparison": lambda: cc.compare(random_result(), random_result(seed=1), k=3),
    "Crossing": lambda: cc.cross(directions_result(), directions_result(), k=2),
    "Shared": lambda: cc.shared_of(directions_result(), cc.DirectionsView((2, 3, 4))),
    "EffectMaps": lambda: cc.effect_maps(what_if_result()),
    "ProjectedPaths": lambda: cc.project_paths(trajectory_result()),
    "CouplingEffect": lambda: cc.coupling_effect(*pair_of_kinds(), k=3),
    "Course": course,
    "ModelComparison": compared_models,
    "Findings": swept,
    "Scores": lambda: random_result().scores(k=3),
    "CrossScores": crossed,
    "Steering": steering,
    "Locality": lambda: cc.locality(random_result().scores(3)),
    "ByDistance": lambda: cc.by_distance(between_tokens().scores(k=3)),
}
"""What has a figure."""
TOLD = {
    "Ablation": ablation,
    "Readings": readings,
    "BetweenPrompts": between_prompts,
}
"""What has none."""


def test_each_has_a_table_that_says_whose_it_is_a_line_a_sentence_and_a_figure():
    for name, make in (DRAWN | TOLD).items():
        found = make()
        assert isinstance(found, getattr(cc, name))
        assert len(found.to_pandas()), name
        assert found.to_pandas().attrs, name
        assert "\n" not in repr(found), name
        assert len(repr(found)) < 400, name
        assert found.verdict, name
        assert ("plotly" if name in DRAWN else "<table") in found._repr_html_(), name
        assert (name in DRAWN) == (hasattr(found, "plot") and bool(found.plot().figure.data)), name


def test_scores_of_one_model_in_the_bases_of_another():
    found = crossed()
    assert found.same_block.tolist() == [0.9, 0.6]
    assert found.mean().corrected == pytest.approx(0.15)
    told = found.to_xarray().attrs
    assert (told["K"], told["a_model"], told["b_model"]) == (3, "random", "random")
    (line,) = found.plot().figure.data
    assert line.y.tolist() == [0.9, 0.6]
    assert found[1, 2].corrected == 0.2
    assert found.strongest(1).corrected.to_list() == [0.9]  # no more 1 by construction than others


def test_tables_and_figures_have_the_numbers():
    compared = DRAWN["Comparison"]()
    (apart,) = [t for t in compared.plot("difference").figure.data if t.name == "difference"]
    off = ~np.eye(5, dtype=bool)
    np.testing.assert_allclose(apart.z[off], compared.difference[off], rtol=1e-5)
    told = compared.to_pandas().attrs
    assert (told["a_model"], told["b_model"]) == (compared.a.model_name, compared.b.model_name)
    shared = cc.shared_of(directions_result(), cc.DirectionsView((1, 2, 4)), "v")
    np.testing.assert_array_equal(shared.to_pandas().share, shared.share)
    np.testing.assert_allclose(shared.plot().figure.data[0].y, shared.share)
    for number in ("loss", "stays"):
        of = cc.effect_maps(what_if_result(), number=number)
        table = of.to_pandas().set_index("edit")
        assert table.loc["skip(2)", number] == pytest.approx(of.skip[1])
        with pytest.raises(cc.InputError, match="divergence"):  # which alone is drawn
            of.plot()
    assert f"block {np.nanargmax(of.skip) + 1} " in of.verdict  # most stay without it
    (dots,) = compared_models().plot().figure.data
    assert dots.x.tolist() == pytest.approx([0.2, 0.3])


def test_coupling_and_effect_of_two_results():
    depth, effects = pair_of_kinds()
    scores = cc.score_pairs(depth, cc.View(3)).corrected
    for edit in ("interchange", "replace"):
        found = cc.coupling_effect(depth, effects, k=3, edit=edit)
        cost = getattr(cc.effect_maps(effects), edit)
        table = found.to_pandas()
        row = table[(table.block == 2) & (table.other_block == 5)].iloc[0]
        assert row.coupling == pytest.approx((scores[1, 4] + scores[4, 1]) / 2)
        assert row.minus_log_kl == pytest.approx(-(np.log(cost[1, 4]) + np.log(cost[4, 1])) / 2)
        assert (table.attrs["edit"], table.attrs["K"]) == (edit, 3)
    with pytest.raises(cc.InputError, match="one prompt"):
        cc.coupling_effect(replace(depth, tokens=("x",)), effects, k=3)


def test_steering_is_drawn_over_rising_sizes_beside_the_range_of_random_directions():
    found = replace(steering(), sizes=(1.0, 0.1))
    ground, median, first, second = found.plot().figure.data
    assert [first.name, second.name] == ["u_1", "u_2"]
    assert (list(first.x), list(first.y)) == ([0.1, 1.0], [0.9, 0.01])
    assert (min(ground.y), max(ground.y)) == (0.01, 0.2)
    assert median.y[0] == pytest.approx(0.105)
    assert ablation().to_pandas().part_by_chance[0] == 4 / 64


def test_what_may_be_claimed_is_decided_by_chance_and_by_what_is_missing(snapshot):
    scores, found = random_result().scores(k=3), between_prompts()
    risen = {step: planted(np.full((4, 4), at)) for step, at in ((0, 0.1), (1, 0.6), (4, 0.3))}
    verdicts = {
        "ablation within chance": ablation(divergence=0.1),
        "ablation beyond chance": ablation(part=0.1),
        "ablation of too large a part": ablation(part=0.5),
        "a small ablation": ablation(divergence=1.234e-5),
        "steering beyond chance": steering(),
        "steering within chance": replace(steering(), divergence=np.zeros((2, 2))),
        "readings beyond chance": readings(),
        "readings within chance": readings(peakedness=np.zeros(3)),
        "no pair with a score": replace(scores, corrected=np.full((5, 5), np.nan)),
        "no step with a score": course(depth={}),
        "a step is missing": course(),
        "steps of the same weights": course(depth={0: planted(), 4: planted()}),
        "a peak": course(depth=risen),
        "prompts without directions": replace(found, angles=np.full_like(found.angles, np.nan)),
        "floors without an error": cc.compare(
            between_tokens(), between_tokens(), definition="released", k=4
        ),
    }
    assert {name: each.verdict for name, each in verdicts.items()} == snapshot
