"""Prompts of public data sets: from a hub, from a copy in a folder, and kept on this disk."""

import csv
import hashlib
import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from data_sets import LONG, PROMPTS, ROWS, as_tuples, lay_out
from dataset_hub import COMMIT, DatasetHub

from coupling_core.base.errors import ComputeError, InputError
from coupling_core.sources.prompts import BENCHMARKS, PromptSource, fetching, load, pools
from coupling_core.sources.prompts.benchmarks import context, paragraph, up_to_blank
from coupling_core.sources.prompts.drawing import draw

TEXTS = {
    context: {
        "[header] Why? [title] Because.": "Why? Because.",
        "[header] Sitting [title] Bend. [step] Sit [substeps] down": "Sitting. Bend. Sit down",
        "A list [1] of things": "A list [1] of things",
    },
    up_to_blank: {"The cat _ the mat": "The cat", "No blank": "No blank"},
    paragraph: {" = = Early = = \n": "", " a = b \n": "a = b", "\n": "", " = x": "= x"},
}


@pytest.fixture
def hub(monkeypatch):
    """A stand-in for the hub: what it was asked, and what it gives or raises."""
    import datasets

    class Hub:
        asked: list[tuple[Any, ...]]
        answer: Any

        def load_dataset(self, *args: Any, **options: Any) -> Any:
            self.asked.append((args, options))
            self.levels = (
                datasets.utils.logging.get_verbosity(),
                datasets.utils.are_progress_bars_disabled(),
            )
            if isinstance(self.answer, Exception):
                raise self.answer
            return datasets.Dataset.from_list(self.answer)

    hub = Hub()
    hub.asked, hub.answer = [], []
    monkeypatch.setattr(datasets, "load_dataset", hub.load_dataset)
    return hub


def test_all_data_sets_are_tested():
    assert set(ROWS) == set(PROMPTS) == set(BENCHMARKS)


def test_texts_become_prompts():
    for clean, pairs in TEXTS.items():
        assert {text: clean(text) for text in pairs} == pairs


# ---- in a folder, and of the hub


@pytest.mark.parametrize("name", ROWS)
def test_a_data_set_gives_its_prompts_from_a_folder_and_from_the_hub(tmp_path, hub, name):
    repo, place, hub.answer = ROWS[name]
    config, _, split = place.partition("/")
    config = "default" if name == "hellaswag" else config
    found = load(PromptSource(dataset=name, folder=lay_out(tmp_path, name)))
    assert as_tuples(found.prompts) == PROMPTS[name]
    assert {prompt.source for prompt in found.prompts} == {name}
    origin = found.origin
    assert (origin.source, origin.repo, origin.config, origin.split) == (name, repo, config, split)
    file = tmp_path / name / f"{place}-00000-of-00001.parquet"
    assert origin.revision == hashlib.sha256(file.read_bytes()).hexdigest()
    assert hub.asked == []
    assert as_tuples(load(PromptSource(dataset=name)).prompts) == PROMPTS[name]
    assert hub.asked == [((repo, config), {"split": split, "revision": None})]


def test_what_is_told_of_a_data_set_is_asked_for(hub):
    hub.answer = [{"problem": "Find x.", "rating": 1.5}]
    found = load(PromptSource(dataset="easy2hard", config="E2H-AMC", split="train", revision="v1"))
    repo = "furonghuang-lab/Easy2Hard-Bench"
    assert hub.asked == [((repo, "E2H-AMC"), {"split": "train", "revision": "v1"})]
    assert as_tuples(found.prompts) == [("Find x.", 0, "E2H-AMC", 1.5)]


def test_notices_and_bars_are_off_while_rows_are_fetched_and_on_again_after(hub):
    import datasets

    hub.answer = ROWS["gsm8k"][2]
    datasets.utils.logging.set_verbosity_info()
    datasets.enable_progress_bars()
    load(PromptSource(dataset="gsm8k"))
    assert hub.levels == (datasets.utils.logging.ERROR, True)
    assert datasets.utils.logging.get_verbosity() == datasets.utils.logging.INFO
    assert not datasets.utils.are_progress_bars_disabled()
    datasets.utils.logging.set_verbosity_warning()


