"""Prompts from own files and public data sets: what is read, drawn, kept and refused."""

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
from dataset_hub import COMMIT, DatasetHub
from hypothesis import given
from hypothesis import strategies as st

from coupling_core.base.errors import ComputeError, InputError
from coupling_core.sources.prompts import (
    BENCHMARKS,
    Prompt,
    PromptSource,
    fetching,
    load,
    pools,
    read_file,
)
from coupling_core.sources.prompts.benchmarks import WORDS, context, paragraph, up_to_blank
from coupling_core.sources.prompts.drawing import draw

# ---- own files


def test_plain_text_is_a_prompt_a_line(tmp_path):
    path = tmp_path / "own.txt"
    path.write_text("One, two\n\n  \n  three \r\n")
    assert read_file(path) == [Prompt("One, two", "own.txt", 1), Prompt("  three ", "own.txt", 4)]


def test_jsonl_has_what_is_known_of_a_prompt(tmp_path):
    path = tmp_path / "own.jsonl"
    rows = [{"prompt": "a\nb", "category": "x", "difficulty": 2, "note": "-"}, {"prompt": "c"}]
    path.write_text("\n\n".join(map(json.dumps, rows)))
    assert read_file(path) == [
        Prompt("a\nb", "own.jsonl", 1, "x", 2.0),
        Prompt("c", "own.jsonl", 3),
    ]


def test_csv_has_what_is_known_of_a_prompt(tmp_path):
    path = tmp_path / "own.csv"
    path.write_text('\ufeffdifficulty,prompt,category\n\n0.5,"a, b\nc",x\n,d,\n', encoding="utf-8")
    assert read_file(path) == [
        Prompt("a, b\nc", "own.csv", 3, "x", 0.5),
        Prompt("d", "own.csv", 5),
    ]


def test_csv_needs_no_more_than_prompts(tmp_path):
    path = tmp_path / "own.csv"
    path.write_text("prompt\na\n")
    assert read_file(path) == [Prompt("a", "own.csv", 2)]


HALF = '{"prompt": "a\\ud800"}'
JSONL = {
    "no json": "this is no JSON",
    "[" * 5000: "this is no JSON",
    '["x"]': "no object in braces",
    '{"text": "x"}': "prompt is a text, and none came",
    '{"prompt": 3}': "prompt is a text, and 3 came",
    '{"prompt": " "}': "prompt is empty",
    '{"prompt": "x", "category": 1}': "category is a text, and 1 came",
    '{"prompt": "x", "difficulty": "hard"}': "difficulty is a number, and 'hard' came",
    '{"prompt": "x", "difficulty": true}': "difficulty is a number, and True came",
    '{"prompt": "x", "difficulty": NaN}': "difficulty is a number, and nan came",
    f'{{"prompt": "x", "difficulty": 1{"0" * 400}}}': "difficulty is a number, and 1000",
    HALF: "character 2 is half of one",
}


@pytest.mark.parametrize(("line", "why"), JSONL.items(), ids=range(len(JSONL)))
def test_a_line_of_jsonl_that_is_no_prompt_is_told(tmp_path, line, why):
    path = tmp_path / "own.jsonl"
    path.write_text(f'{{"prompt": "x"}}\n\n{line}\n')
    with pytest.raises(InputError, match=r"own.jsonl, line 3: expected JSON such as") as told:
        read_file(path)
    assert why in str(told.value)


CSV = {
    "text\nx\n": "own.csv: expected a column 'prompt' in line 1, and text came",
    "prompt,category\nx,y\na, b,c\n": "line 3: more cells than columns",
    'prompt\nx\n"a\nb\n': "line 3: unexpected end of data: is a quote left open?",
    "prompt,difficulty\nx,1\ny,hard\n": "line 3: difficulty is a number, and 'hard' came",
    "prompt,category\nx,y\n,z\n": "line 3: prompt is empty",
    "": "own.csv: expected a column 'prompt' in line 1, and an empty file came",
}


