"""What the analysis refuses, and in which words: all in one table."""

import inspect
from dataclasses import replace
from functools import partial

import cases
import numpy as np
import pandas as pd
import pytest
import tiny
from cases import VIEW, directions_result, planted, random_result, trajectory_result
from refused import refusals
from sweep_table import prompts_table, sweep_of, zoo

import coupling_core as cc
from coupling_core.analysis import directions, statistics
from coupling_core.analysis.coupling_effect import coupling_effect
from coupling_core.analysis.effect_study import study_of
from coupling_core.analysis.findings import Question, find
from coupling_core.analysis.perturbation import nearest_size
from coupling_core.analysis.pruning.study import Study

table = partial(prompts_table, model=list("aabb"))
unchecked = inspect.unwrap  # a function without the types that tests check at run time


def of_scores_and_comparisons():
    one, other = random_result(), random_result(seed=1)
    narrow = random_result(k_max=6, k_view=4)
    three, view, preprint = planted(np.eye(3)), cc.View(k=3), cc.View(k=1, definition="preprint")
    return {
        "a block that is none": lambda: cc.score_pairs(one, cc.View(k=2, blocks=(6,))),
        "a block named twice": lambda: cc.score_pairs(one, cc.View(k=4, blocks=(-1, 5))),
        "no block": lambda: cc.View(blocks=()),
        "no prompt": lambda: cc.mean_interval(np.array([])),
        "B lacks K": lambda: cc.compare(one, narrow, cc.View(k=7)),
        "one block": lambda: cc.compare(planted(), three, replace(VIEW, blocks=(1, 2))),
        "a score that no pair has": lambda: cc.compare(one, one, preprint),
        "K and a view": lambda: cc.compare(one, other, view, k=3),
        "blocks and a view": lambda: cc.compare(planted(), other, VIEW, blocks="2-4"),
        "p of a score without": lambda: cc.compare(one, other, k=3, definition="alignment", p=2),
        "another kind": lambda: cc.compare(one, trajectory_result()),
        "a table": lambda: unchecked(cc.compare)(table(), one),
        "graph of one block": lambda: cc.layer_graph(one.scores(2, [3])),
    }


def of_pairs_of_tokens():
    asked = {"model": tiny.model("llama"), "kind": "fixed-output", "block": 2, "k": 6}
    one, other = (cc.measure((3, 1, 4, 1, 5), other_block=b, **asked) for b in (1, 2))
    shorter = cc.measure((3, 1, 4), other_block=1, **asked)
    no_block = cc.Request((5, 17), k=4, kind="self", block=5)
    return {
        "blocks": lambda: cc.compare(one, other, blocks="1-2"),
        "other tokens": lambda: cc.compare(one, shorter),
        "a request for no block": lambda: cc.measure(no_block, model=asked["model"]),
    }


def of_graphs():
    scores = planted().scores(1)
    return {
        f"threshold {at}": lambda at=at: cc.layer_graph(scores, threshold=at)
        for at in (-0.01, float("nan"))
    }


def of_paths():
    a, b = trajectory_result(), trajectory_result(seed=1)
    shorter, longer = trajectory_result(n_tokens=2), trajectory_result(n_tokens=7)
    shorter = replace(shorter, request=replace(shorter.request, prompt="The dog"))
    found, both = cc.project_paths(a), cc.compare(a, b)
    return {
        "a figure of two": lambda: unchecked(type(a).plot)(a, "paths-apart"),
        "a figure of one": lambda: unchecked(type(both).plot)(both, "linearised"),
        "a figure for each token": lambda: cc.compare(a, shorter).plot("expodistance"),
        "a token of the other": lambda: cc.compare(a, longer).plot("paths-apart", token=0),
        "K": lambda: cc.compare(a, a, k=3),
        "another kind": lambda: cc.compare(a, planted()),
        "onto and a view": lambda: cc.project_paths(a, onto=found, fit="all"),
        "onto another width": lambda: cc.project_paths(trajectory_result(width=8), onto=found),
    }


