"""A penalty on the coupling of a model's blocks, of the forward pass that was just made.

    g^{ll'}_k = u_k^{l'T} J^l v_k^{l'}        alignment of a pair: the mean over k of g_k / s_k^l

at one token of every sequence, with the bases of l' and the singular values of l held fixed. Its
gradient goes through J^l, which is differentiated a second time. 1 is what coupled blocks have, 0
what blocks have by chance.

    raise   mean of 1 - alignment
    lower   mean of alignment^2: to chance, and not beyond it, where directions are opposed
    hold    mean of (alignment - value)^2
"""

from dataclasses import replace
from itertools import permutations
from typing import Any

import torch
from torch import Tensor, nn

from coupling_core.base.blocks import Blocks, blocks_of
from coupling_core.base.errors import InputError
from coupling_core.base.records import Goal, Stack, resolve_blocks
from coupling_core.engine.jacobians.captured_calls import Call
from coupling_core.engine.loading import Wrapped, find_blocks, measurable
from coupling_core.engine.penalty.bases import Bases, leading
from coupling_core.engine.penalty.linear import Linear
from coupling_core.engine.penalty.watched import Watched, spread
from coupling_core.engine.plain_torch import plain_defaults


class CouplingPenalty:
    """The penalty; called once after each forward pass of training. See `coupling_penalty`.

    Args:
        blocks: of the model that may be drawn, by their numbers 1..L.
        goal: "raise", "lower", or a value to hold the alignment at.
        pairs: l != l' drawn at each step.
        k: leading components that are averaged.
        sequences: so many of each batch, evenly over it.
        refresh: steps after which bases are followed again.
        power_steps: each time.
        seed: of what is drawn; with the step's number it tells all of it.
    """

    def __init__(
        self,
        blocks: dict[int, nn.Module],
        goal: Goal,
        pairs: int,
        k: int,
        sequences: int,
        refresh: int,
        power_steps: int,
        seed: int,
    ) -> None:
        self.step = 0
        self.alignment = float("nan")
        self._blocks, self._goal = blocks, goal
        self._pairs, self._k, self._refresh, self._power = pairs, k, refresh, power_steps
        self._sequences, self._seed = sequences, seed
        self._watched = Watched(list(blocks.values()))
        self._bases: dict[int, Bases] = {}

    def __repr__(self) -> str:
        return (
            f"CouplingPenalty(goal {self._goal!r}, {self._pairs} pairs of {len(self._blocks)} "
            f"blocks a step, k = {self._k}, step {self.step})"
        )

    @plain_defaults()
    def __call__(self, valid: Tensor | None = None) -> Tensor:
        """The penalty of the last forward pass, to be added to its loss with a weight.

        Args:
            valid: (sequence token) whether a token counts, where sequences are padded: a token is
                drawn that counts in all of them. None has every token count.

        Returns:
            a number with a graph, in the precision of the model's weights or float32.

        Raises:
            InputError: where no forward pass was made in training mode since the last call, or k
                exceeds the width of the model.
        """
        calls = {
            number: self._kept(Call(block, *call, torch.empty(0)))
            for (number, block), call in zip(
                self._blocks.items(), self._watched.take(), strict=True
            )
        }
        self._require_k(next(iter(calls.values())).hidden.shape[-1])
        generator = torch.Generator().manual_seed(self._seed * 10**6 + self.step)
        token = self._token(calls, valid, generator)
        pairs = self._draw(generator)
        self._follow({number for pair in pairs for number in pair}, calls, token, generator)
        found = []
        for number in sorted({block for block, _ in pairs}):
            linear = self._linear(number, calls, token, attached=True)
            for block, basis in pairs:
                if block == number:
                    found.append(self._aligned(linear, block, basis))
        alignment = torch.stack(found)
        self.alignment = float(alignment.detach().mean())
        self.step += 1
        return _cost(alignment, self._goal)

    def close(self) -> None:
        """Look at the model no longer."""
        self._watched.close()

    def _require_k(self, width: int) -> None:
        if self._k > width:
            raise InputError(
                f"k is {self._k}, and the model has a width of {width}: a Jacobian has no more "
                "directions; a few, such as 4, are enough"
            )

    def _kept(self, call: Call) -> Call:
        """A call with the sequences alone that count."""
        of = len(call.hidden)
        count = min(self._sequences, of)
        args, kwargs = (spread(given, count, of) for given in (call.args, call.kwargs))
        return replace(call, args=args, kwargs=kwargs)

    def _token(
        self, calls: dict[int, Call], valid: Tensor | None, generator: torch.Generator
    ) -> int:
        """The index of the token that this step is about, the same in all sequences."""
        first = next(iter(calls.values()))
        counted = torch.ones(first.hidden.shape[1], dtype=torch.bool)
        if valid is not None:
            count = min(self._sequences, len(valid))
            counted = spread(valid, count, len(valid)).bool().all(0).cpu()
        places = counted.nonzero().flatten()
        if not len(places):
            raise InputError("no token counts in all sequences of the batch: sort them by length")
        return int(places[torch.randint(len(places), (), generator=generator)])

    def _draw(self, generator: torch.Generator) -> list[tuple[int, int]]:
        every = list(permutations(self._blocks, 2))
        chosen = torch.randperm(len(every), generator=generator)[: self._pairs]
        return [every[at] for at in chosen.tolist()]

    def _follow(
        self, numbers: set[int], calls: dict[int, Call], token: int, generator: torch.Generator
    ) -> None:
        """Bring the bases of blocks up to date."""
        for number in sorted(numbers):
            if number in self._bases and self.step % self._refresh:
                continue
            linear = self._linear(number, calls, token, attached=False)
            known = self._bases.get(number)
            self._bases[number] = leading(linear, self._k, known, self._power, generator)

    def _linear(self, number: int, calls: dict[int, Call], token: int, *, attached: bool) -> Linear:
        return Linear(calls[number], token, attached=attached)

    def _aligned(self, linear: Linear, block: int, basis: int) -> Tensor:
        """(sequence) the alignment of one pair."""
        other, k = self._bases[basis], self._k
        s = self._bases[block].s[:, :k]
        products = linear.backward(other.u[..., :k], keep_graph=True)
        gains = (products * other.v[..., :k]).sum(1)
        return (gains / s.clamp_min(torch.finfo(s.dtype).tiny)).mean(1)


