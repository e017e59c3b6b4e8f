"""What is made of results answers as results do: by a sentence, a table, and mostly a figure."""

import html
import inspect
import pickle
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
from coupling_core.base.results import Result
from coupling_core.base.showing import Drawn, Told
from coupling_core.base.trials import Ablation, Readings, Steering
from coupling_core.base.units import percent

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
    none = ((), ())
    return Steering(
        3,
        "u",
        (4, 6),
        ("u_1", "u_2"),
        (0.1, 1.0),
        "tokens",
        np.array([[0.01, 0.9], [0.0, 0.2]]),
        np.stack([CHANCE, CHANCE], 1),
        (none, none),
        (none, none),
        np.zeros((2, 2, 0)),
        np.zeros((2, 2, 0)),
        directions_result(),
    )


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
    made = Readings(
        "reads_embedding",
        np.array([9.0, 2.0, 6.0]),
        5.0,
        ((" Paris", " France"), (" x",), (" Rome",)),
        ((" a",),) * 3,
        directions_result(),
    )
    return replace(made, **changes)


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
    return cc.CrossScores(
        values, np.zeros((2, 2)), values, (1, 2), result=None, view=cc.View(k=3), **sides
    )


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
    "Locality": lambda: cc.locality(random_result(), k=3),
    "ByDistance": lambda: cc.by_distance(between_tokens().scores(k=3)),
}
"""What has a figure."""
TOLD = {
    "Ablation": ablation,
    "Readings": readings,
    "BetweenPrompts": lambda: cc.between_prompts(
        [directions_result(), directions_result(token_ids=np.arange(5, 9))],
        cc.DirectionsView((2, 3), 4),
    ),
}
"""What has none."""


def test_results_show_themselves_by_the_same_means():
    assert issubclass(Result, Drawn)
    assert "_repr_html_" not in vars(Result)


@pytest.mark.parametrize("name", DRAWN)
def test_a_figure_is_drawn_saved_and_shown_under_the_verdict(name, tmp_path):
    found = DRAWN[name]()
    assert isinstance(found, getattr(cc, name))
    drawing = found.plot()
    saved = drawing.save(tmp_path / "figure.html").read_text()
    assert html.escape(drawing.figure.layout.meta["alt"]) in saved
    shown = found._repr_html_()
    assert f"<p>{html.escape(found.verdict)}</p>" in shown
    assert "plotly" in shown
    assert len(found.to_pandas())


@pytest.mark.parametrize("name", [name for name in DRAWN if name != "Scores"])
def test_another_figure_is_refused_with_those_that_help_lists(name):
    found = DRAWN[name]()
    with pytest.raises(cc.InputError, match="figure must be one of") as refused:
        inspect.unwrap(type(found).plot)(found, "mapp")
    named = str(refused.value).removeprefix("figure must be one of ").split(", and 'mapp'")[0]
    told = type(found).plot.__doc__
    whole = replace(found, spectra={}) if isinstance(found, cc.Course) else found
    drawn = [repr(whole.plot(figure)) for figure in named.split(", ")]
    assert all(f'"{figure}"' in told for figure in named.split(", "))
    assert drawn[0] == repr(found.plot())


@pytest.mark.parametrize("name", [*DRAWN, *TOLD])
def test_a_table_says_what_it_is_of_and_so_does_a_line(name):
    found = (DRAWN | TOLD)[name]()
    assert found.to_pandas().attrs
    told = repr(found)
    assert "\n" not in told
    assert len(told) < 400
    table = "19 models (all models)"
    whose = {"random", "one", table, SUITE.name, found.__dict__.get("whose", "LlamaForCausalLM")}
    assert any(each in told for each in whose)


