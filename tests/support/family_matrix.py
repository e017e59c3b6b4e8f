"""Every model family with its traces and oracle Jacobians, each built once a process.

What is given here is shared: a test that changes a model builds one of its own.
"""

from collections.abc import Collection
from functools import cache
from typing import Any

import pytest
import shallow
import tiny
import torch

from coupling_core.engine import reference
from coupling_core.engine.jacobians.decode import Reader, read
from coupling_core.engine.jacobians.true_float64 import TrueFloat64

IDS = (5, 17, 42, 8, 99, 17, 3)
DEPTH = 3
"""Blocks of each: the first, which some families make otherwise, one inside, and the last."""

FAST = ("gpt2", "llama3", "gpt_neox", "gemma3", "bert")
"""The families that every identity is asked of after every change."""
TRAPS = (
    "mistral",  # a window shorter than the prompt
    "mixtral",  # experts
    "falcon_rw",  # ALiBi
    "olmo",  # norms without parameters
    "opt_350m",  # post-norm, an embedding of another width
    "openai_gpt",  # no cache, no marked layers
    "mamba",  # no attention at all
    "t5-decoder",
    "t5-encoder",
)
"""Families that `make test` adds, each with a trap of its own."""

STACKS: dict[str, tuple[str, Any]] = {
    **{family: (family, None) for family in (*tiny.CAUSAL, *tiny.BIDIRECTIONAL)},
    **{f"{f}-{stack}": (f, stack) for f in tiny.TWO_STACKS for stack in ("encoder", "decoder")},
}
"""A stack's name: its family, and which of two stacks."""


def tiered(
    names: Collection[str] = tuple(STACKS),
    fast: Collection[str] = FAST,
    full: Collection[str] = TRAPS,
) -> pytest.MarkDecorator:
    """Parametrise a test with `name`: some families always, some in `make test`, others slow."""
    marks = {name: [] for name in fast} | {name: [pytest.mark.full] for name in full}
    return pytest.mark.parametrize(
        "name", [pytest.param(name, marks=marks.get(name, [pytest.mark.slow])) for name in names]
    )


def is_bidirectional(name: str) -> bool:
    """Whether a token of this stack sees those behind it."""
    family, stack = STACKS[name]
    return family in tiny.BIDIRECTIONAL or stack == "encoder"


@cache
def model(name: str) -> Any:
    """The tiny model of a stack, in float32."""
    return shallow.model(STACKS[name][0], DEPTH)


@cache
def reader(name: str) -> Reader:
    """It has read the prompt."""
    return read(model(name), list(IDS), stack=STACKS[name][1])


@cache
def double(name: str, attention: str | None = None) -> Any:
    """The same model in float64."""
    return shallow.model(STACKS[name][0], DEPTH, attention).double()


@cache
def double_reader(name: str, attention: str | None = None) -> Reader:
    """It has read the prompt in true float64."""
    with TrueFloat64():
        made = read(double(name, attention), list(IDS), stack=STACKS[name][1])
        assert made.run.calls  # which it keeps, and which may be asked for elsewhere first
    return made


def inputs(name: str) -> dict[str, torch.Tensor]:
    """What transformers runs the whole model with, for the prompt to be read by this stack."""
    stack = STACKS[name][1]
    ids = torch.tensor([IDS])
    if stack is None:
        return {"input_ids": ids}
    start = torch.tensor([[model(name).config.decoder_start_token_id]])
    return {"input_ids": ids, "decoder_input_ids": torch.cat([start, ids[:, :-1]], 1)}


@cache
def exact(name: str, block: int, t1: int, t2: int, attention: str | None = None) -> torch.Tensor:
    """J_{t1 t2} of the definition in true float64; the last block's includes the final norm."""
    reads = double_reader(name, attention)
    norm = reads.kind.final_norm if block == reads.n_blocks else None
    with TrueFloat64():
        return reference.block_jacobian(
            double(name, attention), list(IDS), block, t1, t2, norm,
            stack=STACKS[name][1], inputs=inputs(name),
        )  # fmt: skip


def off(found: torch.Tensor, expected: torch.Tensor) -> float:
    """Relative error; of an expected zero, as outside an attention window, the largest entry."""
    if not expected.any():
        return float(found.abs().max())
    return float((found - expected).norm() / expected.norm())
