"""Prompts of public data sets: from a hub, from a copy in a folder, and kept on this disk."""

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
from fake_hub import DatasetHub

from coupling_core.base.errors import ComputeError, InputError
from coupling_core.sources.prompts import BENCHMARKS, PromptSource, fetching, load, pools
from coupling_core.sources.prompts.drawing import draw


@pytest.fixture
def hub(monkeypatch):
    """A stand-in for the hub: what it was asked, and what it gives or raises."""
    import datasets

    class Hub:
        def __init__(self) -> None:
            self.asked: list[tuple[Any, ...]] = []
            self.answer: Any = []

        def load_dataset(self, *args: Any, **options: Any) -> Any:
            self.asked.append((args, options))
            if isinstance(self.answer, Exception):
                raise self.answer
            return datasets.Dataset.from_list(self.answer)

    hub = Hub()
    monkeypatch.setattr(datasets, "load_dataset", hub.load_dataset)
    return hub


def texts(folder, name="gsm8k"):
    """The prompts of a copy."""
    return [prompt.text for prompt in load(PromptSource(dataset=name, folder=folder)).prompts]


# ---- in a folder, and of the hub


def test_a_data_set_gives_its_prompts_from_a_folder_and_from_the_hub(tmp_path, hub):
    assert set(ROWS) == set(PROMPTS) == set(BENCHMARKS)
    for name, (repo, place, hub.answer) in ROWS.items():
        config, _, split = place.partition("/")
        config = "default" if name == "hellaswag" else config
        found = load(PromptSource(dataset=name, folder=lay_out(tmp_path, name)))
        assert as_tuples(found.prompts) == PROMPTS[name]
        assert {prompt.source for prompt in found.prompts} == {name}
        origin = found.origin
        told = (origin.source, origin.repo, origin.config, origin.split)
        assert told == (name, repo, config, split)
        file = tmp_path / name / f"{place}-00000-of-00001.parquet"
        assert origin.revision == hashlib.sha256(file.read_bytes()).hexdigest()
        assert hub.asked == []
        assert as_tuples(load(PromptSource(dataset=name)).prompts) == PROMPTS[name]
        assert hub.asked == [((repo, config), {"split": split, "revision": None})]
        hub.asked.clear()


def test_what_is_told_of_a_data_set_is_asked_for(hub):
    hub.answer = [{"problem": "Find x.", "rating": 1.5}]
    found = load(PromptSource(dataset="easy2hard", config="E2H-AMC", split="train", revision="v1"))
    place = ("furonghuang-lab/Easy2Hard-Bench", "E2H-AMC")
    assert hub.asked == [(place, {"split": "train", "revision": "v1"})]
    assert as_tuples(found.prompts) == [("Find x.", 0, "E2H-AMC", 1.5)]


def test_a_copy_may_be_laid_out_in_several_ways(tmp_path):
    names = ("test.jsonl", "test-00000-of-00002.jsonl", "test/0000.jsonl")
    for number, (place, name) in enumerate((p, n) for p in ("main", "data", "") for n in names):
        root = tmp_path / str(number) / place
        (root / name).parent.mkdir(parents=True)
        (root / name).write_text(json.dumps({"question": "Why?"}))
        for other in ("train", "testing"):
            (root / f"{other}.jsonl").write_text(json.dumps({"question": "Which?"}))
        assert texts(tmp_path / str(number)) == ["Why?"], (place, name)
    for part, text in (("00001", "b"), ("00000", "a")):  # read in their order
        (tmp_path / f"test-{part}-of-00002.jsonl").write_text(json.dumps({"question": text}))
    assert texts(tmp_path) == ["a", "b"]


def test_a_copy_as_csv_keeps_words_that_pandas_takes_for_nothing(tmp_path):
    path = tmp_path / "E2H-GSM8K" / "eval.csv"
    path.parent.mkdir()
    path.write_text("question,rating\nNone,0.5\nWhat?,1\n")
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


