"""Every block at many tokens, from one pass over the prompt.

A causal model reads the prompt once and keeps what it read; each token is then run alone, over what
was kept of those before it, and captured as it is met. Its states are compared with those that the
whole sequence gave: where they differ, and where a model is not causal or keeps nothing, each token
is a row of one run over the whole sequence.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from coupling_core.base.errors import CouplingError
from coupling_core.base.records import Stack
from coupling_core.engine.jacobians.captured_block import Block, at_one_row, at_one_token
from coupling_core.engine.jacobians.captured_calls import Call
from coupling_core.engine.jacobians.one_row import Rows
from coupling_core.engine.jacobians.runner import Prompt, Reads, Run, Runner, runner_of
from coupling_core.engine.jacobians.stack_properties import Kind, apart_at, find_kind, same
from coupling_core.engine.loading import class_name
from coupling_core.engine.plain_torch import plain_torch
from coupling_core.engine.ways_taken import note


@dataclass(frozen=True)
class Moment:
    """All blocks at one token.

    Args:
        token: 1..n.
        blocks: in order.
        calls: of the blocks with this token alone; none where they ran over the whole sequence.
        logits: of the model's head at this token, or of the classes of an image; None without one.
    """

    token: int
    blocks: list[Block]
    calls: list[Call]
    logits: Float[Tensor, " vocabulary"] | None


@dataclass(frozen=True, repr=False)
class Reader:
    """A model with the prompt that it reads.

    Args:
        runner: runs the stack that is measured.
        ids: what that stack reads, tokens or an image.
        kind: what its blocks turned out to be.
        fast: whether ways other than the definition's are taken where they give the same.
    """

    runner: Runner
    ids: Reads
    kind: Kind
    fast: bool = True

    def __repr__(self) -> str:
        read = f"{self.ids.shape[1]} tokens" if self.runner.reads_tokens else "an image"
        return f"Reader({class_name(self.runner.model)}, {self.n_blocks} blocks, {read})"

    @property
    def n_blocks(self) -> int:
        """L, the number of blocks."""
        return len(self.runner.blocks)

    @cached_property
    def n_tokens(self) -> int:
        """Length of the prompt; of an image, the tokens that its model makes of it."""
        if self.runner.reads_tokens:
            return self.ids.shape[1]
        return self._whole.calls[0].hidden.shape[1]

    @property
    def token_ids(self) -> list[int]:
        """Of the prompt; of an image, the numbers of its tokens from 0."""
        return self.ids[0].tolist() if self.runner.reads_tokens else list(range(self.n_tokens))

    @property
    def width(self) -> int:
        """d, of the residual stream."""
        return self.run.calls[0].hidden.shape[-1]

    @property
    def device(self) -> torch.device:
        """Where the model computes."""
        return self.run.calls[0].hidden.device

    @property
    def _is_read(self) -> bool:
        return self.kind.causal and not self._why_whole

    @property
    def whole(self) -> list[Call]:
        """Each block's call over the whole sequence, as the definition says."""
        return self._whole.calls

    @plain_torch()
    def at(self, token: int) -> Moment:
        """All blocks at one token."""
        if self._is_read and (run := self._alone(token)) is not None:
            blocks = [at_one_token(number, call) for number, call in enumerate(run.calls, 1)]
            return Moment(token, blocks, run.calls, self._logits(run, -1))
        rows = [at_one_row(b, rows, token, fast=self.fast) for b, rows in enumerate(self._rows, 1)]
        return Moment(token, rows, [], self._logits(self._whole, token - 1))

    def before(self, token: int) -> list[Call]:
        """Each block's call over the tokens before one (1..n), which keeps what it read."""
        return self.runner.reading(self.ids[:, : token - 1]).calls

    @property
    def run(self) -> Run:
        """The run over the whole sequence that all else begins with: what is kept, or nothing."""
        return self._read if self._is_read else self._whole

    @property
    def _why_whole(self) -> str:
        return self.kind.why_whole if self.fast else "as asked"

    def _alone(self, token: int) -> Run | None:
        """The run of one token alone; None where it is not what the whole sequence gives."""
        try:
            run = self.runner.alone(self.ids, token, self._read)
            off = apart_at(run, self._read, token)
        except CouplingError:
            off = inf
        if off > same(self._read):
            note("no token alone", f"its states are off by {off:.1e}")
            return None
        note("one token over a cache")
        return run

    @cached_property
    def _read(self) -> Run:
        return self.runner.reading(self.ids)

    @cached_property
    def _whole(self) -> Run:
        return self.runner.whole(self.ids)

    @cached_property
    def _rows(self) -> list[Rows]:
        # Nothing vouches for one row of a causal model, whose kind was found with a cache.
        why = self._why_whole or "no token alone" * self.kind.causal
        return [Rows(call, why) for call in self._whole.calls]

    def _logits(self, run: Run, row: int) -> Float[Tensor, " vocabulary"] | None:
        if self.runner.reads_tokens:
            found = self.runner.next_token(run.output)
            return None if found is None else self._at(found[0], row)
        return run.logits[0] if run.logits is not None and run.logits.ndim == 2 else None

    def _at(self, logits: Float[Tensor, "token vocabulary"], row: int) -> Tensor | None:
        """Those of one row; where the last token's alone were asked of the head, of that one."""
        if len(logits) == 1:
            return logits[0] if row in (-1, self.n_tokens - 1) else None
        return logits[row]


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


@plain_torch()
def read(
    model: Any,
    reads: Prompt,
    *,
    stack: Stack | None = None,
    device: torch.device | None = None,
    kind: Kind | None = None,
    fast: bool = True,
) -> Reader:
    """Prepare a model to read a prompt.

    Args:
        model: a transformers model, what `wrap` returns, or what wraps one of these; in evaluation
            mode.
        reads: the prompt: its token ids as a list, a tuple, or an array or tensor of shape (token)
            or (1 token); or an image as the model takes it (1 channel height width).
        stack: which stack of an encoder-decoder model; None is the decoder there. The encoder
            reads the prompt, and the decoder the prompt shifted right by its start token.
        device: where the model computes; None is where its weights are.
        kind: what an earlier prompt found of this very stack; None finds it out.
        fast: whether ways other than the definition's are taken where they give the same.

    Raises:
        InputError: where the model has no blocks, or blocks that cannot be replayed.
        ComputeError: where the model's own code fails.
    """
    runner, ids = runner_of(model, reads, stack, device)
    return Reader(runner, ids, kind or find_kind(runner, ids), fast)


def decode(reader: Reader, blocks: Iterable[int], tokens: Iterable[int]) -> Iterator[list[Capture]]:
    """For each of some tokens, ascending, what chosen blocks read there, in the blocks' order."""
    chosen = tuple(blocks)
    for token in sorted(set(tokens)):
        yield _captures(reader.at(token), chosen)


def with_context(
    reader: Reader, blocks: Iterable[int], token: int
) -> tuple[list[Capture], list[Call]]:
    """Capture chosen blocks at one token, together with their calls over all tokens before it.

    Returns:
        the captures, and the calls in the same order; without calls where there is no token before,
        or the blocks ran over the whole sequence.
    """
    chosen = tuple(blocks)
    moment = reader.at(token)
    captures = _captures(moment, chosen)
    if not moment.calls or token == 1:
        return captures, []
    before = reader.before(token)
    return captures, [before[b - 1] for b in chosen]


def _captures(moment: Moment, blocks: tuple[int, ...]) -> list[Capture]:
    return [
        Capture(moment.blocks[b - 1], moment.token, moment.calls[b - 1] if moment.calls else None)
        for b in blocks
    ]