@pytest.mark.parametrize(("text", "why"), CSV.items(), ids=range(len(CSV)))
def test_a_row_of_csv_that_is_no_prompt_is_told(tmp_path, text, why):
    path = tmp_path / "own.csv"
    path.write_text(text)
    with pytest.raises(InputError) as told:
        read_file(path)
    assert why in str(told.value)


@pytest.mark.parametrize("ending", [".txt", ".jsonl", ".csv"])
def test_a_file_that_cannot_be_read_is_told(tmp_path, ending):
    path = tmp_path / f"own{ending}"
    with pytest.raises(InputError, match=r"cannot be read: No such file or directory$"):
        read_file(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match=r"cannot be read as text: .*codec"):
        read_file(path)


@pytest.mark.parametrize(
    ("ending", "text"), [(".txt", "\n \n"), (".jsonl", ""), (".csv", "prompt")]
)
def test_a_file_without_prompts_is_told(tmp_path, ending, text):
    path = tmp_path / f"own{ending}"
    path.write_text(text)
    with pytest.raises(InputError, match="has no prompt"):
        read_file(path)


# ---- what a sweep's table says


def test_paths_are_relative_to_the_file_of_the_sweep(tmp_path):
    base = tmp_path / "sweeps"
    assert PromptSource.parse({"file": "own.txt"}, base).file == base / "own.txt"
    assert PromptSource.parse({"dataset": "arc", "folder": "/data"}, base).folder == Path("/data")
    home = PromptSource.parse({"file": "~/own.txt"}, base).file
    assert home == Path.home() / "own.txt"


def test_a_table_is_read_as_it_stands():
    table = {"dataset": "arc", "config": "ARC-Easy", "split": "train", "sample": 5, "seed": 3}
    assert PromptSource.parse(table | {"revision": "main"}) == PromptSource(
        dataset="arc", config="ARC-Easy", split="train", sample=5, seed=3, revision="main"
    )


TABLES: list[tuple[dict[str, Any], str]] = [
    ({}, "give one of text, file, dataset, and none came"),
    ({"text": "x", "file": "y"}, "and text and file came"),
    ({"dataset": "hellaswga"}, "'hellaswga' is unknown (did you mean 'hellaswag'?): expected one"),
    ({"dataset": "MMLU"}, "did you mean 'mmlu'?"),
    ({"dataset": "zzzz"}, "dataset 'zzzz' is unknown: expected one of arc, gsm8k"),
    ({"dataset": "arc", "config": "easy"}, "config of arc 'easy' is unknown"),
    ({"dataset": "arc", "split": "../test"}, "split is a name such as 'test'"),
    ({"dataset": "arc", "revision": "x", "folder": "y"}, "revision is of the hub"),
    ({"text": "x", "folder": "y"}, "folder goes with a dataset, and text came"),
    ({"file": "x", "split": "test"}, "split goes with a dataset, and file came"),
    ({"dataset": "arc", "samples": 5}, "key 'samples' is unknown (did you mean 'sample'?)"),
    ({"dataset": "arc", "sample": 0}, "sample is a number from 1, and 0 came"),
    ({"dataset": "arc", "sample": "5"}, "sample is a whole number, and '5' came"),
    ({"dataset": "arc", "seed": True}, "seed is a whole number, and True came"),
    ({"dataset": "arc", "sample": 5.0}, "sample is a whole number, and 5.0 came"),
    ({"dataset": 3}, "dataset is a text in quotes, and 3 came"),
    ({"text": ""}, "text is empty"),
    ({"file": "~nobody-of-that-name/x"}, "begins with a home that is not known"),
]


@pytest.mark.parametrize(("table", "why"), TABLES, ids=range(len(TABLES)))
def test_a_table_that_names_no_source_is_told(table, why):
    with pytest.raises(InputError) as told:
        PromptSource.parse(table)
    assert str(told.value).startswith("prompts: ")
    assert why in str(told.value)