def test_scores_of_one_model_in_the_bases_of_another_say_so():
    found = crossed()
    assert found.same_block.tolist() == [0.9, 0.6]
    assert found.mean().corrected == pytest.approx(0.15)
    assert "is 0.750 in the mean over the same blocks, and 0.150 over different" in found.verdict
    assert found.verdict.startswith("A is random, 'The cat sat down'; B is random, ")
    meta = found.plot().figure.layout.meta
    assert "A: random" in meta["source"]
    assert ". B: random" in meta["source"]
    assert cc.cross(found.a, found.b, k=2).plot().figure.layout.meta["source"] == meta[
        "source"
    ].replace("K = 3", "K = 2")
    told = found.to_xarray().attrs
    assert (told["K"], told["a_model"], told["b_model"]) == (3, "random", "random")
    assert repr(found).startswith("CrossScores(A: random, ")
    (line,) = found.plot().figure.data
    assert line.y.tolist() == [0.9, 0.6]
    assert found[1, 2].corrected == 0.2
    assert repr(found[[2, 1]].a) == repr(found.a)
    assert len(found.strongest(1)) == 1
    assert found.strongest(1).corrected[0] == 0.9  # no more 1 by construction than any other


@pytest.mark.parametrize("name", TOLD)
def test_what_has_no_figure_shows_its_table(name):
    found = TOLD[name]()
    assert isinstance(found, Told)
    shown = found._repr_html_()
    assert f"<p>{html.escape(found.verdict)}</p>" in shown
    assert "<table" in shown
    assert len(found.to_pandas())


def test_a_comparison_says_its_means():
    found, of = DRAWN["Comparison"](), cc.summarise(DRAWN["Comparison"]())
    assert f"Over {of.pairs} pairs" in found.verdict
    assert f"{of.a:.3f} in A and {of.b:.3f} in B" in found.verdict
    (apart,) = [t for t in found.plot("difference").figure.data if t.name == "difference"]
    off = ~np.eye(5, dtype=bool)
    np.testing.assert_allclose(apart.z[off], found.difference[off], rtol=1e-5)


def test_two_models_in_one_row():
    found = compared_models()
    assert str(found) == found.verdict
    (row,) = found.to_pandas().to_dict("records")
    assert (row["a"], row["b"], row["n"]) == ("one", "other", 2)
    assert row["difference"] == pytest.approx(0.25)
    assert found.by_prompt().values.tolist() == [["a", 0.3, 0.1, 0.3 - 0.1], ["b", 0.5, 0.2, 0.3]]
    (dots,) = found.plot().figure.data
    assert dots.x.tolist() == pytest.approx([0.2, 0.3])
    shapes = [shape.name for shape in found.plot().figure.layout.shapes]
    assert shapes == ["interval", "mean", "chance"]
    assert "no p, and wide: of 2 prompts" in found.verdict


def test_floors_whose_error_nobody_knows_say_no_number():
    means = between_tokens()
    told = cc.compare(means, means, definition="released", k=4).verdict
    assert "random bases, and have an error of their own" in told


def test_shared_directions_name_their_blocks():
    found = cc.shared_of(directions_result(), cc.DirectionsView((1, 2, 4)), "v")
    assert found.verdict.startswith("Blocks 1 to 2, 4 read ")
    table = found.to_pandas()
    np.testing.assert_array_equal(table.share, found.share)
    trace = found.plot().figure.data[0]
    np.testing.assert_allclose(trace.y, found.share)


def test_maps_of_other_numbers_are_told_and_not_drawn():
    result = what_if_result()
    for number, unit in (("loss", "nats of loss"), ("stays", "likeliest next tokens stay")):
        found = cc.effect_maps(result, number=number)
        assert unit in found.verdict
        assert "<table" in found._repr_html_()
        table = found.to_pandas().set_index("edit")
        assert table.loc["skip(2)", number] == pytest.approx(found.skip[1])
        with pytest.raises(cc.InputError, match="drawn of the divergence"):
            found.plot()
    stays = cc.effect_maps(result, number="stays")
    assert f"without block {np.nanargmax(stays.skip) + 1} most easily" in stays.verdict
    assert cc.effect_maps(result).verdict == result.verdict


