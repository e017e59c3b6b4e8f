"""What a sweep's file may say, what it comes to, and which measurement a worker does next."""

import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import tiny
from hypothesis import given
from hypothesis import strategies as st

from coupling_core import InputError, Request, Store, measure
from coupling_core.base.folders import SWEEPS
from coupling_core.experiments.sweeps import Journal, make, make_table, read, run
from coupling_core.experiments.sweeps.plan import Item, published
from coupling_core.experiments.sweeps.table import of_weights
from coupling_core.experiments.sweeps.turns import Turns
from coupling_core.sources.catalogue import CatalogueModel, write_catalogue

SWEEP = """
name = "few"
k = [4, 8]
[[models]]
model = "{folder}"
untrained = [0, 3]
[[models]]
suite = "mini-64"
steps = [512, 0]
[[prompts]]
text = "The cat sat on the mat"
[[prompts]]
file = "own.txt"
"""


@pytest.fixture
def lay_out(tmp_path):
    """A sweep's file with a model and prompts beside it."""
    tiny.folder(tmp_path / "model")
    tiny.folder(tmp_path / "bert", "bert")
    (tmp_path / "own.txt").write_text("Water boils\n\nThe cat sat on the mat\n")

    def write(text=SWEEP):
        path = tmp_path / "few.toml"
        path.write_text(text.format(folder=tmp_path / "model"))
        return path

    return write


def test_every_model_meets_every_prompt_once(lay_out):
    plan = make(read(lay_out()))
    twins = ["model, untrained (seed 0)", "model, untrained (seed 3)"]
    steps = [f"coupling-explorer/mini-64@step{step}" for step in (0, 512)]
    assert [weights.title for weights in plan.weights] == ["model", *twins, *steps]
    assert [prompt.text for prompt in plan.prompts] == ["The cat sat on the mat", "Water boils"]
    items = list(plan.items())
    assert "10 measurements" in repr(plan)
    assert len(items) == len(plan) == len({(item.weights, item.prompt) for item in items}) == 10
    assert {item.request.k for item in items} == {8}
    assert items[2].request == Request(
        "The cat sat on the mat", model=plan.weights[1].request.model, untrained=0, k=8, k_view=4
    )


def test_a_sweep_is_written_in_python_as_in_its_file(lay_out, tmp_path, monkeypatch):
    asked = {
        "name": "few",
        "k": (4, 8),
        "models": ({"model": tmp_path / "model", "untrained": [0, 3]},
                   {"suite": "mini-64", "steps": (512, 0)}),
        "prompts": [{"text": "The cat sat on the mat"}, {"file": Path("own.txt")}],
    }  # fmt: skip
    expected = make(read(lay_out()))
    monkeypatch.chdir(tmp_path)
    found = make(read(asked))
    assert (found.weights, found.prompts) == (expected.weights, expected.prompts)
    assert found.sweep.k == expected.sweep.k
    of_numpy = {"k": [np.int64(8), np.float64(0.5)], "token": np.int64(2)}
    assert read(asked | of_numpy).k == (8, 0.5)


def test_what_is_stored_is_found_whoever_measured_it(lay_out, tmp_path):
    plan, store = make(read(lay_out())), Store(tmp_path / "store")
    asked = Request("Water boils", model=str(tmp_path / "model"), k=12)
    result = measure(asked, store, device="cpu")
    stored = dict(zip(plan.items(), plan.stored(store), strict=True))
    assert [item.prompt for item, key in stored.items() if key] == [1]
    assert set(stored.values()) == {"", result.key}


def test_what_is_gone_is_as_the_last_run_found_it_and_is_looked_at_but_not_run(lay_out, tmp_path):
    path, store = lay_out(SWEEP.replace("{folder}", "model")), Store(tmp_path / "store")
    plan, request = make(path), Request("Water boils", model=str(tmp_path / "model"), k=12)
    result = measure(request, store, device="cpu")
    Journal.of(store, plan.id).begin(plan.described, plan.found)
    shutil.rmtree(tmp_path / "model")
    (tmp_path / "own.txt").unlink()
    for sweep in (path, read(path)):
        looked_at = make(sweep, noted=store)
        assert (looked_at.id, looked_at.stored(store)) == (plan.id, plan.stored(store))
        assert make_table(looked_at, store)[0].key.unique() == [result.key]
        with pytest.raises(InputError, match=r"own\.txt"):
            run(looked_at, store)
    path.write_text(path.read_text() + "sample = 1\n")  # another sweep, of which nothing is noted
    for other, noted in ((path, store), (sweep, False), (sweep, tmp_path / "another")):
        with pytest.raises(InputError, match=r"own\.txt"):
            make(other, noted=noted)


def test_one_result_answers_with_and_without_a_norm_where_there_is_none(lay_out, tmp_path):
    store, models = Store(tmp_path / "store"), [tmp_path / "model", tmp_path / "bert"]
    _, without = (measure(Request("One", model=str(of)), store, device="cpu") for of in models)
    asked = {"name": "n", "final_norm": "exclude", "prompts": [{"text": "One"}]}
    plan = make(read(asked | {"models": [{"model": str(of)} for of in models]}))
    assert plan.stored(store) == ["", without.key]