@pytest.mark.parametrize("name", ["t.tsv", "t.json", "t.parquet", "t.YAML"])
def test_a_table_of_another_form_is_no_list_of_prompts(tmp_path, name):
    (tmp_path / name).write_text("prompt\tn\nThe cat\t1\n")
    with pytest.raises(InputError, match="is no text with a prompt a line"):
        read_file(tmp_path / name)


def test_columns_of_true_and_false_are_that(tmp_path):
    (tmp_path / "t.csv").write_text("prompt,ok,code\nThe cat,True,007\nThe dog,,010\nA,False,1\n")
    assert [prompt.fields for prompt in read_file(tmp_path / "t.csv")] == [
        {"ok": True, "code": "007"},
        {"ok": None, "code": "010"},
        {"ok": False, "code": "1"},
    ]


def test_a_single_prompt_stands_for_itself():
    found = load(PromptSource(text="Hello there"))
    assert found.prompts == (Prompt("Hello there", "text", 1),)
    assert (found.origin.source, found.origin.n, found.origin.revision) == ("text", 1, "")


def test_the_origin_of_a_file_tells_its_content(tmp_path):
    path = tmp_path / "own.txt"
    path.write_text("a\nb\na\n")
    found = load(PromptSource(file=path))
    assert [prompt.text for prompt in found.prompts] == ["a", "b", "a"]
    assert asdict(found.origin) == {
        "source": "own.txt",
        "repo": "",
        "config": "",
        "split": "",
        "revision": hashlib.sha256(b"a\nb\na\n").hexdigest(),
        "sample": None,
        "seed": 0,
        "n": 3,
        "sha256": hashlib.sha256(b'["a", "b", "a"]').hexdigest(),
    }


# ---- data sets, laid out as on the hub

LONG = " ".join(f"word{n}" for n in range(100))
ROWS: dict[str, tuple[str, str, list[dict[str, Any]]]] = {
    "arc": (
        "allenai/ai2_arc",
        "ARC-Challenge/test",
        [
            {
                "id": "M1",
                "question": " What melts? ",
                "choices": {"text": ["ice"]},
                "answerKey": "A",
            },
            {
                "id": "M2",
                "question": "What floats?",
                "choices": {"text": ["oil"]},
                "answerKey": "A",
            },
        ],
    ),
    "gsm8k": (
        "openai/gsm8k",
        "main/test",
        [{"question": "Tom has 3 hens. How many legs?", "answer": "6\n#### 6"}],
    ),
    "hellaswag": (
        "Rowan/hellaswag",
        "data/test",
        [
            {"ind": 4, "activity_label": "Surfing", "ctx": "A man stands. he", "endings": ["x"]},
            {
                "ind": 9,
                "activity_label": "Home",
                "ctx": "[header] How to paint [title] Wash it. [step] Use soap. [substeps] Rub",
                "endings": ["y"],
            },
        ],
    ),
    "mmlu": (
        "cais/mmlu",
        "all/test",
        [
            {"question": "Is 2 prime?", "subject": "algebra", "choices": ["a"], "answer": 0},
            {"question": "Who ruled?", "subject": "history", "choices": ["b"], "answer": 1},
        ],
    ),
    "truthfulqa": (
        "truthfulqa/truthful_qa",
        "generation/validation",
        [{"type": "A", "category": "Myths", "question": "Do cats fly?", "best_answer": "No"}],
    ),
    "winogrande": (
        "allenai/winogrande",
        "winogrande_xl/test",
        [
            {"sentence": "Ann beat Eve because _ trained.", "option1": "Ann", "option2": "Eve"},
            {"sentence": "Ann beat Eve because _ slept.", "option1": "Ann", "option2": "Eve"},
            {"sentence": "_ was late.", "option1": "Ann", "option2": "Eve"},
            {"sentence": "Ann thanked Eve as _ helped.", "option1": "Ann", "option2": "Eve"},
        ],
    ),
    "wikitext-2": (
        "Salesforce/wikitext",
        "wikitext-2-raw-v1/test",
        [{"text": text} for text in ("", " = Life = \n", " It is short . \n", f" {LONG} \n")],
    ),
    "easy2hard": (
        "furonghuang-lab/Easy2Hard-Bench",
        "E2H-GSM8K/eval",
        [
            {"rating": 0.25, "rating_std": 0.1, "question": "1 + 1?", "answer": "2"},
            {"rating": 0.75, "rating_std": 0.1, "question": "17 * 23?", "answer": "391"},
        ],
    ),
}
"""Of each data set: its id, configuration and split as the hub's folders say, and rows."""