def _cost(alignment: Tensor, goal: Goal) -> Tensor:
    if goal == "raise":
        return (1 - alignment).mean()
    target = 0.0 if goal == "lower" else float(goal)
    return (alignment - target).square().mean()


def coupling_penalty(
    model: Any,
    *,
    goal: Goal = "raise",
    blocks: Blocks = None,
    pairs: int = 4,
    k: int = 4,
    sequences: int = 1,
    refresh: int = 1,
    power_steps: int = 2,
    seed: int = 0,
    stack: Stack | None = None,
) -> CouplingPenalty:
    """Push the coupling of a model's blocks while it trains.

        penalty = coupling_penalty(model, goal="raise")
        for batch in data:
            loss = model(**batch).loss
            (loss + 0.1 * penalty()).backward()

    What is pushed is the alignment a of pairs of different blocks l, l' at one token of some
    sequences of the batch: the mean over the leading k directions of A_kk / s_k, with
    A = U_l'^T J^l V_l'. Each direction weighs the same here, where the score `alignment` is
    trace(A) / sum(s). The penalty is the mean over the pairs of 1 - a to raise it, of a^2 to lower
    it, and of (a - goal)^2 to hold it. Pairs and token are drawn anew at each step. The final norm
    is left out of the last block. The model may be compiled block by block, in autocast, or
    checkpoint its gradients with `use_reentrant=False`.

    Args:
        model: of transformers, or what `wrap` gives; its weights are trained by you.
        goal: "raise" to 1, "lower" to what chance gives, or a value to hold it at.
        blocks: those that may be drawn: "9-16", a range, a list of numbers; None is all.
        pairs: of blocks l != l' at each step.
        k: leading singular directions that are averaged; few, since far down s_k is near 0.
        sequences: so many of each batch, evenly over it: what it costs goes with them. Of several
            processes, each takes so many of its own part.
        refresh: steps after which the directions are followed again.
        power_steps: each time; 2 follow what a step of training moves.
        seed: of what is drawn.
        stack: of an encoder-decoder model; None is its decoder.

    Raises:
        InputError: where the model has no blocks that are known, or a number makes no sense.
    """
    is_goal = goal in ("raise", "lower") or (isinstance(goal, int | float) and -1 <= goal <= 1)
    if not is_goal or min(pairs, k, sequences, refresh) < 1:
        raise InputError(
            "expected 'raise', 'lower' or a value from -1 to 1 as goal, and 1 or more as pairs, k, "
            f"sequences and refresh; {goal!r}, {pairs}, {k}, {sequences} and {refresh} came"
        )
    found = model.blocks if isinstance(model, Wrapped) else find_blocks(measurable(model), stack)
    chosen = resolve_blocks(blocks_of(blocks or None, len(found)), len(found))
    if len(chosen) < 2:
        raise InputError("coupling is between two blocks or more, and fewer were chosen")
    own = {number: found[number - 1] for number in chosen}
    return CouplingPenalty(own, goal, pairs, k, sequences, refresh, power_steps, seed)