def test_a_copy_may_be_laid_out_in_several_ways(tmp_path):
    names = ("test.jsonl", "test-00000-of-00002.jsonl", "test/0000.jsonl")
    for number, (place, name) in enumerate((p, n) for p in ("main", "data", "") for n in names):
        root = tmp_path / str(number)
        (root / place / name).parent.mkdir(parents=True)
        (root / place / name).write_text(json.dumps({"question": "Why?"}))
        for other in ("train", "testing"):
            beside = root / place / f"{other}.jsonl"
            beside.write_text(json.dumps({"question": "Which?"}))
        found = load(PromptSource(dataset="gsm8k", folder=root))
        assert [prompt.text for prompt in found.prompts] == ["Why?"], (place, name)


def test_the_parts_of_a_split_are_read_in_their_order(tmp_path):
    for part, text in (("00001", "b"), ("00000", "a")):
        path = tmp_path / "main" / f"test-{part}-of-00002.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"question": text}))
    found = load(PromptSource(dataset="gsm8k", folder=tmp_path))
    assert [(prompt.text, prompt.row) for prompt in found.prompts] == [("a", 0), ("b", 1)]


def test_a_copy_as_csv_keeps_words_that_pandas_takes_for_nothing(tmp_path):
    path = tmp_path / "E2H-GSM8K" / "eval.csv"
    path.parent.mkdir()
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("question", "rating"), ("None", 0.5), ("What?", 1)])
    found = load(PromptSource(dataset="easy2hard", folder=tmp_path))
    assert [(p.text, p.difficulty) for p in found.prompts] == [("None", 0.5), ("What?", 1.0)]


def test_what_is_missing_of_a_row_is_not_known_and_without_text_it_is_no_prompt(tmp_path):
    rows = [{"question": "a", "rating": None}, {"question": "b", "rating": float("nan")}]
    folder = lay_out(tmp_path, "easy2hard", [*rows, {"question": "c", "rating": 0.5}])
    found = load(PromptSource(dataset="easy2hard", folder=folder))
    assert [prompt.difficulty for prompt in found.prompts] == [None, None, 0.5]
    folder = lay_out(tmp_path, "gsm8k", [{"question": None}, {"question": " "}, {"question": "a"}])
    found = load(PromptSource(dataset="gsm8k", folder=folder))
    assert [(prompt.text, prompt.row) for prompt in found.prompts] == [("a", 2)]


def test_parquet_that_stands_for_more_than_its_bytes_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "LARGEST", 10**6)
    (tmp_path / "main").mkdir()
    one = pa.DictionaryArray.from_arrays([0] * 4000, ["x" * 1000])
    pq.write_table(pa.table({"question": one}), tmp_path / "main" / "test.parquet")
    assert (tmp_path / "main" / "test.parquet").stat().st_size < 10_000
    with pytest.raises(InputError, match=r"test.parquet cannot be read as parquet: its rows take"):
        load(PromptSource(dataset="gsm8k", folder=tmp_path))


def test_a_part_of_parquet_is_not_unpacked_that_would_fill_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "LARGEST", 10**6)
    monkeypatch.setattr("pyarrow.parquet.ParquetFile.iter_batches", lambda *_, **__: 1 / 0)
    (tmp_path / "main").mkdir()
    one = pa.table({"question": ["x" * 2 * 10**6]})
    pq.write_table(one, tmp_path / "main" / "test.parquet", compression="zstd")
    with pytest.raises(InputError, match=r"its rows take more than 1\.0 MB"):
        load(PromptSource(dataset="gsm8k", folder=tmp_path))


# ---- what is kept


def test_prompts_that_are_kept_need_no_hub(hub):
    hub.answer = ROWS["mmlu"][2]
    first = load(PromptSource(dataset="mmlu"))
    hub.answer = ConnectionError("away")
    assert load(PromptSource(dataset="mmlu")) == first
    sample = load(PromptSource(dataset="mmlu", sample=1, seed=7))
    assert sample.prompts == (draw(first.prompts, 1, 7)[0],)
    assert sample.origin.revision == first.origin.revision
    assert len(hub.asked) == 1