PROMPTS: dict[str, list[tuple[str, int, str, float | None]]] = {
    "arc": [
        ("What melts?", 0, "ARC-Challenge", None),
        ("What floats?", 1, "ARC-Challenge", None),
    ],
    "gsm8k": [("Tom has 3 hens. How many legs?", 0, "", None)],
    "hellaswag": [
        ("A man stands. he", 0, "Surfing", None),
        ("How to paint. Wash it. Use soap. Rub", 1, "Home", None),
    ],
    "mmlu": [("Is 2 prime?", 0, "algebra", None), ("Who ruled?", 1, "history", None)],
    "truthfulqa": [("Do cats fly?", 0, "Myths", None)],
    "winogrande": [("Ann beat Eve because", 0, "", None), ("Ann thanked Eve as", 3, "", None)],
    "wikitext-2": [
        ("It is short .", 2, "", None),
        (" ".join(f"word{n}" for n in range(WORDS)), 3, "", None),
    ],
    "easy2hard": [("1 + 1?", 0, "E2H-GSM8K", 0.25), ("17 * 23?", 1, "E2H-GSM8K", 0.75)],
}


def lay_out(root: Path, name: str, rows: list[dict[str, Any]] | None = None) -> Path:
    """Write rows as the hub has them; give the folder."""
    _, place, known = ROWS[name]
    path = root / name / f"{place}-00000-of-00001.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows or known), path)
    return root / name


def as_tuples(prompts: tuple[Prompt, ...]) -> list[tuple[str, int, str, float | None]]:
    return [(p.text, p.row, p.category, p.difficulty) for p in prompts]


def test_all_data_sets_are_tested():
    assert set(ROWS) == set(PROMPTS) == set(BENCHMARKS)


@pytest.mark.parametrize("name", ROWS)
def test_a_data_set_in_a_folder_gives_its_prompts(tmp_path, name):
    found = load(PromptSource(dataset=name, folder=lay_out(tmp_path, name)))
    assert as_tuples(found.prompts) == PROMPTS[name]
    assert {prompt.source for prompt in found.prompts} == {name}
    repo, place, _ = ROWS[name]
    file = tmp_path / name / f"{place}-00000-of-00001.parquet"
    config = "default" if name == "hellaswag" else place.partition("/")[0]
    origin = found.origin
    assert (origin.source, origin.repo, origin.config) == (name, repo, config)
    assert origin.split == place.partition("/")[2]
    assert origin.revision == hashlib.sha256(file.read_bytes()).hexdigest()


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


@pytest.mark.parametrize("name", ROWS)
def test_the_hub_is_asked_for_a_data_set_by_its_names(hub, name):
    repo, place, hub.answer = ROWS[name]
    found = load(PromptSource(dataset=name))
    assert as_tuples(found.prompts) == PROMPTS[name]
    config, _, split = place.partition("/")
    config = "default" if name == "hellaswag" else config
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


@pytest.mark.parametrize("place", ["main", "data", ""])
@pytest.mark.parametrize("name", ["test.jsonl", "test-00000-of-00002.jsonl", "test/0000.jsonl"])
def test_a_copy_may_be_laid_out_in_several_ways(tmp_path, place, name):
    path = tmp_path / "copy" / place / name
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"question": "Why?"}))
    for other in ("train", "testing"):
        beside = tmp_path / "copy" / place / f"{other}.jsonl"
        beside.write_text(json.dumps({"question": "Which?"}))
    found = load(PromptSource(dataset="gsm8k", folder=tmp_path / "copy"))
    assert [prompt.text for prompt in found.prompts] == ["Why?"]


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