def test_paths_have_the_table_and_figure_of_their_result():
    result = trajectory_result()
    found = cc.project_paths(result, cc.PathView(fit="all"))
    table = found.to_pandas()
    assert list(table.columns) == ["token", "text", "state", "pc_1", "pc_2", "pc_3"]
    at = table[(table.token == found.tokens[1]) & (table.state == 3)]
    np.testing.assert_array_equal(
        at[["pc_1", "pc_2", "pc_3"]].to_numpy()[0], found.coordinates[3, 1]
    )
    assert f"{percent(found.explained[:2].sum(), 1)}" in found.verdict
    assert found.plot("paths-3d").figure.data[0].type == "scatter3d"


def test_coupling_and_effect_of_two_results():
    depth, effects = pair_of_kinds()
    for edit in ("interchange", "replace"):
        found = cc.coupling_effect(depth, effects, k=3, edit=edit)
        scores = cc.score_pairs(depth, cc.View(3)).corrected
        cost = getattr(cc.effect_maps(effects), edit)
        expected = cc.coupling_effect(scores[None], cost[None], edit=edit)
        assert found.verdict.replace(" at K = 3 (token 4 of 6 ' word4')", "") == expected.verdict
        table = found.to_pandas()
        row = table[(table.block == 2) & (table.other_block == 5)].iloc[0]
        assert row.coupling == pytest.approx((scores[1, 4] + scores[4, 1]) / 2)
        assert row.minus_log_kl == pytest.approx(-(np.log(cost[1, 4]) + np.log(cost[4, 1])) / 2)
        (points,) = found.plot().figure.data
        assert sorted(points.x) == pytest.approx(sorted(found.coupling))
        assert effects.model_name in repr(found.plot())
    assert cc.coupling_effect(depth, effects).coupling.tolist() != found.coupling.tolist()
    assert repr(found) == (
        "CouplingEffect(random over 'The cat sat down', replace, "
        "K = 3 (token 4 of 6 ' word4'), 15 pairs of blocks 1-6, "
        "rho 0.26, with distance held fixed 0.02)"
    )
    assert found.to_pandas().attrs["edit"] == "replace"
    assert found.to_pandas().attrs["K"] == 3
    assert "coupling at K = 3 (token 4 of 6 ' word4') and the smallness" in found.verdict
    without = replace(depth, request=replace(depth.request, final_norm="exclude"))
    other = cc.coupling_effect(without, effects, k=3)
    assert "final norm excluded" in repr(other)
    told = other.to_pandas().attrs
    assert told["final_norm"] == "final norm excluded"
    assert told["measured"] == depth.measured


def test_inner_blocks_keep_their_numbers():
    depth, effects = random_result(n_blocks=9), what_if_result(n_blocks=9)
    depth = replace(depth, identity=effects.identity, tokens=effects.tokens)
    found = cc.coupling_effect(depth, effects, inner=True)
    assert (found.block.min(), found.other.max()) == found.blocks == (3, 7)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda d, e: ((replace(d, tokens=("x",)), e), {}), "expected those of one model and one"),
        (lambda d, e: ((d, e), {"k": 99}), "K must lie in"),
        (lambda d, e: ((np.ones((6, 5, 5)),) * 2, {"k": 3}), "chooses the coupling of a result"),
    ],
)
def test_what_does_not_belong_together_is_refused(change, told):
    given, options = change(*pair_of_kinds())
    with pytest.raises(cc.InputError, match=told):
        cc.coupling_effect(*given, **options)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"divergence": 0.1}, "by 0.105 in the median, and 10 of 20 by as much or more."),
        ({"part": 0.1}, "and none of 20 by as much or more. They hold 10.0\u00a0%"),
        ({"part": 0.5}, "the comparison is not fair: they hold 50.0\u00a0%"),
        ({"divergence": 1.234e-5}, "changes what the model says by 1.23e-05 (KL, nats)."),
    ],
)
def test_an_ablation_is_told_beside_chance(changes, told):
    found = ablation(**changes)
    assert told in found.verdict
    assert "frame holds 6.2\u00a0%" in found.verdict
    assert "out of the input of each of blocks 2-3 at token 5 changes" in found.verdict
    assert found.to_pandas().part_by_chance[0] == 4 / 64
    assert found.to_pandas().blocks[0] == "2-3"


