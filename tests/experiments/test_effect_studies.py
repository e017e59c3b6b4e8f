"""Coupling and effects over many prompts: whose study is looked for, and that it comes back."""

from dataclasses import replace

import numpy as np
import pytest

from coupling_core import Request, Store
from coupling_core.analysis.effect_study import ARRAYS, EffectStudy
from coupling_core.experiments import effects
from coupling_core.experiments.effects import Subject, shipped, steps_of, subject_of, twin_of
from coupling_core.experiments.gallery import UNTRAINED_SEED
from coupling_core.measuring.one_edit import Said
from studies.effects import __main__ as building

L = 6


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where studies ship, with none in it."""
    monkeypatch.setattr(effects, "FOLDER", tmp_path)
    shipped.cache_clear()
    yield tmp_path
    shipped.cache_clear()


def study(seed=0):
    rng = np.random.default_rng(seed)
    arrays = {name: rng.uniform(0.1, 1, (7, L, L)).astype(np.float32) for name in ARRAYS}
    return EffectStudy(tuple(f"prompt {n}" for n in range(7)), 8, **arrays)


def test_a_study_comes_back_as_it_was_written(folder):
    assert shipped(Subject()) is None
    building._write(study(), Subject().file)
    for step in (512, 0):
        mini = Subject("coupling-explorer/mini-64", f"step{step}", k=effects.MINI_K)
        building._write(study(step), mini.file)
    shipped.cache_clear()
    again, expected = shipped(Subject()), study()
    assert (again.prompts, again.k) == (expected.prompts, 8)
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(again, name), getattr(expected, name))
    assert list(steps_of("mini-64")) == [0, 512]


def test_a_request_leads_to_its_study():
    asked = Request("any", kind="what-if")
    assert subject_of(asked) == Subject()
    assert subject_of(replace(asked, untrained=UNTRAINED_SEED)) == twin_of(Subject())
    assert twin_of(twin_of(Subject())) == Subject()
    assert subject_of(replace(asked, dtype="bfloat16")) is None
    assert subject_of(replace(asked, model="other/model")) is None
    mini = Request("any", model="coupling-explorer/mini-64", revision="step128", kind="what-if")
    assert subject_of(mini).k == effects.MINI_K
    assert twin_of(subject_of(mini)) is None


def test_a_study_is_measured_prompt_by_prompt(tmp_path, monkeypatch):
    monkeypatch.setattr(building, "prompts", lambda: ("The cat", "A dog sat"))
    subject = Subject("coupling-explorer/mini-64", "step128", k=effects.MINI_K)
    pairs = list(building._measured(subject, tmp_path))
    assert [edits.prompt_text for _, edits in pairs] == ["The cat", "A dog sat"]
    assert all(depth.tokens == edits.tokens for depth, edits in pairs)
    assert len([entry for entry in Store(tmp_path).entries() if not entry.read_only]) == 4


def test_continuations_are_of_one_prompt_alone(monkeypatch):
    said = {"none": Said("none", ((" Paris", 0.8),), " Paris.")}
    monkeypatch.setattr(effects, "_continuations", lambda: said)
    asked = Request(effects.EXAMPLES[0], kind="what-if")
    assert effects.stored_continuations(asked, ("none",)) == (said["none"],)
    assert effects.stored_continuations(asked, ("none", "skip(1)")) is None
    assert effects.stored_continuations(replace(asked, prompt="other"), ("none",)) is None


def test_steps_of_a_mini_suite_ship_over_all_prompts():
    found = steps_of("mini-64")
    assert {0, 64, 4000} <= set(found)
    assert len(set(building.prompts())) == 40
    for one in found.values():
        assert one.prompts == building.prompts()
        assert all(np.isfinite(getattr(one, name)).all() for name in ARRAYS)
    apart = ~np.eye(len(found[0].coupling[0]), dtype=bool)
    scores = {step: found[step].coupling[:, apart].mean() for step in (0, 4000)}
    assert abs(scores[0]) < 0.02 < scores[4000]