def test_another_split_config_or_revision_is_another_pool(hub):
    hub.answer = ROWS["arc"][2]
    revisions = ({"revision": name} for name in ("main", "v1", "x" * 500))
    sources = [{}, {"split": "train"}, {"config": "ARC-Easy"}, *revisions]
    for source in sources:
        load(PromptSource(dataset="arc", **source))
    assert len(hub.asked) == len(sources) - 1  # the main branch is what is read unless told


def test_a_folder_that_changes_is_read_again(tmp_path):
    folder = lay_out(tmp_path, "gsm8k")
    first = load(PromptSource(dataset="gsm8k", folder=folder))
    lay_out(tmp_path, "gsm8k", [{"question": "New?"}])
    second = load(PromptSource(dataset="gsm8k", folder=folder))
    assert [prompt.text for prompt in second.prompts] == ["New?"]
    assert first.origin.revision != second.origin.revision


def other_form(content: bytes) -> bytes:
    """As a later version of this program would write it, with its seal."""
    first, _, body = content.decode().partition("\n")
    head = json.loads(first) | {"form": pools.FORM + 1}
    del head["seal"]
    seal = hashlib.sha256(f"{json.dumps(head)}\n{body}".encode()).hexdigest()
    return f"{json.dumps(head | {'seal': seal})}\n{body}".encode()


