"""A depth-wise result's numbers: a row is the Jacobian's block, a column the basis."""

import numpy as np

from coupling_core.analysis.locality import near_less_far
from coupling_core.analysis.scores import score_pairs
from coupling_core.base.numbers import Column, Number, Seen, tokens
from coupling_core.kinds.scores import OF_VIEW, beside, corners, of_scores

PAIR = ("block", "basis")
derive = score_pairs
"""Of the scores of all pairs of the viewed blocks."""


def _at(seen: Seen) -> np.ndarray:
    """Indices of the viewed blocks."""
    return np.array(seen.derived.blocks) - 1


def _corners(seen: Seen, kept: np.ndarray) -> np.ndarray:
    at = _at(seen)
    return kept[np.ix_(at, at)] * seen.result.singular_values[at, 0, None, None, None]


NUMBERS = (
    Number(
        "singular_values",
        "singular values of J, to K",
        ("block", "k"),
        lambda seen: seen.result.singular_values[_at(seen), : seen.view.k],
    ),
    *corners(PAIR, _corners),
    *of_scores(PAIR, "all pairs of different blocks"),
    *beside("all pairs of different blocks"),
    Number(
        "locality",
        "mean chance-corrected score of neighbouring blocks minus that of all other pairs",
        (),
        lambda seen: near_less_far(seen.derived),
        in_files=False,
        column=Column(
            "Score of neighbours minus that of others",
            ideal=0.0,
            reading="Mean chance-corrected score of neighbouring blocks minus that of all other "
            "pairs: 0 where no blocks are coupled, or all alike; above it, coupling is local in "
            "depth.",
            scored=True,
            of_prompts=False,
            in_sweeps=False,
            by_step=True,
        ),
    ),
    Number("blocks", "l, those that are viewed", ("block",)),
    *tokens(),
    Number(
        "certified",
        "whether the SVD of J passed its certificate",
        ("block",),
        lambda seen: [seen.result.certificates[at].certified for at in _at(seen)],
    ),
)

ABOUT = OF_VIEW | {
    "block": "l, the block whose Jacobian it is, 1 to L",
    "basis": "l', the block whose singular vectors are the basis, 1 to L",
    "next_tokens": "the likeliest next tokens, each with its probability",
    "mean": "means of the scores over all pairs of different blocks",
}
"""What else tables and JSON have, by name."""