def test_one_configuration_is_not_read_as_another(tmp_path):
    path = tmp_path / "test.jsonl"
    path.write_text(json.dumps({"question": "Easy or not?"}))
    with pytest.raises(InputError, match=r"no rows of the split 'test' of arc \(ARC-Challenge\)"):
        load(PromptSource(dataset="arc", folder=tmp_path))


def test_a_folder_without_the_split_is_told(tmp_path):
    folder = lay_out(tmp_path, "mmlu")
    with pytest.raises(InputError, match=r"such as all/dev-00000-of-00001.parquet"):
        load(PromptSource(dataset="mmlu", split="dev", folder=folder))
    with pytest.raises(InputError, match="has no rows of the split"):
        load(PromptSource(dataset="mmlu", folder=tmp_path / "nowhere"))
    with pytest.raises(InputError, match="cannot be read"):
        load(PromptSource(dataset="mmlu", folder=tmp_path / ("x" * 300)))


def test_rows_of_another_data_set_are_told(tmp_path):
    folder = lay_out(tmp_path, "mmlu", [{"sentence": "x"}])
    with pytest.raises(InputError, match=r"no column 'question', but sentence: does the folder"):
        load(PromptSource(dataset="mmlu", folder=folder))


def test_a_pointer_of_git_lfs_is_told(tmp_path):
    folder = lay_out(tmp_path, "mmlu")
    next(folder.rglob("*.parquet")).write_text("version https://git-lfs.github.com/spec/v1\n")
    with pytest.raises(InputError, match=r"cannot be read as parquet: .* not a pointer of Git LFS"):
        load(PromptSource(dataset="mmlu", folder=folder))


def test_a_rating_that_is_no_number_is_told(tmp_path):
    folder = lay_out(tmp_path, "easy2hard", [{"question": "x", "rating": "hard"}])
    with pytest.raises(InputError, match="row 0: difficulty is a number, and 'hard' came"):
        load(PromptSource(dataset="easy2hard", folder=folder))


def test_a_rating_that_is_missing_is_not_known(tmp_path):
    rows = [{"question": "a", "rating": None}, {"question": "b", "rating": float("nan")}]
    folder = lay_out(tmp_path, "easy2hard", [*rows, {"question": "c", "rating": 0.5}])
    found = load(PromptSource(dataset="easy2hard", folder=folder))
    assert [prompt.difficulty for prompt in found.prompts] == [None, None, 0.5]


def test_rows_without_text_are_no_prompts(tmp_path):
    folder = lay_out(tmp_path, "gsm8k", [{"question": None}, {"question": " "}, {"question": "a"}])
    found = load(PromptSource(dataset="gsm8k", folder=folder))
    assert [(prompt.text, prompt.row) for prompt in found.prompts] == [("a", 2)]
    folder = lay_out(tmp_path / "none", "gsm8k", [{"question": ""}])
    with pytest.raises(InputError, match="has no row that makes a prompt"):
        load(PromptSource(dataset="gsm8k", folder=folder))


TEXTS = {
    context: {
        "[header] Why? [title] Because.": "Why? Because.",
        "[header] Sitting [title] Bend. [step] Sit [substeps] down": "Sitting. Bend. Sit down",
        "A list [1] of things": "A list [1] of things",
    },
    up_to_blank: {"The cat _ the mat": "The cat", "No blank": "No blank"},
    paragraph: {" = = Early = = \n": "", " a = b \n": "a = b", "\n": "", " = x": "= x"},
}


@pytest.mark.parametrize(
    ("clean", "text", "wanted"),
    [(clean, *pair) for clean, pairs in TEXTS.items() for pair in pairs.items()],
)
def test_texts_become_prompts(clean, text, wanted):
    assert clean(text) == wanted


# ---- samples

POOLS = st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=12, unique=True)


def prompts_of(texts: list[str]) -> list[Prompt]:
    return [Prompt(text, "x", row) for row, text in enumerate(texts)]


