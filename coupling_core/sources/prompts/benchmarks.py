r"""The data sets that are known by a name, and how their rows become prompts.

The papers measure on the test sets of the first six (section 4.2), 1200 prompts in all, and say no
more of how a row becomes a prompt. Here it is what is asked, without the choices and without words
around it:

    arc, gsm8k, mmlu, truthfulqa   the question
    hellaswag                      the context that is to be ended, without its marks in brackets
    winogrande                     the sentence up to its blank
    wikitext-2                     the first words of a paragraph; headings are none
    easy2hard                      the question, with its rating as the difficulty

Where a data set has a test set that is the split unless told, labels or not: only TruthfulQA has
none. Easy2Hard calls its own "eval", and the papers' Figure 10 does not say which of its parts it
shows.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

WORDS = 64
"""Words of a paragraph of WikiText that make a prompt: a paragraph may have hundreds."""

_TITLE = re.compile(r"([.?!]?)\s*\[title\]")
_MARK = re.compile(r"\[(header|step|substeps)\]")


def question(text: str) -> str:
    """A text as it stands."""
    return text.strip()


def context(text: str) -> str:
    """HellaSwag's context without its marks: where [title] was, a sentence ends."""
    ended = _TITLE.sub(lambda mark: mark[1] or ".", text)
    return " ".join(_MARK.sub(" ", ended).split())


def up_to_blank(text: str) -> str:
    """What stands before the blank."""
    return text.partition("_")[0].strip()


def paragraph(text: str) -> str:
    """The first words of a paragraph of WikiText; "" for a heading, such as " = Life = "."""
    text = text.strip()
    is_heading = text.startswith("=") and text.endswith("=")
    return "" if is_heading else " ".join(text.split()[:WORDS])


@dataclass(frozen=True)
class Form:
    """How a row becomes a prompt.

    Args:
        column: of the text.
        prompt: from that text to the prompt; what becomes empty is no prompt.
        category: column of the category; "" where there is none.
        difficulty: column of the difficulty; "" where there is none.
    """

    column: str
    prompt: Callable[[str], str] = question
    category: str = ""
    difficulty: str = ""

    @property
    def columns(self) -> list[str]:
        """All that are read."""
        return [name for name in (self.column, self.category, self.difficulty) if name]


@dataclass(frozen=True)
class Benchmark:
    """A data set of the hub.

    Args:
        repo: its id there.
        split: the one that is read unless told.
        forms: of its configurations; the first is read unless told. Where there are several, the
            configuration is the category.
    """

    repo: str
    split: str
    forms: Mapping[str, Form]

    @property
    def config(self) -> str:
        """The configuration that is read unless told."""
        return next(iter(self.forms))


BENCHMARKS: Mapping[str, Benchmark] = {
    "arc": Benchmark(
        "allenai/ai2_arc",
        "test",
        {"ARC-Challenge": Form("question"), "ARC-Easy": Form("question")},
    ),
    "gsm8k": Benchmark("openai/gsm8k", "test", {"main": Form("question")}),
    "hellaswag": Benchmark(
        "Rowan/hellaswag",
        "test",
        {"default": Form("ctx", context, category="activity_label")},
    ),
    "mmlu": Benchmark("cais/mmlu", "test", {"all": Form("question", category="subject")}),
    "truthfulqa": Benchmark(
        "truthfulqa/truthful_qa",
        "validation",
        {"generation": Form("question", category="category")},
    ),
    "winogrande": Benchmark(
        "allenai/winogrande", "test", {"winogrande_xl": Form("sentence", up_to_blank)}
    ),
    "wikitext-2": Benchmark(
        "Salesforce/wikitext", "test", {"wikitext-2-raw-v1": Form("text", paragraph)}
    ),
    "easy2hard": Benchmark(
        "furonghuang-lab/Easy2Hard-Bench",
        "eval",
        {
            "E2H-GSM8K": Form("question", difficulty="rating"),
            "E2H-ARC": Form("question", difficulty="rating"),
            "E2H-Winogrande": Form("sentence", up_to_blank, difficulty="rating"),
            "E2H-AMC": Form("problem", difficulty="rating"),
        },
    ),
}
