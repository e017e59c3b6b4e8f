"""A prompt over the steps of a training run from Python: measured, collected, tabulated, drawn."""

import numpy as np
import pytest
import tiny
import training
from fake_hub import client, lay_out
from training import REQUEST, SUITE

import coupling_core as cc

PROMPT = "The cat sat"
REPO = "EleutherAI/pythia-70m"
STEPS = (0, 16, 1000)
pytestmark = pytest.mark.filterwarnings("error::UserWarning")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Weights of three steps."""
    path = tmp_path_factory.mktemp("steps")
    names = [f"step{step}" for step in STEPS]
    return {name: tiny.folder(path / name, "gpt_neox", i) for i, name in enumerate(names)}


@pytest.fixture
def here(monkeypatch, tmp_path, folders):
    """A cache that has these steps of a Pythia model, and no hub; and a suite of our own."""
    client(monkeypatch, tmp_path)
    suites = tmp_path / "home" / "suites"
    lay_out(suites, folders, "coupling-explorer/mini-64")
    losses = "step,train,held_out\n0,3.5,4.0\n16,3.5,3.75\n"
    (suites / "models--coupling-explorer--mini-64" / "losses.csv").write_text(losses)
    return lay_out(tmp_path / "hub", folders, REPO)


def test_every_step_is_measured_with_the_numbers_of_its_weights(here, folders):
    course = cc.measure_steps(PROMPT, "pythia-70m", (1000, 0), k=4)
    assert (course.steps, course.missing) == ((0, 1000), ())
    for step in course.steps:
        folder = folders[f"step{step}"]
        alone = cc.measure(PROMPT, None, model=folder, k=4)
        np.testing.assert_array_equal(course.depth[step].diagonal, alone.diagonal)
        paths = cc.measure(PROMPT, None, model=folder, kind="trajectory")
        np.testing.assert_array_equal(course.paths[step].line_shape, paths.line_shape)
    again = cc.collect(cc.find_suite("pythia-70m"), cc.Request(PROMPT, k=4), cc.Store(), (0, 1000))
    assert cc.numbers(course, cc.View(k=4)) == cc.numbers(again, cc.View(k=4))


def test_what_is_stored_is_only_read(here, monkeypatch):
    first = cc.measure_steps(PROMPT, cc.find_suite("pythia-70m"), 16, k=4, progress=False)
    monkeypatch.setattr("coupling_core.measuring.measure._compute", None)
    again = cc.measure_steps(PROMPT, "pythia-70m", [16], k=4, progress=False)
    assert again.depth[16] == first.depth[16]
    assert again.default_k == again.depth[16].default_k == 4  # as it was asked for
    usual = cc.measure_steps(PROMPT, "pythia-70m", [16], progress=False)
    assert usual.default_k == usual.depth[16].default_k == 8


def test_spectra_and_stores_of_ones_own(here, tmp_path):
    course = cc.measure_steps(PROMPT, "mini-64", 0, k=4, spectra=True, store=tmp_path / "kept")
    assert set(course.spectra) == {0}
    assert cc.Store(tmp_path / "kept").get(course.depth[0].key) == course.depth[0]
    table = course.to_pandas(k=4)
    assert table["departure"].notna().all()
    assert table["loss"].tolist() == [4.0]


def test_steps_out_of_reach_are_left_out_with_a_warning(here):
    with pytest.warns(UserWarning, match="step 1 of mini-64"):
        course = cc.measure_steps(PROMPT, "mini-64", (0, 1), k=4)
    assert course.missing == (1,)
    assert "1 of 2 measured" in repr(course)


@pytest.fixture
def store(monkeypatch, tmp_path):
    training.lay_out(monkeypatch, tmp_path)
    return training.stored(tmp_path)


def test_steps_that_are_not_stored_are_told(store):
    with pytest.warns(UserWarning, match=r"\(steps 1, 2\)"):
        cc.collect(SUITE, REQUEST, store)
    of_text = cc.collect(SUITE, str(REQUEST.prompt), store.root, (0, 4))
    assert (set(of_text.depth), of_text.missing) == ({0, 4}, ())


def test_a_course_is_a_table_and_drawn(store):
    course = cc.collect(SUITE, REQUEST, store, (0, 4))
    table, found = course.to_pandas(), cc.numbers(course, cc.View(k=course.default_k))
    assert course.default_k == REQUEST.k == 4
    for name in ("step", "loss", "coupling", "chance", "corrected", "locality", "line_shape"):
        assert table[name].tolist() == [getattr(one, name) for one in found]
    assert "departure" not in table  # nobody asked for spectra
    at = cc.View(k=2, definition="alignment", blocks=(1, 2, 3))
    of_view = [one.coupling for one in cc.numbers(course, at)]
    assert course.to_pandas(at)["coupling"].tolist() == of_view
    said = {"suite": course.suite.name, "K": 4, "definition": "paper", "role": "A", "p": 1.0}
    one = course.depth[0].attributes()
    said |= {name: one[name] for name in ("measured", "final_norm", "precision")}
    assert table.attrs.items() >= said.items()
    drawn = course.plot("corrected", k=3)
    line = next(trace for trace in drawn.figure.data if trace.name == SUITE.title)
    np.testing.assert_allclose(line.y, [one.corrected for one in cc.numbers(course, cc.View(k=3))])


def test_a_table_of_many_prompts_tells_step_and_loss(here, folders):
    mini = {"model": "coupling-explorer/mini-64", "revision": "step16"}
    models = {
        "own": mini, "twin": mini | {"untrained": 0},
        "pythia": {"model": REPO, "revision": "step1000"}, "folder": folders["step0"],
    }  # fmt: skip
    table = cc.measure_many([PROMPT], models, k=4, progress=False)
    assert table["model"].tolist() == list(models)
    np.testing.assert_array_equal(table["step"], [16, np.nan, 1000, np.nan])
    np.testing.assert_array_equal(table["loss"], [3.75, np.nan, np.nan, np.nan])
