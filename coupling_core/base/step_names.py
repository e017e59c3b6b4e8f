"""Names of the curves over training steps: `make docs` writes them from the kinds' records."""

from typing import Literal

StepCurve = Literal[
    "loss",
    "coupling",
    "corrected",
    "alignment",
    "locality",
    "line-shape",
    "expodistance",
    "departure",
    "u-dot-v",
    "effective-rank",
]
