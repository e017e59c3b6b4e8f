"""Prompts from own files: what is read of them, and what a sweep's table says of its prompts."""

import hashlib
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from coupling_core.base.errors import InputError
from coupling_core.base.images import to_pixels
from coupling_core.sources.prompts import Prompt, PromptSource, load, read_file
from coupling_core.sources.prompts.columns import typed
from coupling_core.sources.prompts.drawing import draw

SHIPPED = Path(__file__).parents[2] / "sweeps" / "prompts.jsonl"
FILES = {
    "plain.txt": ("One, two\n\n  \n  three \r\n", [("One, two", 1), ("  three ", 4)]),
    "own.jsonl": (
        '{"prompt": "a\\nb", "category": "x", "difficulty": 2, "note": "-"}\n\n{"prompt": "c"}',
        [("a\nb", 1, "x", 2.0), ("c", 3)],
    ),
    "own.csv": (
        '\ufeffdifficulty,prompt,category\n\n0.5,"a, b\nc",x\n,d,\n',
        [("a, b\nc", 3, "x", 0.5), ("d", 5)],
    ),
    "alone.csv": ("prompt\na\n", [("a", 2)]),
    "capitals.csv": ("Prompt, Category ,Difficulty\nOne, x ,2\n", [("One", 2, "x", 2.0)]),
    "capitals.jsonl": (
        '{"PROMPT": "One", "Category": " x ", "difficulty ": 2}\n',
        [("One", 1, "x", 2.0)],
    ),
    "numbers.jsonl": (
        '{"prompt": "a", "category": 3}\n{"prompt": "b", "category": "3"}\n'
        + '{"prompt": "c", "long": '
        + "9" * 5000
        + "}",
        [("a", 1, "3"), ("b", 2, "3"), ("c", 3)],
    ),
}
COLUMNS = [
    (["1", "-2", "+3", "0"], [1, -2, 3, 0]),
    (["1", ""], [1, None]),
    (["1.5", "2", ".5", "1e-3", ""], [1.5, 2.0, 0.5, 0.001, None]),
    (["", ""], [None, None]),
    (["a", ""], ["a", None]),
]
TEXTS = [["007", "12"], ["1.5", "x"], ["nan", "inf"], [".", "1"], ["1e", "1"], ["1_000"], ["1٣"]]
COLUMNS += [(cells, cells) for cells in (*TEXTS, ["9" * 5000, "1"], ["1e400"], ["9" * 18, "0.5"])]


def test_a_file_gives_its_prompts_with_their_lines_and_what_is_known_of_them(tmp_path):
    found = {}
    for name, (content, _) in FILES.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
        found[name] = read_file(tmp_path / name)
    assert found == {
        name: [Prompt(text, name, *known) for text, *known in prompts]
        for name, (_, prompts) in FILES.items()
    }


def test_cells_are_numbers_where_every_cell_of_their_column_is_one():
    for cells, expected in COLUMNS:
        found = typed(cells)
        assert (found, list(map(type, found))) == (expected, list(map(type, expected)))


def test_columns_of_true_and_false_are_that_and_two_of_one_name_are_left(tmp_path):
    (tmp_path / "t.csv").write_text("prompt,ok,code\nThe cat,True,007\nThe dog,,010\nA,False,1\n")
    (tmp_path / "own.csv").write_text("prompt,category,Category\nOne,x,y\n")
    found = [prompt.fields for prompt in read_file(tmp_path / "t.csv")]
    assert [each["ok"] for each in found] == [True, None, False]
    assert [each["code"] for each in found] == ["007", "010", "1"]
    (found,) = read_file(tmp_path / "own.csv")
    assert (found.category, found.fields) == ("x", {"Category": "y"})


def test_what_would_be_lost_or_could_not_be_written_is_refused_as_it_is_read(tmp_path):
    for name, content, told in (
        ("two.csv", "prompt,x,x\na,1,2\n", "'x'"),
        ("two.jsonl", '{"prompt": "a", "x": 1, "x": 2}\n', "'x'"),
        ("half.jsonl", '{"prompt": "a", "note": "\\ud83d"}\n', "half"),
        ("nested.jsonl", '{"prompt": "a", "note": ["\\ud83d"]}\n', "half"),
    ):
        (tmp_path / name).write_text(content)
        with pytest.raises(InputError, match=told):
            read_file(tmp_path / name)
    (tmp_path / "long.csv").write_text(f"prompt,note\na,{'b' * 140_000}\n")
    assert len(read_file(tmp_path / "long.csv")[0].fields["note"]) == 140_000


