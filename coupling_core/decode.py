"""Every block at many tokens, from one decode pass with a growing cache.

A causal model reads the prompt a token at a time, each time with the cache of all tokens before;
the chosen blocks are captured as they are met and handed on before the next token is read, so that
no more than one token's captures are in memory. A bidirectional model, or one without a cache, runs
once over the whole prompt, and each token is a row of that run.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from coupling_core.calls import Call
from coupling_core.errors import InputError
from coupling_core.records import Stack
from coupling_core.rows import Rows
from coupling_core.runner import Kind, Reads, Runner, cache_of, find_kind, runner_of
from coupling_core.trace import Block, at_one_row, at_one_token


@dataclass(frozen=True)
class Reader:
    """A model with the prompt that it reads.

    Args:
        runner: runs the stack that is measured.
        ids: what that stack reads, tokens or an image.
        kind: what its blocks turned out to be.
    """

    runner: Runner
    ids: Reads
    kind: Kind

    @property
    def n_blocks(self) -> int:
        """L, the number of blocks."""
        return len(self.runner.blocks)

    @cached_property
    def n_tokens(self) -> int:
        """Length of the prompt; of an image, the tokens that its model makes of it."""
        if self.runner.reads_tokens:
            return self.ids.shape[1]
        return self.whole()[0].hidden.shape[1]

    @property
    def token_ids(self) -> list[int]:
        """Of the prompt; of an image, the numbers of its tokens from 0."""
        return self.ids[0].tolist() if self.runner.reads_tokens else list(range(self.n_tokens))

    def whole(self, n: int | None = None) -> list[Call]:
        """Each block's call over the first n tokens at once (all, where n is None), uncached."""
        with torch.no_grad():
            ids = self.ids if n is None else self.ids[:, :n]
            return self.runner.run(ids, use_cache=False)[0]

    def step(self, first: int, last: int, cache: Any = None) -> tuple[list[Call], Any]:
        """Read tokens first..last (1..n) over the cache of those before.

        Returns:
            each block's call, and the cache with these tokens in it; None where the model keeps
            none.
        """
        given = {} if cache is None else {"past_key_values": cache}
        ids = self.ids[:, first - 1 : last]
        with torch.no_grad():
            calls, output = self.runner.run(ids, use_cache=True, **given, **self.runner.few_logits)
        return calls, cache_of(output)


@dataclass(frozen=True)
class Capture:
    """One block as it was met at one token.

    Args:
        block: the block as a function of that token.
        token: t, 1..n.
        call: the call itself: of this token alone over a cache of those before; None where the
            block ran over the whole prompt.
    """

    block: Block
    token: int
    call: Call | None


def read(
    model: nn.Module,
    reads: list[int] | Float[Tensor, "1 channel height width"],
    *,
    stack: Stack | None = None,
    device: torch.device | None = None,
    kind: Kind | None = None,
) -> Reader:
    """Prepare a model to read a prompt; the arguments are those of `trace.trace`.

    Raises:
        InputError: where the model has no blocks, or blocks that cannot be replayed.
    """
    runner, ids = runner_of(model, reads, stack, device)
    return Reader(runner, ids, kind or find_kind(runner, ids))


def decode(reader: Reader, blocks: Iterable[int], tokens: Iterable[int]) -> Iterator[list[Capture]]:
    """Capture chosen blocks at chosen tokens, token by token.

    Args:
        reader: the model and its prompt.
        blocks: their numbers, 1..L.
        tokens: 1..n.

    Yields:
        for each chosen token, in ascending order, its captures in the order of `blocks`.

    Raises:
        InputError: where a block or a token is out of range.
    """
    chosen, wanted = _in_range(reader, blocks, tokens)
    if not wanted:
        return
    cache = reader.step(1, wanted[0] - 1)[1] if reader.kind.causal and wanted[0] > 1 else None
    for token in range(wanted[0], wanted[-1] + 1) if reader.kind.causal else ():
        if cache is not None or token == 1:
            calls, cache = reader.step(token, token, cache)
        if cache is None:
            break  # the model keeps none
        if token in wanted:
            wanted.remove(token)
            yield _alone(calls, chosen, token)
    rows = [Rows(call) for call in reader.whole()] if wanted else []
    for token in wanted:
        yield [Capture(at_one_row(b, rows[b - 1], token), token, None) for b in chosen]


def with_context(
    reader: Reader, blocks: Iterable[int], token: int
) -> tuple[list[Capture], list[Call]]:
    """Capture chosen blocks at one token, together with their calls over all tokens before it.

    Returns:
        the captures, and the calls in the same order; without calls where there is no token before,
        or the model is not causal or keeps no cache.

    Raises:
        InputError: where a block or the token is out of range.
    """
    chosen, _ = _in_range(reader, blocks, [token])
    if reader.kind.causal and token > 1:
        before, cache = reader.step(1, token - 1)
        if cache is not None:
            calls, _ = reader.step(token, token, cache)
            return _alone(calls, chosen, token), [before[b - 1] for b in chosen]
    return next(decode(reader, chosen, [token])), []


def _alone(calls: list[Call], blocks: tuple[int, ...], token: int) -> list[Capture]:
    return [Capture(at_one_token(b, calls[b - 1]), token, calls[b - 1]) for b in blocks]


def _in_range(
    reader: Reader, blocks: Iterable[int], tokens: Iterable[int]
) -> tuple[tuple[int, ...], list[int]]:
    chosen, wanted = tuple(blocks), sorted(set(tokens))
    for number in chosen:
        if not 1 <= number <= reader.n_blocks:
            raise InputError(
                f"block {number} is out of range: this model has blocks 1..{reader.n_blocks}"
            )
    for token in wanted:
        if not 1 <= token <= reader.n_tokens:
            raise InputError(
                f"token {token} is out of range: this prompt has tokens 1..{reader.n_tokens}"
            )
    return chosen, wanted