def test_parquet_that_would_fill_the_memory_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(fetching, "LARGEST", 10**6)
    (tmp_path / "main").mkdir()
    path = tmp_path / "main" / "test.parquet"
    one = pa.DictionaryArray.from_arrays([0] * 4000, ["x" * 1000])
    pq.write_table(pa.table({"question": one}), path)  # more than its bytes
    assert path.stat().st_size < 10_000
    with pytest.raises(InputError, match=r"test\.parquet .* 1\.0 MB"):
        texts(tmp_path)
    pq.write_table(pa.table({"question": ["x" * 2 * 10**6]}), path, compression="zstd")
    monkeypatch.setattr("pyarrow.parquet.ParquetFile.iter_batches", lambda *_, **__: 1 / 0)
    with pytest.raises(InputError, match=r"1\.0 MB"):  # before any part of it is unpacked
        texts(tmp_path)


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
    first = load(PromptSource(dataset="gsm8k", folder=lay_out(tmp_path, "gsm8k")))
    folder = lay_out(tmp_path, "gsm8k", [{"question": "New?"}])
    assert texts(folder) == ["New?"]
    second = load(PromptSource(dataset="gsm8k", folder=folder))
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


# ---- a hub that does not give, and one that answers


def failures() -> dict[str, Exception]:
    import httpx
    from datasets.exceptions import DatasetNotFoundError

    revision = "Revision 'v9' doesn't exist for dataset 'cais/mmlu' on the Hub."
    scripts = "Dataset scripts are no longer supported, but found mmlu.py"
    return {
        "away": ConnectionError("Couldn't reach"),
        "refused": httpx.ConnectError("[Errno 111] Connection refused"),
        "gated": DatasetNotFoundError("Dataset 'cais/mmlu' is a gated dataset on the Hub."),
        "revision": DatasetNotFoundError(revision),
        "program": RuntimeError(scripts),
        "disk": OSError(28, "No space left on device"),
    }


def test_a_hub_that_does_not_give_is_told_with_a_remedy(hub, snapshot):
    told = {}
    for name, hub.answer in failures().items():
        with pytest.raises(ComputeError) as failed:
            load(PromptSource(dataset="mmlu", revision="v9"))
        told[name] = str(failed.value)
    assert told == snapshot
    hub.answer = ValueError("Unknown split \"tset\". Should be one of ['test', 'dev'].")
    with pytest.raises(InputError, match="tset"):  # the user's to change
        load(PromptSource(dataset="mmlu", split="tset"))


@pytest.mark.full
def test_a_hub_that_answers_over_http_gives_prompts_with_their_commit(tmp_path):
    folder = lay_out(tmp_path, "arc")
    configs = "".join(
        f"- config_name: {name}\n  data_files:\n  - split: test\n    path: {name}/test-*\n"
        for name in ("ARC-Challenge", "ARC-Easy")
    )
    (folder / "README.md").write_text(f"---\nconfigs:\n{configs}---\n")
    server = DatasetHub("allenai/ai2_arc", folder)
    environment = {"HF_ENDPOINT": server.url, "NO_PROXY": "127.0.0.1"}
    environment |= {"HF_HOME": str(tmp_path / "hf"), "HF_HUB_DISABLE_XET": "1"}

    def ask(*options: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "coupling_core", "prompts", "arc", "--json", *options],
            cwd=Path(__file__).parents[2],
            env=os.environ | environment | more,
            capture_output=True,
            text=True,
        )

    done = ask(HF_HUB_OFFLINE="0")
    server.close()
    assert (done.returncode, done.stderr) == (0, "")
    said = json.loads(done.stdout)
    assert [prompt["text"] for prompt in said["prompts"]] == ["What melts?", "What floats?"]
    assert said["origin"]["revision"] == server.commit
    # With the hub gone `datasets` gives what its own cache has, of whatever commit.
    done = ask("--revision", "d" * 40, HF_HUB_OFFLINE="1")
    assert (done.returncode, done.stdout) == (1, "")
    assert server.commit in done.stderr


def test_the_command_shows_what_a_source_gives(run, tmp_path):
    status, out, err = run("prompts", "easy2hard", "--folder", lay_out(tmp_path, "easy2hard"))
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
    assert run("prompts", "arcs")[:2] == (2, "")