DAMAGES = {
    "another text": lambda content: content.replace(b"prime", b"crime"),
    "another revision": lambda content: content.replace(b'"revision": "', b'"revision": "0'),
    "a line less": lambda content: content.rstrip(b"\n").rpartition(b"\n")[0] + b"\n",
    "cut short": lambda content: content[: len(content) // 2],
    "empty": lambda _: b"",
    "no text": lambda _: b"\xff\xfe\x00",
    "other JSON": lambda _: b"[1, 2]\n",
    "JSON of a text": lambda _: b'"x"\n',
    "nested JSON": lambda _: b"[" * 100_000,
    "another form": other_form,
}


def test_kept_prompts_that_are_damaged_are_made_anew_and_the_log_says_so(hub, tmp_path, caplog):
    hub.answer = ROWS["mmlu"][2]
    first = load(PromptSource(dataset="mmlu"))
    [path] = (tmp_path / "home" / "prompts").iterdir()
    sound = path.read_bytes()
    for name, damage in DAMAGES.items():
        hub.asked.clear()
        path.write_bytes(damage(sound))
        assert path.read_bytes() != sound, name
        assert load(PromptSource(dataset="mmlu")) == first, name
        assert len(hub.asked) == 1, name
        assert path.read_bytes() == sound, name
    assert str(path) in caplog.text


def test_what_cannot_be_kept_is_read_all_the_same(hub, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("COUPLING_HOME", str(tmp_path / "file"))
    hub.answer = ROWS["mmlu"][2]
    assert len(load(PromptSource(dataset="mmlu")).prompts) == 2


@pytest.mark.full
def test_kept_prompts_need_no_datasets_library(hub, tmp_path):
    hub.answer = ROWS["mmlu"][2]
    load(PromptSource(dataset="mmlu"))
    code = (
        "import sys; from coupling_core.sources.prompts import PromptSource, load; "
        "assert len(load(PromptSource(dataset='mmlu', sample=1)).prompts) == 1; "
        "print({'datasets', 'pandas', 'numpy', 'torch'} & set(sys.modules))"
    )
    here = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=here, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("{'numpy'}\n", "")


# ---- a hub that does not give, and one that answers


def gated() -> Exception:
    from datasets.exceptions import DatasetNotFoundError

    return DatasetNotFoundError("Dataset 'cais/mmlu' is a gated dataset on the Hub.")


def no_revision() -> Exception:
    from datasets.exceptions import DatasetNotFoundError

    return DatasetNotFoundError("Revision 'v9' doesn't exist for dataset 'cais/mmlu' on the Hub.")


def refused() -> Exception:
    import httpx

    return httpx.ConnectError("[Errno 111] Connection refused")


FAILURES = {
    "away": lambda: ConnectionError("Couldn't reach"),
    "refused": refused,
    "gated": gated,
    "revision": no_revision,
    "program": lambda: RuntimeError("Dataset scripts are no longer supported, but found mmlu.py"),
    "disk": lambda: OSError(28, "No space left on device"),
}


def test_a_hub_that_does_not_give_is_told_with_a_remedy(hub, snapshot):
    told = {}
    for name, error in FAILURES.items():
        hub.answer = error()
        with pytest.raises(ComputeError) as failed:
            load(PromptSource(dataset="mmlu", revision="v9"))
        told[name] = str(failed.value)
    assert told == snapshot
    hub.answer = ValueError("Unknown split \"tset\". Should be one of ['test', 'dev'].")
    with pytest.raises(InputError, match="tset"):  # the user's to change
        load(PromptSource(dataset="mmlu", split="tset"))


@pytest.fixture
def served(tmp_path):
    """A server with ARC's two configurations; the environment of a process that asks it."""
    folder = lay_out(tmp_path, "arc")
    configs = "".join(
        f"- config_name: {name}\n  data_files:\n  - split: test\n    path: {name}/test-*\n"
        for name in ("ARC-Challenge", "ARC-Easy")
    )
    (folder / "README.md").write_text(f"---\nconfigs:\n{configs}---\n")
    server = DatasetHub("allenai/ai2_arc", folder)
    yield (
        server,
        os.environ
        | {
            "HF_ENDPOINT": server.url,
            "HF_HOME": str(tmp_path / "hf"),
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_OFFLINE": "0",
            "NO_PROXY": "127.0.0.1",
            "COUPLING_HOME": str(tmp_path / "fresh"),
        },
    )
    server.close()


def ask(environment: dict[str, str], *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "coupling_core", "prompts", "arc", "--json", *options],
        cwd=Path(__file__).parents[2],
        env=environment,
        capture_output=True,
        text=True,
    )


@pytest.mark.full
def test_a_hub_that_answers_over_http_gives_prompts_with_their_commit(served, tmp_path):
    server, environment = served
    done = ask(environment)
    assert (done.returncode, done.stderr) == (0, "")
    said = json.loads(done.stdout)
    assert [prompt["text"] for prompt in said["prompts"]] == ["What melts?", "What floats?"]
    assert said["origin"]["revision"] == COMMIT
    server.close()
    assert ask(environment).stdout == done.stdout
    # With the hub gone `datasets` gives what its own cache has, of whatever commit.
    done = ask(environment | {"HF_HUB_OFFLINE": "1"}, "--revision", "d" * 40)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"the local cache has another revision ({COMMIT})" in done.stderr


# ---- on the command line


def test_the_command_shows_what_a_source_gives(run, tmp_path):
    folder = lay_out(tmp_path, "easy2hard")
    status, out, err = run("prompts", "easy2hard", "--folder", folder)
    assert (status, err) == (0, "")
    lines = [line.split() for line in out.splitlines()]
    assert ["source", "furonghuang-lab/Easy2Hard-Bench", "E2H-GSM8K", "eval"] in lines
    assert ["difficulty", "0.25", "to", "0.75,", "of", "2"] in lines
    assert lines[-1] == ["1", "17", "*", "23?"]
    path = tmp_path / "own.txt"
    path.write_text("".join(f"prompt {n}\n" for n in range(10)) + f"{LONG}\n")
    said = json.loads(run("prompts", "own.txt", "--sample", 3, "--seed", 1, "--json")[1])
    wanted = load(PromptSource(file=path, sample=3, seed=1))
    assert said["origin"] == asdict(wanted.origin)
    assert said["prompts"] == [asdict(prompt) for prompt in wanted.prompts]
    assert "difficulty" not in run("prompts", "own.txt")[1]
    status, out, err = run("prompts", "arcs")
    assert (status, out) == (2, "")
    assert err.startswith("error: arcs")
