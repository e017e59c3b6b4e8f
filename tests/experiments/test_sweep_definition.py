"""What a sweep's file may say, and what it comes to."""

import inspect
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import tiny

from coupling_core import InputError, Request, Store
from coupling_core.experiments.sweeps import make, read, run
from coupling_core.experiments.sweeps.definition import parse
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
    assert [weights.title for weights in plan.weights] == [
        "model",
        "model, untrained (seed 0)",
        "model, untrained (seed 3)",
        "coupling-explorer/mini-64@step0",
        "coupling-explorer/mini-64@step512",
    ]
    assert [prompt.text for prompt in plan.prompts] == ["The cat sat on the mat", "Water boils"]
    items = list(plan.items())
    assert len(items) == len(plan) == 10
    assert len({(item.weights, item.prompt) for item in items}) == 10
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
    with pytest.raises(InputError, match=r"few: key .modles. is unknown \(did you mean .models"):
        read(asked | {"modles": []})
    with pytest.raises(InputError, match="the sweep without a name: name"):
        read({})


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


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ('name = "few"', 'name = "a b"', "name: letters, digits, _, . and -, at most 64"),
        ('name = "few"', "", "name: it is missing"),
        ("k = [4, 8]", "k = [0]", "k"),
        ("k = [4, 8]", "k = []", "k"),
        ("k = [4, 8]", "k = [4, 7]\nkinds = ['self']", "K = 4 is not kept of 'self'"),
        ("k = [4, 8]", "k = -3", "k: expected greater"),
        ("k = [4, 8]", "kinds = ['dept']", "'dept' came (did you mean 'depth'"),
        ("k = [4, 8]", "kinds = ['sideways']", "kinds 1: it must be one of depth, self"),
        ("k = [4, 8]", "kind = ['depth']", "key 'kind' is unknown (did you mean 'kinds'?)"),
        ("k = [4, 8]", "definition = 'mine'", "definition: it must be one of paper, released"),
        ("k = [4, 8]", "timeout = 0", "timeout"),
        ("steps = [512, 0]", "steps = [513]", "nearest are 256 and 512"),
        ("steps = [512, 0]", 'revisions = ["step0"]', "a suite has steps"),
        ("steps = [512, 0]", 'model = "smollm2-135m"', "give either model or suite"),
        ("untrained = [0, 3]", "untrained = [-1]", "models 1 untrained 1"),
        ("untrained = [0, 3]", "trained = false", "nothing is left to measure"),
        ("untrained = [0, 3]", "untrained = 0\nquantize = 'nf4'", "cannot be quantised"),
        ('suite = "mini-64"', 'suite = "mini-63"', "mini-63"),
        ('file = "own.txt"', 'file = "none.txt"', "none.txt"),
        ('file = "own.txt"', 'fil = "own.txt"', "fil"),
        (
            "[[prompts]]",
            "[[prompt]]",
            "few.toml: key 'prompt' is unknown (did you mean 'prompts'?)",
        ),
        ("steps = ", "stepps = ", "models 2: key 'stepps' is unknown (did you mean 'steps'?)"),
        ("k = [4, 8]", "k = 8\n[slurm]\njob = 2", "slurm: key 'job' is unknown (did you"),
        ("[[models]]", "[models]", "few.toml"),
        ("k = [4, 8]", "k = [4, 8", "is no TOML"),
    ],
)
def test_what_no_sweep_can_be_is_refused_with_its_place(lay_out, before, after, told):
    with pytest.raises(InputError) as refused:
        make(read(lay_out(SWEEP.replace(before, after))))
    assert told in str(refused.value)


def test_prompts_that_are_no_tables_are_refused(lay_out):
    text = SWEEP.split("[[prompts]]")[0].replace('name = "few"', 'name = "few"\nprompts = ["x"]')
    with pytest.raises(InputError, match=r"prompts: expected tables \[\[prompts\]\]"):
        read(lay_out(text))


def test_a_file_that_is_not_there_is_said(tmp_path):
    with pytest.raises(
        InputError, match=r"nowhere\.toml cannot be read: No such file or directory$"
    ):
        read(tmp_path / "nowhere.toml")


@pytest.mark.parametrize("path", sorted(Path(__file__).parents[2].glob("sweeps/*.toml")), ids=str)
def test_the_shipped_sweeps_can_be_read(path):
    sweep = parse(tomllib.loads(path.read_text()), path)
    assert sweep.name == path.stem
    assert sweep.title


@pytest.mark.parametrize(
    "line",
    [
        *(f'{name} = "x\\nrm -rf ~"' for name in ("queue", "account", "memory", "walltime")),
        *(f'{name} = "x\\rid"' for name in ("interface", "folder")),
        'directives = ["--x\\n#SBATCH --uid=0"]',
        'prologue = ["a", "b\\nc"]',
    ],
)
def test_what_goes_into_a_job_is_on_one_line(tmp_path: Path, line: str) -> None:
    (tmp_path / "s.toml").write_text(
        f'name = "s"\nmodels = [{{ model = "a" }}]\nprompts = [{{ text = "b" }}]\n[slurm]\n{line}\n'
    )
    with pytest.raises(InputError, match=r"slurm .*expected text on one line"):
        read(tmp_path / "s.toml")


