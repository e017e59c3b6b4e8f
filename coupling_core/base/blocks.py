"""Blocks as people name them, in any of the forms in which they do."""

from collections.abc import Iterable
from operator import index
from typing import SupportsIndex

from coupling_core.base.errors import InputError
from coupling_core.base.records import parse_blocks, resolve_blocks
from coupling_core.base.units import ranges

Blocks = str | Iterable[SupportsIndex] | SupportsIndex | None
"""A text as `--blocks` takes it ("9-16", "3,7", "1-30:2", "-4--1"), a range, a list, or one number,
-1 the last block; None is every block."""


def told(blocks: Blocks) -> str:
    """Blocks as they were named, as a text."""
    if isinstance(blocks, str):
        return blocks.strip()
    if blocks is None:
        return ""
    return ranges(map(index, blocks if isinstance(blocks, Iterable) else [blocks]))


def blocks_of(blocks: Blocks, n_blocks: int) -> tuple[int, ...] | None:
    """The numbers of the blocks that are named, 1..L, in that order; None is every block."""
    if blocks is None:
        return None
    if isinstance(blocks, str):
        return parse_blocks(blocks, n_blocks)
    listed = list(blocks) if isinstance(blocks, Iterable) else [blocks]
    if not listed or any(isinstance(it, bool) or not hasattr(it, "__index__") for it in listed):
        raise InputError(
            f"blocks {blocks!r} cannot be read: expected a text such as '9-16', a range, a list of "
            "whole numbers, or None for all blocks"
        )
    return resolve_blocks([index(each) for each in listed], n_blocks)