def test_the_name_of_a_plan_is_that_of_what_it_measures(lay_out):
    one = make(read(lay_out()))
    ways = 'retries = 0\ntimeout = 5\ntitle = "Few"\n[slurm]\nqueue = "long"\n'
    head, tail = SWEEP.split("[[models]]", 1)
    moved = head + ways.partition("[slurm]")[0] + "[[models]]" + tail + "[slurm]\nqueue = 'long'\n"
    assert make(read(lay_out(moved))).id == one.id
    assert make(read(lay_out(SWEEP.replace("boils", "b").replace("[4, 8]", "[4]")))).id != one.id
    (lay_out().parent / "own.txt").write_text("Another text\n")
    assert make(read(lay_out())).id != one.id


def test_two_folders_of_one_name_beside_the_file_are_two_models(tmp_path):
    for number in (1, 2):
        tiny.folder(tmp_path / f"{number}" / "model", seed=number)
    path = tmp_path / "two.toml"
    models = "".join(f'[[models]]\nmodel = "{number}/model"\n' for number in (1, 2, 1))
    path.write_text(f'name = "two"\n{models}[[prompts]]\ntext = "One"\n')
    one, two = make(read(path)).weights
    assert one.identity["digest"] != two.identity["digest"]
    assert [one.title, two.title] == [f"model, {tmp_path / n / 'model'}" for n in "12"]


def test_each_model_has_the_k_that_its_width_allows(lay_out, caplog):
    """A share is one of its own width; a K beyond it is left out, and told."""
    shares = make(read(lay_out(SWEEP.replace("[4, 8]", "[8, 0.25]"))))
    assert [weights.width for weights in shares.weights] == [32, 32, 32, 64, 64]
    assert [shares.sweep.every_k(width) for width in (32, 64)] == [(8,), (8, 16)]
    assert shares.request(3, 0, "depth").k == 16
    plan = make(read(lay_out(SWEEP.replace("[4, 8]", "[8, 60]"))))
    assert [plan.request(number, 0, "depth").k for number in range(5)] == [8, 8, 8, 60, 60]
    assert not any(weights.problem for weights in plan.weights)
    assert "K = 60 is left out of model" in caplog.text
    assert "The cat sat on the mat" in caplog.text  # a text that comes twice
    narrow = make(read(lay_out(SWEEP.replace("[4, 8]", "60")))).weights[0]
    assert "32" in narrow.problem


def test_the_shipped_sweeps_can_be_read():
    paths = sorted(SWEEPS.glob("*.toml"))
    assert paths
    assert [path for path in paths if read(path).name != path.stem or not read(path).title] == []


def test_what_is_known_of_a_folder_is_in_the_table(tmp_path, monkeypatch):
    """Its score where the sweep says it, and what the catalogue says of its name."""
    folder = tiny.folder(tmp_path / "mine")
    own, said = {"model": str(folder)}, {"name": "n", "k": 4, "prompts": [{"text": "The cat"}]}
    scored = make(said | {"models": [own | {"score": 41, "untrained": [0]}]})
    scores = [of_weights(weights, None)["score"] for weights in scored.weights]
    np.testing.assert_array_equal(scores, [41, np.nan])
    alone, plain = (make(said | {"models": [of]}) for of in (own | {"score": 41}, own))
    assert plain.id == alone.id  # nothing is measured otherwise
    monkeypatch.setenv("COUPLING_HOME", str(tmp_path))
    known = CatalogueModel("mine", "Family", 100, 2, 32, score=30.0)
    write_catalogue(tmp_path / "models.csv", [known])
    assert make(said | {"models": [own]}).weights[0].family == "Family"
    assert published([str(folder)]) == {str(folder): known}


def items(*counts):
    """So many items of each set of weights."""
    return [
        Item(weights, number, Request(f"{number}"))
        for weights, count in enumerate(counts)
        for number in range(count)
    ]


def test_who_has_nothing_left_helps_where_most_is_left_for_each():
    turns = Turns(items(2, 9, 5))
    first = {worker: turns.take(worker).weights for worker in "abc"}
    assert first == {"a": 0, "b": 1, "c": 2}
    assert [turns.take("a").weights for _ in range(2)] == [0, 1]  # 8 are left of 1, and 4 of 2
    assert turns.take("d").weights == 2  # 7 for two workers, 4 for one
    turns = Turns(items(4, 2))  # and who is gone holds nothing
    assert turns.take("a").weights == 0
    turns.forget("a")
    assert turns.take("b").weights == 0


def test_what_is_put_back_comes_again_and_what_is_dropped_does_not():
    turns = Turns(items(2, 1))
    first = turns.take("a")
    turns.put_back(first)
    assert [turns.take("a").prompt for _ in range(2)] == [1, 0]
    assert [item.weights for item in turns.drop(1)] == [1]
    assert len(turns) == 0
    assert turns.take("a") is None


@given(
    st.lists(st.integers(1, 12), min_size=1, max_size=6),
    st.lists(st.sampled_from("abcd"), min_size=120, max_size=120),
)
def test_each_is_given_once_and_no_model_is_loaded_twice_by_one_worker(counts, workers):
    turns, loads, holds = Turns(items(*counts)), [], {}
    given_out = Counter()
    for worker in workers:
        item = turns.take(worker)
        if item is None:
            break
        given_out[item] += 1
        if holds.get(worker) != item.weights:
            loads.append((worker, item.weights))
        holds[worker] = item.weights
    assert given_out == Counter(items(*counts))
    assert len(loads) == len(set(loads))