@given(POOLS, st.integers(-3, 3), st.data())
def test_a_larger_sample_begins_with_the_smaller(texts, seed, data):
    smaller, larger = sorted(data.draw(st.integers(1, len(texts))) for _ in range(2))
    pool = prompts_of(texts)
    drawn = draw(pool, larger, seed)
    assert draw(pool, smaller, seed) == drawn[:smaller]
    assert len(set(drawn)) == larger


@given(POOLS, st.integers(-3, 3), st.randoms(use_true_random=False))
def test_a_sample_does_not_depend_on_the_order_of_rows(texts, seed, random):
    mixed = random.sample(texts, len(texts))
    size = (len(texts) + 1) // 2
    drawn = [draw(prompts_of(rows), size, seed) for rows in (texts, mixed)]
    assert [p.text for p in drawn[0]] == [p.text for p in drawn[1]]


def test_samples_are_the_same_for_all_time():
    pool = prompts_of([f"prompt {n}" for n in range(10)])
    # found with sha256sum and sort: `printf '0\\nprompt 9' | sha256sum`
    assert [prompt.row for prompt in draw(pool, 4, 0)] == [9, 1, 8, 5]
    assert [prompt.row for prompt in draw(pool, 4, 1)] == [6, 3, 7, 2]


def test_each_prompt_is_drawn_as_often_as_any_other():
    pool = prompts_of([f"prompt {n}" for n in range(10)])
    drawn = [prompt.row for seed in range(1000) for prompt in draw(pool, 3, seed)]
    counts = [drawn.count(row) for row in range(10)]
    assert 240 <= min(counts) <= max(counts) <= 360  # 300 and four standard deviations


def test_a_sample_of_a_file_keeps_prompts_that_stand_there_twice(tmp_path):
    path = tmp_path / "own.txt"
    path.write_text("a\nb\na\n")
    found = load(PromptSource(file=path, sample=3, seed=2))
    assert sorted((prompt.text, prompt.row) for prompt in found.prompts) == [
        ("a", 1),
        ("a", 3),
        ("b", 2),
    ]
    assert (found.origin.sample, found.origin.seed, found.origin.n) == (3, 2, 3)


def test_a_sample_of_more_than_there_is_is_told(tmp_path):
    folder = lay_out(tmp_path, "winogrande")
    with pytest.raises(InputError, match="sample = 3 of winogrande, which has 2 prompts"):
        load(PromptSource(dataset="winogrande", folder=folder, sample=3))


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
    sources = [
        {},
        {"split": "train"},
        {"config": "ARC-Easy"},
        {"revision": "main"},
        {"revision": "v1"},
        {"revision": "x" * 500},
    ]
    for given_ in sources:
        load(PromptSource(dataset="arc", **given_))
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


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_kept_prompts_that_are_damaged_are_made_anew(hub, tmp_path, damage):
    hub.answer = ROWS["mmlu"][2]
    first = load(PromptSource(dataset="mmlu"))
    [path] = (tmp_path / "home" / "prompts").iterdir()
    sound = path.read_bytes()
    path.write_bytes(damage(sound))
    assert path.read_bytes() != sound
    assert load(PromptSource(dataset="mmlu")) == first
    assert len(hub.asked) == 2
    assert path.read_bytes() == sound


def test_damage_is_told_in_the_log(hub, tmp_path, caplog):
    hub.answer = ROWS["mmlu"][2]
    load(PromptSource(dataset="mmlu"))
    [path] = (tmp_path / "home" / "prompts").iterdir()
    path.write_text("x")
    load(PromptSource(dataset="mmlu"))
    assert f"{path} is damaged" in caplog.text


