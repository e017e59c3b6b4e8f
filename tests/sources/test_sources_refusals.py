"""What `sources` refuses and says: of files of prompts, data sets in folders, and catalogues."""

import json
from pathlib import Path
from typing import Any

from catalogue_rows import HEAD, OWN, ROW
from data_sets import lay_out
from refused import refusals

from coupling_core import Request
from coupling_core.sources.catalogue import read_catalogue, write_catalogue
from coupling_core.sources.file_hashes import folder_digest
from coupling_core.sources.identity import locate
from coupling_core.sources.prompts import PromptSource, load, read_file
from coupling_core.sources.suites import find_suite

JSONL = (
    *("no json", "[" * 5000, '["x"]', '{"text": "x"}', '{"prompt": 3}', '{"prompt": " "}'),
    '{"prompt": "x", "category": [1]}',
    *(
        f'{{"prompt": "x", "difficulty": {of}}}'
        for of in ('"hard"', "true", "NaN", "1" + "0" * 400)
    ),
    '{"prompt": "a\\ud800"}',
)
CSV = (
    "text\nx\n",
    "prompt,category\nx,y\na, b,c\n",
    'prompt\nx\n"a\nb\n',
    "prompt,difficulty\nx,1\ny,hard\n",
    "prompt,category\nx,y\n,z\n",
    "prompt;category\nOne;x\n",
    "",
)
NO_TABLES = ("t.tsv", "t.json", "t.parquet", "t.YAML")
TABLES: list[dict[str, Any]] = [
    *({}, {"text": "x", "file": "y"}, {"text": ""}, {"text": "x", "folder": "y"}),
    *({"file": "x", "split": "test"}, {"file": "~nobody-of-that-name/x"}, {"dataset": 3}),
    *({"dataset": name} for name in ("hellaswga", "MMLU", "zzzz")),
    *({"dataset": "arc", "config": "easy"}, {"dataset": "arc", "split": "../test"}),
    *({"dataset": "arc", "revision": "x", "folder": "y"}, {"dataset": "arc", "samples": 5}),
    *({"dataset": "arc", "sample": sample} for sample in (0, "5", 5.0)),
    {"dataset": "arc", "seed": True},
]
CELLS = [
    *(("1000", "-5"), ("1000", "7e9"), ("1000", ""), ("1000", "9" * 5000), (",4,", ",four,")),
    *((",64,", ",0,"), ("12.5", "high"), ("12.5", "nan"), ("12.5", "120"), (",,12.5", ",-1,12.5")),
    *(("yes", "no"), ("me/mine", ""), ("me/mine", "a/b"), ("yes,,", "yes,,,x")),
]


def calls(root: Path) -> dict[str, Any]:
    """Calls by name, each of which should be refused."""

    def prompts(name: str, content: str | bytes) -> Any:
        path = root / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return lambda: read_file(path)

    def catalogue(number: int, content: str) -> Any:
        path = root / f"models-{number}.csv"
        path.write_text(content)
        return lambda: read_catalogue(path)

    def data(name: str, **options: Any) -> Any:
        return lambda: load(PromptSource(dataset=name, **options))

    mmlu, stray = lay_out(root / "a", "mmlu"), root / "stray"
    pointer = lay_out(root / "pointer", "mmlu")
    next(pointer.rglob("*.parquet")).write_text("version https://git-lfs.github.com/spec/v1\n")
    stray.mkdir()
    (stray / "test.jsonl").write_text(json.dumps({"question": "Easy or not?"}))
    (root / "adapter").mkdir()
    (root / "adapter" / "adapter_config.json").write_text("{}")
    lines = [f'{{"prompt": "x"}}\n\n{line}\n' for line in JSONL]
    rows = [f"{HEAD}\n{ROW.replace('me/mine', 'a/b')}\n{ROW.replace(*cell)}\n" for cell in CELLS]
    no_number = lay_out(root / "rated", "easy2hard", [{"question": "x", "rating": "hard"}])
    return {
        **{f"JSONL {of[:60]}": prompts(f"{n}.jsonl", lines[n]) for n, of in enumerate(JSONL)},
        **{f"CSV {of}": prompts(f"{n}.csv", of) for n, of in enumerate(CSV)},
        **{f"prompts in {name}": prompts(name, "prompt\tn\nThe cat\t1\n") for name in NO_TABLES},
        **{
            f"{what} {ending}": prompts(f"{what}{ending}", content)
            for what, contents in {
                "no prompt": ("\n \n", "", "prompt"),
                "bytes": (b"\xff\xfe\x00",) * 3,
            }.items()
            for ending, content in zip((".txt", ".jsonl", ".csv"), contents, strict=True)
        },
        "no image": lambda: read_file(stray),
        "no file": lambda: read_file(root / "none.txt"),
        **{f"table {table}": lambda table=table: PromptSource.parse(table) for table in TABLES},
        "another configuration": data("arc", folder=stray),
        "another split": data("mmlu", split="dev", folder=mmlu),
        "no folder": data("mmlu", folder=root / "nowhere"),
        "a long name": data("mmlu", folder=root / ("x" * 300)),
        "other rows": data("mmlu", folder=lay_out(root / "b", "mmlu", [{"sentence": "x"}])),
        "a pointer": data("mmlu", folder=pointer),
        "no number": data("easy2hard", folder=no_number),
        "no text": data("gsm8k", folder=lay_out(root, "gsm8k", [{"question": ""}])),
        "too large a sample": data("winogrande", folder=lay_out(root, "winogrande"), sample=3),
        **{
            f"cell {old} -> {new[:20]}": catalogue(number, rows[number])
            for number, (old, new) in enumerate(CELLS)
        },
        "no column": catalogue(99, HEAD.replace("width", "weight") + "\n"),
        "a folder of models": lambda: read_catalogue(root),
        "a place in a file": lambda: write_catalogue(root / "0.csv" / "models.csv", [OWN]),
        "an adapter alone": lambda: folder_digest(root / "adapter"),
        "a revision in a name": lambda: locate(Request("x", model="someone/tiny@step4")),
        "a suite": lambda: find_suite("mini-65"),
    }


def test_whatever_is_refused_is_refused_in_words(tmp_path, snapshot):
    found = refusals(calls(tmp_path), tmp_path)
    assert max(map(len, found.values())) < 1000  # whatever was in the file
    assert found == snapshot