def test_steering_is_told_by_direction_and_size():
    assert steering().verdict == (
        "More than each of 20 random directions (KL, nats) is done by u_1 at 1 of the state's "
        "norm; no other does at any size that was tried."
    )
    none = replace(steering(), divergence=np.zeros_like(steering().divergence))
    assert none.verdict.startswith("No direction does more than each of 20 random directions")


def test_scores_say_their_means_with_their_result_or_without():
    scores = random_result().scores(k=3)
    mean = scores.mean()
    told = f"c is {mean.coupling:.3f}, its chance floor {mean.chance:.3f}, and the score of each"
    assert told in scores.verdict
    assert f"{mean.corrected:.3f}." in scores.verdict
    assert replace(scores, result=None).verdict == scores.verdict
    assert scores.verdict != scores["2-3"].verdict
    empty = replace(scores, corrected=np.full((5, 5), np.nan))
    assert empty.verdict == "No pair of different blocks has a score at K = 3."


def test_a_training_run_says_how_coupling_goes_and_what_is_missing():
    found = course()
    first, last = (f"{mean:.3f}" for mean in found.to_pandas().corrected.dropna())
    assert found.verdict.startswith(f"Coupling is {first} at step 0, {last} at step 4.")
    assert found.verdict.endswith("Not all is measured of steps 0, 1, 4.")
    none = course(depth={})
    assert none.verdict.startswith("No step has a score.")
    assert "<table" in none._repr_html_()
    alike = course(depth={0: planted(), 4: planted()})
    assert "Steps 0, 4 hold the same weights, whatever" in alike.verdict


def test_a_training_run_of_many_steps_says_where_it_peaks():
    scores = {step: planted(np.full((4, 4), at)) for step, at in ((0, 0.1), (1, 0.6), (4, 0.3))}
    peak = course(depth=scores).verdict
    assert "step 1, then falls to" in peak


@pytest.mark.parametrize(
    ("step", "told"),
    [
        (2, "step 2 is not measured: of the 2 steps that are, 0 and 4 are nearest"),
        (np.int64(100), "step 100 is not measured: of the 2 steps that are, 0 and 4 are nearest"),
        ("4", "a step is a whole number, such as 0, and '4' came"),
    ],
)
def test_a_step_that_is_not_there_is_answered_by_its_neighbours(step, told):
    found = course()
    with pytest.raises(cc.InputError) as refused:
        found.depth[step]
    assert str(refused.value) == told
    assert step not in found.depth
    assert found.depth.get(step) is None
    with pytest.raises(cc.InputError, match="nor is any other"):
        found.paths[step]


def test_of_many_steps_the_nearest_two_are_named():
    run = course(depth=dict.fromkeys((0, 1, 2, 64, 128, 512), planted()))
    with pytest.raises(cc.InputError, match="64 and 128 are nearest"):
        run.depth[100]
    with pytest.raises(cc.InputError, match="of the 1 steps that are, 4 is nearest"):
        course(depth={4: planted()}).depth[3]


def test_findings_say_what_goes_together_and_draw_it():
    found = DRAWN["Findings"]()
    assert found.verdict == " ".join(found.shows[:2])
    table = found.to_pandas()
    assert list(table.model) == list(found.means.rows.model)
    drawn = {name: found.plot(name).figure for name in ("models", "families", "k", "correlation")}
    points = {str(name) for trace in drawn["models"].data for name in np.ravel(trace.customdata)}
    assert set(found.points.model) <= points
    assert len({figure.layout.meta["alt"] for figure in drawn.values()}) == len(drawn)
    assert f"{len(table)} models" in found.plot().figure.layout.meta["source"]


def test_prompts_are_told_beside_chance():
    found = TOLD["BetweenPrompts"]()
    apart, chance = np.median(found.angles), np.median(found.chance)
    assert f"stand at {apart:.1f} degrees in the median" in found.verdict
    assert f"independent ones would at {chance:.1f}." in found.verdict
    three = [directions_result(token_ids=np.arange(4) + first) for first in range(3)]
    alike = cc.between_prompts(three, cc.DirectionsView((2, 3), 4))
    assert "Between two of 3 prompts, the leading 4 directions" in alike.verdict
    assert "In 2 of 2 blocks the prompts share directions beyond chance; most in block 2, 4" in (
        alike.verdict
    )
    none = replace(found, angles=np.full_like(found.angles, np.nan))
    assert none.verdict == "No block has 4 directions in every prompt."