def of_directions():
    one, a = directions_result(), directions_result(width=64, k=8)
    plain = replace(a, request=replace(a.request, final_norm="exclude"))
    two = cc.DirectionsView((2, 3))
    prompts = {
        "of two precisions": replace(a, request=replace(a.request, dtype="bfloat16")),
        "of two modules": replace(a, identity=dict(a.identity) | {"digest": "another"}),
        "twice the same": a,
    }
    return {
        "blocks and a view": lambda: directions.shared_of(one, two, blocks="2-3"),
        "one prompt": lambda: directions.between_prompts([one], cc.DirectionsView()),
        "a direction past the last": lambda: directions.track(one, 2, 99),
        "another token": lambda: cc.cross(a, replace(a, token=1)),
        "other tokens": lambda: cc.cross(a, replace(a, token_ids=a.token_ids + 1)),
        "another final norm": lambda: cc.cross(a, plain),
        "another width": lambda: cc.cross(a, directions_result(width=32, k=8)),
        "K of 5": lambda: cc.cross(a, a, 5),
    } | {
        f"prompts {name}": lambda b=b: directions.between_prompts([a, b], cc.DirectionsView())
        for name, b in prompts.items()
    }


def of_tables_and_what_is_found_in_them():
    sweep, of_run = sweep_of(zoo()), sweep_of(zoo()[:3]).assign(score=1.0)
    paths = table(kind="trajectory", k=np.nan, line_shape=[1.0, 2, 3, 4]).drop(columns="corrected")
    best = Question(8, subset="above-45")
    two_norms = table(final_norm=["include", "include", "include", "exclude"], prompt=list("xyxy"))
    wide = pd.concat([table(k=k, width=8, prompt=list("xyxy")) for k in (8, 16)])
    wide = wide[(wide["model"] == "b") | (wide["k"] == 8)]
    return {
        "columns": lambda: statistics.model_means(sweep.drop(columns=["family", "width"]), 4),
        "K of no model": lambda: statistics.model_means(sweep, 5),
        "no depth-wise row": lambda: find(sweep.assign(kind="trajectory"), Question(8)),
        "a subset without models": lambda: find(of_run, best),
        "a column misspelled": lambda: cc.means_by(table(), "topik"),
        "no row": lambda: cc.means_by(table().iloc[:0], "topic"),
        "no column of numbers": lambda: cc.means_by(paths, "model"),
        "none to compare": lambda: cc.compare_models(paths.assign(prompt=list("xyxy")), "a", "b"),
        "texts for scores": lambda: cc.means_by(table(corrected=["0.1", "", "", "x"]), "topic"),
        "final norms": lambda: cc.compare_models(two_norms, "a", "b"),
        "a K past the width": lambda: cc.compare_models(wide, "a", "b", k=16),
    } | {f"findings at K = {k}": lambda k=k: find(sweep, Question(k)) for k in (7, -1, 0.001)}


def of_effects_and_noise():
    depth, noise = random_result(n_blocks=6), cases.perturbation_result()
    effects = cases.what_if_result(len(depth.tokens), 6)
    effects = replace(effects, identity=depth.identity, tokens=("other",) * 6)
    return {
        "other prompts": lambda: coupling_effect(np.ones((2, 6, 6)), np.ones((3, 6, 6))),
        "few blocks": lambda: coupling_effect(*[np.ones((2, 8, 8))] * 2, inner=True),
        "another prompt": lambda: study_of([(depth, effects)], 4),
        "noise of size 0": lambda: nearest_size(noise, 0),
    }


SUBJECTS = (
    of_scores_and_comparisons,
    of_pairs_of_tokens,
    of_graphs,
    of_paths,
    of_directions,
    of_tables_and_what_is_found_in_them,
    of_effects_and_noise,
)


def test_what_the_analysis_refuses(snapshot):
    assert {calls.__name__: refusals(calls()) for calls in SUBJECTS} == snapshot


def test_another_file_is_no_study_of_pruning(tmp_path):
    path = tmp_path / "other.json"
    for content in ("", "{}", "[1]", '{"format": "coupling prune 1"}', "null"):
        path.write_text(content)
        with pytest.raises(cc.InputError, match=r"other\.json"):
            Study.read(path)
