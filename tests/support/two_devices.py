"""The same measurement on two devices: what is asked, of which model, and how far they agree."""

from contextlib import nullcontext
from typing import Any

import numpy as np
import shallow
import tiny
import torch
import vision_models

from coupling_core.base.records import Request
from coupling_core.base.results import Result
from coupling_core.measuring.measure import measure

IDS = (5, 17, 42, 8, 99, 17)
KINDS: dict[str, dict[str, Any]] = {
    "depth": {}, "fixed-input": {"token": 3, "block": 1, "other_block": 2},
    "fixed-output": {"block": 1, "other_block": 2}, "self": {"block": 2, "other_block": 3},
    "self, all pairs": {}, "trajectory": {}, "what-if": {},
}  # fmt: skip
ALONE: dict[str, dict[str, Any]] = {"spectrum": {}, "perturbation": {}, "directions": {}}
"""Kinds that need more of a device than a pretended one has."""
WITHOUT_K = ("trajectory", "what-if", *ALONE)
K = 4
TOLERANCE = 1e-3
"""Relative to the largest: the products are others than the CPU's."""
BY_VECTORS = 5e-3
"""Where single singular vectors count, which turn with their neighbours."""
NUMBERS = {
    "what-if": ("divergence", "loss", "own_loss", "exchange_true", "exchange_predicted"),
    "trajectory": ("norms", "step_lengths", "one_step", "rolled_out"),
    "spectrum": ("jacobian_norm", "departure", "asymmetry", "singular_values"),
    "perturbation": ("distance", "cosine", "linear_distance", "linear_cosine"),
    "directions": ("singular_values", "jacobian_norm", "rank"),
}
PAIRS = ("singular_values", "diagonal", "off_diagonal")
MEANS = ("singular_values", "corrected")
"""By kind; else of pairs, and of means."""
LEADING = ("diagonal", "off_diagonal")
"""Of these the K asked for: further down are singular values so near to one another that their
vectors are anybody's."""


def asked(family: str, kind: str, **changes: Any) -> Request:
    """A small measurement of each kind."""
    prompt: Any = vision_models.picture() if family in vision_models.FAMILIES else IDS
    stack = {"stack": "decoder"} if family in tiny.TWO_STACKS else {}
    name = kind.partition(",")[0]
    k = {} if name in WITHOUT_K else {"k": K}
    return Request(prompt, kind=name, **k | (KINDS | ALONE)[kind] | stack | changes)


def built(family: str) -> tuple[Any, Any]:
    """A model, and what turns its prompts into numbers."""
    if family in vision_models.FAMILIES:
        return vision_models.model(family), vision_models.processor()
    return shallow.model(family, 3), None


def measure_both(
    family: str, kind: str, device: str, dtype: torch.dtype = torch.float32, within=nullcontext
) -> tuple[Result, Result]:
    """Measure on a device, within what gives it, and here; the results, whose numbers are alike."""
    model, words = built(family)
    model, request = model.to(dtype), asked(family, kind)
    here = measure(request, model=model, tokenizer=words)
    with within():
        there = measure(request, model=model.to(device), tokenizer=words)
    require_equal(there, here)
    return there, here


def require_equal(there: Result, here: Result) -> None:
    """Compare the numbers of two results of one measurement."""
    kind = here.request.kind
    if kind == "what-if":
        assert (there.measured_of, there.refused) == (here.measured_of, here.refused)
    for name in NUMBERS.get(kind, PAIRS if hasattr(here, "diagonal") else MEANS):
        found, expected = (getattr(result, name) for result in (there, here))
        tolerance = BY_VECTORS if name in (*LEADING, "corrected") else TOLERANCE
        if name in LEADING:
            found, expected = found[..., :K], expected[..., :K]
        if not np.isfinite(expected).any():
            np.testing.assert_array_equal(found, expected)
            continue
        largest = np.nanmax(np.abs(expected))
        np.testing.assert_allclose(found, expected, atol=tolerance * largest, rtol=0, err_msg=name)
