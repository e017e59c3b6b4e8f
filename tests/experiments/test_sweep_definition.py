"""What a sweep's file may say, and what it comes to."""

from pathlib import Path

import numpy as np
import pytest
import tiny

from coupling_core import Request, Store
from coupling_core.experiments.sweeps import make, read
from coupling_core.experiments.sweeps.plan import published
from coupling_core.experiments.sweeps.table import of_weights
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


def test_what_is_stored_is_found_whoever_measured_it(lay_out, tmp_path):
    from coupling_core import measure

    plan, store = make(read(lay_out())), Store(tmp_path / "store")
    asked = Request("Water boils", model=str(tmp_path / "model"), k=12)
    result = measure(asked, store, device="cpu")
    stored = dict(zip(plan.items(), plan.stored(store), strict=True))
    assert [item.prompt for item, key in stored.items() if key] == [1]
    assert set(stored.values()) == {"", result.key}


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
    assert one.title == f"model, {tmp_path / '1' / 'model'}"
    assert two.title == f"model, {tmp_path / '2' / 'model'}"


def test_a_share_of_the_width_is_a_k_for_each_model(lay_out):
    plan = make(read(lay_out(SWEEP.replace("[4, 8]", "[8, 0.25]"))))
    widths = [weights.width for weights in plan.weights]
    assert widths[3:] == [64, 64]
    assert [plan.sweep.every_k(width) for width in widths] == [
        tuple(sorted({8, round(width / 4)})) for width in widths
    ]
    assert plan.request(3, 0, "depth").k == 16


def test_no_model_is_asked_for_a_k_beyond_its_width(lay_out):
    plan = make(read(lay_out(SWEEP.replace("[4, 8]", "[8, 60]"))))
    assert {weights.width for weights in plan.weights} == {32, 64}
    assert all(
        plan.request(number, 0, "depth").k == (8 if weights.width == 32 else 60)
        for number, weights in enumerate(plan.weights)
    )
    assert not any(weights.problem for weights in plan.weights)
    narrow = make(read(lay_out(SWEEP.replace("[4, 8]", "60")))).weights[0]
    assert narrow.problem == "its width is 32, and the smallest K of the sweep is 60"


def test_a_model_that_is_out_of_reach_leaves_the_others(lay_out):
    more = SWEEP + '[[models]]\nmodel = "nobody/nothing"\n'
    plan = make(read(lay_out(more)))
    assert "nobody/nothing" in plan.weights[-1].problem
    assert not any(weights.problem for weights in plan.weights[:-1])
    assert plan.stored(Store())[-2:] == ["", ""]


def test_texts_that_come_twice_and_a_k_beyond_a_width_are_told(lay_out, caplog):
    path = lay_out(SWEEP.replace("[4, 8]", "[4, 50]"))
    plan = make(read(path))
    assert "The cat sat on the mat" in caplog.text
    assert "K = 50 is left out of model" in caplog.text
    assert {item.request.k for item in plan.items()} == {4, 50}
    assert make(path).id == make(str(path)).id == plan.id


def test_the_shipped_sweeps_can_be_read():
    paths = sorted(Path(__file__).parents[2].glob("sweeps/*.toml"))
    assert paths
    assert [path for path in paths if read(path).name != path.stem or not read(path).title] == []


def test_numbers_of_numpy_are_numbers():
    said = {"name": "n", "models": [{"model": "a/b"}], "prompts": [{"text": "The cat"}]}
    assert read(said | {"k": [np.int64(8), np.float64(0.5)], "token": np.int64(2)}).k == (8, 0.5)


def test_a_score_of_ones_own_model_is_in_the_table(tmp_path):
    folder = tiny.folder(tmp_path / "model")
    said = {"name": "n", "k": 4, "prompts": [{"text": "The cat"}]}
    plain = make(said | {"models": [{"model": str(folder)}]})
    scored = make(said | {"models": [{"model": str(folder), "score": 41, "untrained": [0]}]})
    assert [weights.score for weights in scored.weights] == [41, None]
    facts = [of_weights(weights, None) for weights in scored.weights]
    assert facts[0]["score"] == 41
    assert np.isnan(facts[1]["score"])
    alone = make(said | {"models": [{"model": str(folder), "score": 41}]})
    assert plain.id == alone.id  # nothing is measured otherwise


def test_the_catalogue_names_a_folder_by_its_own_name(tmp_path, monkeypatch):
    folder = tiny.folder(tmp_path / "mine")
    monkeypatch.setenv("COUPLING_HOME", str(tmp_path))
    known = CatalogueModel("mine", "Family", 100, 2, 32, score=30.0)
    write_catalogue(tmp_path / "models.csv", [known])
    said = {"name": "n", "k": 4, "prompts": [{"text": "The cat"}]}
    (weights,) = make(said | {"models": [{"model": str(folder)}]}).weights
    assert weights.family == "Family"
    assert published([str(folder)]) == {str(folder): known}