def test_a_sweep_is_no_more_than_a_megabyte(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text("#" * 2**20 + "#")
    with pytest.raises(InputError, match=r"s.toml cannot be read: .*it has 1.0 MB"):
        read(tmp_path / "s.toml")


def test_a_module_of_one_s_own_is_sent_to_where_it_can_be_measured():
    with pytest.raises(InputError, match=r"a LlamaForCausalLM came as a model.*measure_many"):
        read({"name": "few", "models": [{"model": tiny.model("llama")}], "prompts": []})


def test_a_sweep_of_which_every_model_is_too_narrow_is_refused_before_it_begins(tmp_path):
    folder = tiny.folder(tmp_path / "narrow")
    said = {"name": "n", "models": [{"model": folder}], "prompts": [{"text": "The cat"}]}
    with pytest.raises(InputError, match="no model of the sweep can be measured at its K: narrow"):
        make(read(said | {"k": [5000]}))


def test_other_complaints_are_counted_once_a_value():
    said = {"name": "n", "models": [{"model": "a/b"}], "prompts": [{"text": "The cat"}]}
    with pytest.raises(InputError, match=r"k: expected a whole number .*, and 'eight' came$"):
        read(said | {"k": "eight"})


def test_a_text_that_comes_twice_is_told(lay_out, caplog):
    make(read(lay_out()))
    assert (
        "1 of the prompts comes more than once, the first 'The cat sat on the mat'" in caplog.text
    )


def test_what_reads_a_sweep_takes_its_file(lay_out):
    path = lay_out()
    assert make(path).id == make(str(path)).id == make(read(path)).id
    with pytest.raises(InputError, match="a PosixPath came where a plan is needed"):
        inspect.unwrap(run)(path)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"models": ["smollm2-135m"]}, "models 1: expected a table, such as { model = 'smollm2"),
        ({"prompts": []}, "prompts: expected one at least"),
        ({"prompts": ["x"]}, 'or dicts such as {"text": "The cat sat"}'),
        (
            {"prompts": [{"text": "The cat"}, {"txt": "x"}]},
            "prompts 2: key 'txt' is unknown (did you mean 'text'",
        ),
        ({"prompts": [{"text": 3}]}, "prompts 1: text is a text in quotes, and 3 came"),
        ({"k": 1.5}, "k: expected a whole number from 1, or a share of each model's width below 1"),
        ({"k": [5, 0.9], "kinds": ["self"]}, "K = 0.9 is a share of the width"),
        ({"token": 0}, "token: expected 1..n, or -1 and less from the end, and 0 came"),
        ({"prompts": [{"text": "a", "k": 8}]}, "'k' is a key of the sweep, and stands above"),
        ({"models": [{"model": "a/b", "k": 8}]}, "'k' is a key of the sweep, and stands above"),
        ({"models": {"model": "a/b"}}, "expected tables, each below a line [[models]], and one"),
        ({"models": 3, "prompts": 3}, r"and 1 more (prompts)"),
    ],
)
def test_what_python_said_is_told_in_its_words(said, told):
    usual = {"name": "n", "models": [{"model": "a/b"}], "prompts": [{"text": "The cat"}]}
    with pytest.raises(InputError) as refused:
        read(usual | said)
    assert told in str(refused.value)


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
    with pytest.raises(InputError, match=r"a score is in percent, and 0\.41 came: 41 where"):
        read(said | {"models": [{"model": str(folder), "score": 0.41}]})
    with pytest.raises(InputError, match="a score is that of one set of trained weights"):
        read(said | {"models": [{"suite": "mini-64", "score": 41}]})


def test_the_catalogue_names_a_folder_by_its_own_name(tmp_path, monkeypatch):
    folder = tiny.folder(tmp_path / "mine")
    monkeypatch.setenv("COUPLING_HOME", str(tmp_path))
    known = CatalogueModel("mine", "Family", 100, 2, 32, score=30.0)
    write_catalogue(tmp_path / "models.csv", [known])
    said = {"name": "n", "k": 4, "prompts": [{"text": "The cat"}]}
    (weights,) = make(said | {"models": [{"model": str(folder)}]}).weights
    assert weights.family == "Family"
    assert published([str(folder)]) == {str(folder): known}


def test_a_k_that_a_narrow_model_lacks_is_left_out_whatever_it_is(tmp_path, caplog):
    folder = tiny.folder(tmp_path / "model")
    said = {"name": "n", "models": [{"model": str(folder)}], "prompts": [{"text": "The cat"}]}
    plan = make(said | {"k": [4, 50]})
    assert "K = 50 is left out of model, whose width is 32" in caplog.text
    assert {item.request.k for item in plan.items()} == {4}


def test_what_is_no_sweep_is_refused_in_words():
    with pytest.raises(InputError, match="a DataFrame came as a sweep: expected the path of its"):
        inspect.unwrap(read)(pd.DataFrame())
    said = {"name": "n", "models": [{"model": "a/b"}], "prompts": [{"prompt": "The cat"}]}
    with pytest.raises(InputError, match=r"key 'prompt' is unknown.*did you mean 'text'"):
        read(said)
