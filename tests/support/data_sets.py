"""Rows of every data set as the hub has them, the prompts that they make, and copies in folders."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from coupling_core.sources.prompts import Prompt
from coupling_core.sources.prompts.benchmarks import WORDS

PAINTING = "[header] How to paint [title] Wash it. [step] Use soap. [substeps] Rub"
LONG = " ".join(f"word{n}" for n in range(100))
ROWS: dict[str, tuple[str, str, list[dict[str, Any]]]] = {
    "arc": (
        "allenai/ai2_arc",
        "ARC-Challenge/test",
        [
            {"id": "M1", "question": " What melts? ", "choices": {"text": ["ice"]}},
            {"id": "M2", "question": "What floats?", "choices": {"text": ["oil"]}},
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
            {"ind": 9, "activity_label": "Home", "ctx": PAINTING, "endings": ["y"]},
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
    "arc": [("What melts?", 0, "ARC-Challenge", None), ("What floats?", 1, "ARC-Challenge", None)],
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