def test_what_cannot_be_kept_is_read_all_the_same(hub, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("COUPLING_HOME", str(tmp_path / "file"))
    hub.answer = ROWS["mmlu"][2]
    assert len(load(PromptSource(dataset="mmlu")).prompts) == 2


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


# ---- a hub that does not give


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
    "away": (lambda: ConnectionError("Couldn't reach"), "the hub is out of reach: check the netw"),
    "refused": (refused, "the hub is out of reach: check the network"),
    "gated": (gated, "accept its terms on https://huggingface.co/datasets/cais/mmlu"),
    "revision": (no_revision, "the hub has no such revision: leave revision out"),
    "program": (
        lambda: RuntimeError("Dataset scripts are no longer supported, but found mmlu.py"),
        "it comes as a program, which is never run",
    ),
    "disk": (lambda: OSError(28, "No space left on device"), "(\\[Errno 28\\] No space left on"),
}


@pytest.mark.parametrize(("error", "why"), FAILURES.values(), ids=FAILURES)
def test_a_hub_that_does_not_give_is_told_with_a_remedy(hub, error, why):
    hub.answer = error()
    with pytest.raises(ComputeError, match="data set cais/mmlu@v9: ") as told:
        load(PromptSource(dataset="mmlu", revision="v9"))
    assert why.replace("\\", "") in str(told.value)
    assert "`hf download cais/mmlu --repo-type dataset --local-dir FOLDER`" in str(told.value)


def test_a_split_that_is_not_there_is_the_users_to_change(hub):
    hub.answer = ValueError("Unknown split \"tset\". Should be one of ['test', 'dev'].")
    with pytest.raises(InputError, match=r"cais/mmlu: Unknown split \"tset\". Should be one of"):
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
    assert ["prompts", "2", "(all)"] in lines
    assert ["words", "3", "to", "3,", "median", "3"] in lines
    assert ["difficulty", "0.25", "to", "0.75,", "of", "2"] in lines
    assert ["categories", "E2H-GSM8K", "2"] in lines
    assert lines[-1] == ["1", "17", "*", "23?"]


def test_the_command_shows_a_sample_of_a_file(run, tmp_path):
    path = tmp_path / "own.txt"
    path.write_text("".join(f"prompt {n}\n" for n in range(10)) + f"{LONG}\n")
    said = json.loads(run("prompts", "own.txt", "--sample", 3, "--seed", 1, "--json")[1])
    wanted = load(PromptSource(file=path, sample=3, seed=1))
    assert said["origin"] == asdict(wanted.origin)
    assert said["prompts"] == [asdict(prompt) for prompt in wanted.prompts]
    out = run("prompts", "own.txt")[1]
    assert "categories  none" in out
    assert "difficulty" not in out
    assert len(out.splitlines()) == 11


def test_the_command_tells_what_is_wrong(run):
    status, out, err = run("prompts", "arcs")
    assert (status, out) == (2, "")
    assert err.startswith("error: arcs cannot be read: ")


def test_a_file_has_only_so_many_lines(tmp_path: Path) -> None:
    (tmp_path / "p.txt").write_text("\n" * 100_001)
    with pytest.raises(InputError, match="has more than 100,000 lines: split it"):
        read_file(tmp_path / "p.txt")


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


@pytest.mark.parametrize(
    ("ending", "text"),
    [
        (".csv", "Prompt, Category ,Difficulty\nOne, x ,2\n"),
        (".jsonl", '{"PROMPT": "One", "Category": " x ", "difficulty ": 2}\n'),
    ],
)
def test_names_of_columns_are_known_however_they_are_written(tmp_path, ending, text):
    path = tmp_path / f"own{ending}"
    path.write_text(text)
    (found,) = read_file(path)
    assert (found.text, found.category, found.difficulty, found.fields) == ("One", "x", 2.0, {})


def test_two_columns_of_one_name_are_left_as_they_are(tmp_path):
    path = tmp_path / "own.csv"
    path.write_text("prompt,category,Category\nOne,x,y\n")
    (found,) = read_file(path)
    assert (found.category, found.fields) == ("x", {"Category": "y"})


def test_a_table_with_semicolons_is_told(tmp_path):
    path = tmp_path / "own.csv"
    path.write_text("prompt;category\nOne;x\n")
    with pytest.raises(InputError, match="prompt;category came: its columns are parted by commas"):
        read_file(path)