def test_of_a_folder_hidden_files_are_no_prompts_and_a_damaged_one_fails_by_itself(tmp_path):
    for place in ("cats/a.png", "cats/._a.png", ".ipynb_checkpoints/a-checkpoint.png"):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        Image.new("L", (8, 8), 9).save(tmp_path / place)
    (tmp_path / "cats" / "b.png").write_bytes(b"no picture")
    (tmp_path / "cats" / "c.png").symlink_to("gone.png")
    good, damaged = read_file(tmp_path)
    assert (good.category, damaged.category) == ("cats", "cats")
    assert "8 x 8" in good.words
    assert str(tmp_path / "cats" / "b.png") in damaged.words
    with pytest.raises(InputError, match=r"b\.png"):
        to_pixels(damaged.text)


def test_a_file_has_only_so_many_lines(tmp_path):
    (tmp_path / "p.txt").write_text("\n" * 100_001)
    with pytest.raises(InputError, match="100,000"):
        read_file(tmp_path / "p.txt")


def test_a_table_is_read_as_it_stands_and_its_paths_are_relative_to_the_file_of_the_sweep(tmp_path):
    table = {"dataset": "arc", "config": "ARC-Easy", "split": "train", "sample": 5, "seed": 3}
    assert PromptSource.parse(table | {"revision": "main"}) == PromptSource(
        dataset="arc", config="ARC-Easy", split="train", sample=5, seed=3, revision="main"
    )
    for written, read in (
        ("own.txt", tmp_path / "own.txt"),
        ("/data", Path("/data")),
        ("~/own.txt", Path.home() / "own.txt"),
    ):
        assert PromptSource.parse({"file": written}, tmp_path).file == read


def test_the_origin_of_a_file_tells_its_content(tmp_path):
    path = tmp_path / "own.txt"
    path.write_text("a\nb\na\n")
    found = load(PromptSource(file=path))
    assert [prompt.text for prompt in found.prompts] == ["a", "b", "a"]
    known = {"source": "own.txt", "sample": None, "seed": 0, "n": 3}
    known["revision"] = hashlib.sha256(b"a\nb\na\n").hexdigest()
    known["sha256"] = hashlib.sha256(b'["a", "b", "a"]').hexdigest()
    assert asdict(found.origin) == dict.fromkeys(("repo", "config", "split"), "") | known
    found = load(PromptSource(file=path, sample=3, seed=2))  # one that stands there twice is kept
    drawn = sorted((prompt.text, prompt.row) for prompt in found.prompts)
    assert drawn == [("a", 1), ("a", 3), ("b", 2)]
    assert (found.origin.sample, found.origin.seed, found.origin.n) == (3, 2, 3)


POOLS = st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=12, unique=True)


def prompts_of(texts: list[str]) -> list[Prompt]:
    return [Prompt(text, "x", row) for row, text in enumerate(texts)]


@settings(max_examples=40)
@given(POOLS, st.integers(-3, 3), st.data())
def test_a_larger_sample_begins_with_the_smaller_whatever_the_order_of_rows(texts, seed, data):
    smaller, larger = sorted(data.draw(st.integers(1, len(texts))) for _ in range(2))
    pool = prompts_of(texts)
    drawn = draw(pool, larger, seed)
    assert draw(pool, smaller, seed) == drawn[:smaller]
    assert len(set(drawn)) == larger
    mixed = draw(prompts_of(data.draw(st.permutations(texts))), larger, seed)
    assert [prompt.text for prompt in mixed] == [prompt.text for prompt in drawn]


def test_samples_are_the_same_for_all_time():
    pool = prompts_of([f"prompt {n}" for n in range(10)])
    # found with sha256sum and sort: `printf '0\\nprompt 9' | sha256sum`
    assert [prompt.row for prompt in draw(pool, 4, 0)] == [9, 1, 8, 5]
    assert [prompt.row for prompt in draw(pool, 4, 1)] == [6, 3, 7, 2]


def test_the_prompts_that_ship_are_sixty_in_twelve_categories():
    found = read_file(SHIPPED)
    assert [prompt.row for prompt in found] == list(range(1, 61))
    assert len({prompt.text for prompt in found}) == 60
    assert {*Counter(prompt.category for prompt in found).values()} == {5}
    assert {prompt.difficulty for prompt in found} == {1, 2, 3}
