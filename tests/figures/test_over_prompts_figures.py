"""Figures over many prompts: the mean map and graph, and a dot a prompt."""

import numpy as np
import pandas as pd
import pytest
from cases import random_result
from checks import trace

from coupling_core import compare_models, figures
from coupling_core.analysis.over_prompts import mean_scores, of_prompt
from coupling_core.analysis.scores import mean_interval
from coupling_core.base.records import View
from coupling_core.kinds.trajectory.command import CURVES

VIEW = View(4)
PARTS = [of_prompt(random_result(seed=seed), VIEW) for seed in range(6)]
MEAN = mean_scores([part.scores for part in PARTS])
ORIGIN = {"title": "a title", "source": "a source"}
NUMBERS = {1: 0.3, 2: 0.1, 3: 0.2}
TEXTS = {1: "one", 2: "two", 3: "three"}
OVER = mean_interval(np.array([*NUMBERS.values()]))
GROUPS = {1: "late", 2: "early", 3: "late"}
MEDIANS = np.array([[1.0, 2.0, np.nan], [3.0, 4.0, np.nan]])


def strip(numbers=NUMBERS, over=OVER, **options):
    """Dots of prompts."""
    texts = options.pop("texts", {at: f"prompt {at}" for at in numbers})
    return figures.prompt_strip(numbers, texts, over, "Score", origin=ORIGIN, **options)


def test_the_graph_has_the_edges_of_the_means() -> None:
    weight = (MEAN.corrected + MEAN.corrected.T) / 2
    at = float(np.median(weight[np.triu_indices(5, 1)]))
    edges = trace(figures.mean_graph(PARTS, "a list", threshold=at), "edges")
    expected = np.argwhere(np.triu(weight >= at, 1)) + 1
    assert sorted(map(tuple, edges.customdata)) == sorted(map(tuple, expected))


def test_what_figures_over_prompts_say(snapshot) -> None:
    alone = mean_interval(np.array([0.3]))
    shown = {
        "map": figures.mean_map(PARTS, "a list"),
        "raw map": figures.mean_map(PARTS, "a list", corrected=False),
        "graph": figures.mean_graph(PARTS, "a list"),
        "strip": strip(texts=TEXTS, levels={"chance": 0.0}),
        "groups": strip(texts=TEXTS, groups=GROUPS),
        "one prompt": strip({1: 0.3}, alone, texts={1: "one"}),
        "by depth": figures.by_depth_over_prompts(MEDIANS, CURVES["growth"], origin=ORIGIN),
    }
    assert {name: dict(figure.layout.meta) for name, figure in shown.items()} == snapshot


def test_a_dot_is_a_prompt_the_lowest_first() -> None:
    numbers = {1: 0.3, 2: float("nan"), 5: 0.1, 9: 0.2}
    texts = {1: "one", 2: "two", 5: "<b>five</b>", 9: "nine"}
    figure = strip(numbers, texts=texts, levels={"chance": 0.0}, selected=9)
    dots, chosen = figure.data[0], trace(figure, "chosen")
    assert dots.customdata.ravel().tolist() == [5, 9, 1]
    assert list(dots.x) == [0.1, 0.2, 0.3]
    assert "&lt;b&gt;five" in dots.text[0]
    assert (chosen.x[0], chosen.y[0]) == (dots.x[1], dots.y[1])
    shapes = {shape.name: shape for shape in figure.layout.shapes}
    assert (shapes["interval"].x0, shapes["interval"].x1) == (OVER.low, OVER.high)
    assert shapes["mean"].x0 == pytest.approx(0.2)
    assert "1 prompt without" in figure.layout.meta["caption"]
    alone = strip({1: 0.3}, mean_interval(np.array([0.3])))
    assert "interval" not in {shape.name for shape in alone.layout.shapes}


def test_groups_have_colours_of_their_own_in_the_rows_of_all() -> None:
    late, early = strip(groups=GROUPS).data
    assert (late.name, early.name) == ("late: mean 0.250 (n = 2)", "early: mean 0.100 (n = 1)")
    assert (late.customdata.ravel().tolist(), list(late.x)) == ([3, 1], [0.2, 0.3])
    assert (list(late.y), list(early.y)) == ([2, 3], [1])
    assert late.marker.color != early.marker.color


def test_dots_without_groups_are_of_one_colour() -> None:
    for groups in (None, {1: "one", 2: "one", 3: "one"}, {1: "one", 2: "two"}):
        (dots,) = strip(groups=groups).data
        assert (dots.name, list(dots.x)) == ("prompts", [0.1, 0.2, 0.3])
    many = {at: f"prompt {at}" for at in range(1, 11)}  # more groups than colours
    assert len(strip({at: at / 10 for at in many}, groups=many).data) == 1


def test_the_axis_holds_the_interval_and_names_tell_means_apart() -> None:
    numbers = {1: 0.9991, 2: 0.9994, 3: 0.9998}
    over = mean_interval(np.array([*numbers.values()]))
    figure = strip(numbers, over, groups={1: "a", 2: "b", 3: "b"})
    low, high = figure.layout.xaxis.range
    assert low < over.low < over.high < high
    names = ["a: mean 0.999100 (n = 1)", "b: mean 0.999600 (n = 2)"]
    assert [one.name for one in figure.data] == names


def test_a_number_by_depth_is_the_mean_over_prompts() -> None:
    selected = (7, MEDIANS[1])
    figure = figures.by_depth_over_prompts(
        MEDIANS, CURVES["growth"], origin=ORIGIN, selected=selected
    )
    mean = trace(figure, "mean over prompts")
    np.testing.assert_array_equal(mean.y, [2.0, 3.0, np.nan])
    assert list(mean.x) == [1, 2, 3]
    assert list(trace(figure, "prompt 7").y[:2]) == [3.0, 4.0]


def test_another_model_stands_in_the_rows_of_the_same_prompts() -> None:
    numbers, twin = {1: 0.3, 5: 0.1}, {1: 0.01, 5: -0.02}
    figure = strip(numbers, mean_interval(np.array([0.3, 0.1])), beside=twin, other="twin")
    rings, dots = figure.data
    assert rings.customdata.ravel().tolist() == dots.customdata.ravel().tolist() == [5, 1]
    assert list(rings.x) == [-0.02, 0.01]
    assert figure.layout.xaxis.range[0] < -0.02


def test_two_models_differ_by_a_dot_a_prompt_in_the_colour_of_its_group() -> None:
    rows = [
        (model, f"prompt {i}", "depth", 8, 0.6 + apart, 0.5 - (model == "a") / 10, 1 + i // 2)
        for model in "ab"
        for i, apart in enumerate((0.0, 0.1, 0.3) if model == "a" else (0.0, 0.0, 0.0))
    ]
    table = pd.DataFrame(rows, columns="model prompt kind k coupling chance grade".split())
    found = compare_models(table, "a", "b", measure="coupling")
    figure = figures.prompt_differences(found, by="grade")
    assert [dots.name.partition(":")[0] for dots in figure.data] == ["grade 1", "grade 2"]
    assert np.concatenate([dots.x for dots in figure.data]) == pytest.approx([0.0, 0.1, 0.3])
    shapes = {shape.name: shape.x0 for shape in figure.layout.shapes}
    assert (shapes["no difference"], shapes["mean"]) == (0, pytest.approx(0.4 / 3))
    caption = figure.layout.meta["caption"]
    assert "0.100 apart" in caption  # the two floors
