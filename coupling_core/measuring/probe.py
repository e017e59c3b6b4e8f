"""What a model is, found out before any of its weights are loaded."""

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn

from coupling_core.base.errors import InputError
from coupling_core.base.records import STACKS, Request, Stack
from coupling_core.engine.jacobians.decode import Reader
from coupling_core.engine.jacobians.same_token import check_replay
from coupling_core.engine.jacobians.trace import trace
from coupling_core.engine.loading import (
    LoadedModel,
    Skeleton,
    class_name,
    find_blocks,
    find_stacks,
    longest_prompt,
    measured_stack,
    reads_images,
    rehearsal,
    rehearsal_size,
    skeleton,
    stored_precision,
)
from coupling_core.measuring.forecast import Probe
from coupling_core.sources.resolved import Resolved

REHEARSED = 10**9
"""Bytes of random weights up to which a rehearsal is worth its memory."""
TRIED = 9
"""Tokens that a rehearsal reads: more than those by which a stack's kind is found out, for what a
short prompt hides."""
REHEARSED_WORK = 2 * 10**9
"""Parameters up to which it is worth its time: some seconds on two cores."""

REHEARSED_BLOCKS = 200
"""Blocks up to which it is: the deepest model in use has 126."""


def probe(asked: Resolved, *, rehearse: bool = True) -> Probe:
    """Find out what the request's model is, from its config and a rehearsal with random weights.

    Of a hub model that is not on this disk, the config is fetched and nothing else. The rehearsal
    takes seconds and tells what a config does not: whether the model is causal, and whether its
    blocks can be replayed.
    """
    request, source = asked.request, asked.files
    bare = skeleton(source)
    config, model = bare.config, bare.model
    found: dict[str, Any] = {
        "name": source.name,
        "architecture": type(model).__name__,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "stored": stored_precision(source, config),
        "longest": longest_prompt(model),
        "heads": _heads(config),
        "stacks": STACKS if len(find_stacks(model)) == len(STACKS) else (),
    }
    try:
        found |= _blocks(find_blocks(model, request.stack))
        found |= {
            "stack": measured_stack(model, request.stack),
            "width": getattr(config.get_text_config(), "hidden_size", None),
        }
        if rehearse:
            said = config.to_json_string(use_diff=False)
            found |= _rehearse(_Rehearsed(said, bare.family, request.stack, bare))
    except InputError as error:
        found["refusal"] = str(error)
    return Probe(**found)


def seen(request: Request, loaded: LoadedModel, reader: Reader) -> Probe:
    """What a model is that is loaded, and reads its prompt."""
    return Probe(
        name=request.model,
        architecture=class_name(loaded.model),
        parameters=loaded.parameters,
        stored=loaded.dtype,
        longest=longest_prompt(loaded.model),
        heads=_heads(loaded.model.config),
        stack=request.stack,
        width=reader.width,
        causal=reader.kind.causal,
        **_blocks(reader.runner.blocks),
    )


def _heads(config: Any) -> int | None:
    found = getattr(config.get_text_config(), "num_attention_heads", None)
    return found if isinstance(found, int) else None  # a list: one number a stage


def _blocks(blocks: nn.ModuleList) -> dict[str, Any]:
    shapes = [[p.shape for p in block.parameters()] for block in blocks]
    return {
        "blocks": len(blocks),
        "block_parameters": max(sum(map(math.prod, block)) for block in shapes),
        "widest": max((max(shape, default=0) for block in shapes for shape in block), default=0),
    }


@dataclass(frozen=True)
class _Rehearsed:
    """What a rehearsal depends on: checkpoints of one training run have one between them."""

    config: str
    family: Any
    stack: Stack | None
    bare: Skeleton = field(compare=False)


@lru_cache(maxsize=16)
def _rehearse(asked: _Rehearsed) -> dict[str, Any]:
    """What shows only as a model runs: its causality, its width, and whether blocks replay."""
    bare = asked.bare
    work = sum(parameter.numel() for parameter in bare.model.parameters())
    if len(find_blocks(bare.model, asked.stack)) > REHEARSED_BLOCKS:
        return {}
    if work > REHEARSED_WORK or rehearsal_size(bare.model) > REHEARSED:
        return {}
    try:
        with torch.random.fork_rng(devices=[]):
            twin = rehearsal(bare)
        seen = trace(twin, _tried(twin), -1, stack=asked.stack)
        with torch.no_grad():
            for block in seen.blocks:
                check_replay(block, block.replay(block.state[None, None]))
    except InputError:
        raise
    except Exception:  # an architecture that does not run on these weights may on its own
        return {}
    return {"causal": seen.kind.causal, "width": seen.blocks[0].state.numel()}


def _tried(model: Any) -> list[int] | Tensor:
    """What a rehearsal reads: a few tokens, or an image of the size that the config names."""
    if not reads_images(model):
        return list(range(1, TRIED + 1))
    config = model.config
    side = config.image_size
    height, width = (side, side) if isinstance(side, int) else side
    generator = torch.Generator().manual_seed(0)
    return torch.rand(1, config.num_channels, height, width, generator=generator)