def test_readings_are_told_beside_chance():
    told = readings().verdict
    assert told.startswith("2 of 3 directions have a readout (reads by the embedding) that is more")
    assert told.endswith("They begin with: 1 ' Paris' ' France'; 3 ' Rome'.")
    assert "begin with" not in readings(peakedness=np.zeros(3)).verdict


@pytest.mark.parametrize("name", ["Comparison", "Crossing"])
def test_a_table_of_two_results_says_whose_they_are(name, tmp_path):
    found = DRAWN[name]()
    found.to_pandas().to_parquet(tmp_path / "t.parquet")
    told = pd.read_parquet(tmp_path / "t.parquet").attrs
    assert (told["a_model"], told["b_model"]) == (found.a.model_name, found.b.model_name)
    assert told["a_certificate"] == found.a.certificate_words


def test_steering_is_drawn_over_rising_sizes_beside_the_range_of_random_directions():
    found = replace(steering(), sizes=(1.0, 0.1))
    ground, median, first, second = found.plot().figure.data
    assert [first.name, second.name] == ["u_1", "u_2"]
    assert (list(first.x), list(first.y)) == ([0.1, 1.0], [0.9, 0.01])
    assert (min(ground.y), max(ground.y)) == (0.01, 0.2)
    assert median.y[0] == pytest.approx(0.105)
    assert "added to the output of block 3 at tokens 4, 6" in found.plot().figure.layout.meta["alt"]
    said = {"block": 3, "side": "u", "tokens": [4, 6]} | found.result.attributes()
    assert found.to_pandas().attrs == said


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("score", "did you mean 'scores'?"),
        ("verdit", "did you mean 'verdict'?"),
        ("coupling", "its scores are .scores(k=50)"),
        ("zzz", "has no 'zzz'"),
    ],
)
def test_a_name_that_is_none_is_answered_with_the_one_that_is_meant(name, told):
    with pytest.raises(AttributeError) as error:
        getattr(random_result(), name)
    assert told in str(error.value)
    assert not hasattr(trajectory_result(), "_repr_latex_")


def test_a_training_run_is_equal_by_its_content_and_says_its_k():
    assert course() == course()
    assert course() != course(steps=(0, 4))
    with pytest.raises(TypeError, match="unhashable type: 'Course'"):
        hash(course())
    found = course()
    assert (
        f"mean chance-corrected score at K = {found.default_k}, of {SUITE.name}." in found.verdict
    )


def test_means_by_distance_say_of_what_they_are():
    assert "The mean chance-corrected score at K = 3 is" in DRAWN["Locality"]().verdict
    assert "The mean chance-corrected score at K = 3 is" in DRAWN["ByDistance"]().verdict
    raw = cc.locality(random_result(), k=3, corrected=False)
    assert "The mean of c at K = 3 is" in raw.verdict


def test_prompts_are_those_of_one_model_and_each_another():
    one, other = directions_result(), directions_result(token_ids=np.arange(5, 9))
    found = cc.between_prompts([one, other], leading=3)
    assert found.to_pandas().attrs["prompts"] == found.n == 2
    with pytest.raises(cc.InputError, match="results 1 and 3 are of the same prompt, 'The cat"):
        cc.between_prompts([one, other, one])
    twin = replace(other, request=replace(other.request, untrained=0))
    with pytest.raises(
        cc.InputError, match=r"of random float32 and random, untrained \(seed 0\) float32"
    ):
        cc.between_prompts([one, twin])
    with pytest.raises(cc.InputError, match="several modules of class random"):
        cc.between_prompts([one, directions_result(seed=1, token_ids=np.arange(5, 9))])


def test_what_a_sweep_says_is_equal_where_table_and_question_are():
    found = swept()
    again = cc.Findings(found.table, found.question)
    assert again == found == pickle.loads(pickle.dumps(found))
    assert cc.Findings(found.table, cc.Question(k=4)) != found
