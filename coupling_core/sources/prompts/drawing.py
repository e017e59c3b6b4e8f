r"""Samples that only a seed and the prompts' texts determine.

Each prompt has the rank SHA-256("<seed>\n<text>"), and a sample is the prompts of lowest rank in
the order of their ranks. So it depends on no generator of random numbers and on no order of rows,
and a larger sample begins with the smaller one.
"""

import hashlib
from collections.abc import Sequence

from coupling_core.sources.prompts.prompt import Prompt


def draw(prompts: Sequence[Prompt], n: int, seed: int) -> list[Prompt]:
    """The first n prompts by rank; those of one text by row."""
    return sorted(prompts, key=lambda prompt: (_rank(prompt.text, seed), prompt.row))[:n]


def _rank(text: str, seed: int) -> str:
    return hashlib.sha256(f"{seed}\n{text}".encode()).hexdigest()
