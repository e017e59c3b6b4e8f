"""What comparisons of two results have in common: who A and B are, and what they come to."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from coupling_core.base.results import Result

SHOWN = 40
"""Letters of a prompt in a line."""


@dataclass(frozen=True)
class Summary:
    """What a comparison comes to, over the pairs that have a score in both.

    Args:
        a: mean of A.
        b: mean of B.
        difference: mean of A - B.
        correlation: of the two maps (Pearson); NaN where one of them is constant.
        pairs: how many pairs.
    """

    a: float
    b: float
    difference: float
    correlation: float
    pairs: int


def summary_of(
    a: Float[np.ndarray, "row column"],
    b: Float[np.ndarray, "row column"],
    counted: Bool[np.ndarray, "row column"],
) -> Summary:
    """Means of two maps of scores, and of their difference, over the cells that count.

    Args:
        a: scores of A.
        b: scores of B.
        counted: which cells; at least one.
    """
    of_a, of_b = a[counted], b[counted]
    constant = np.ptp(of_a) == 0 or np.ptp(of_b) == 0
    return Summary(
        float(of_a.mean()),
        float(of_b.mean()),
        float((of_a - of_b).mean()),
        float("nan") if constant else float(np.corrcoef(of_a, of_b)[0, 1]),
        of_a.size,
    )


def told_sides(a: Result, b: Result) -> tuple[str, str]:
    """Who A and B are: their models, and their prompts where these alone tell them apart."""
    if a.model_name != b.model_name or a.prompt_text == b.prompt_text:
        return a.model_name, b.model_name

    return f"{a.model_name}, {short_prompt(a)!r}", f"{b.model_name}, {short_prompt(b)!r}"


def short_prompt(of: Result, most: int = SHOWN) -> str:
    """The beginning of a prompt, in a line."""
    text = " ".join(of.prompt_text.split())
    return text if len(text) <= most else f"{text[: most - 1]}…"
