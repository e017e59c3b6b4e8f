"""Many edits at once: what they share is run once, and equal blocks run together.

An edit is a program of steps. Up to its first edited slot it shares the states of the unedited run;
where two edits go on alike from there (a replacement, and an interchange that begins with it), they
share those steps too: the programs are laid out as a tree. Its branches are walked block by block:
all states that wait for the same block are run by it together, through the model once, and again
while any are left.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from coupling_core.base.edits import Step
from coupling_core.engine.edits.replays import Replays, after

Program = tuple[Step, ...]


@dataclass(eq=False)
class _Node:
    """A state that is reached: the steps that follow, and the programs that end with it."""

    following: "dict[Step, _Node]" = field(default_factory=dict)
    ending: list[int] = field(default_factory=list)

    @property
    def blocks(self) -> list[tuple[int, ...]]:
        """What runs next, each once."""
        return list(dict.fromkeys(step.blocks for step in self.following))

    def add(self, steps: Program, number: int) -> None:
        node = self
        for step in steps:
            node = node.following.setdefault(step, _Node())
        node.ending.append(number)

    def count(self) -> int:
        """How many steps are run from here on."""
        found, waiting = 0, [self]
        while waiting:
            node = waiting.pop()
            found += len(node.following)
            waiting += node.following.values()
        return found


class _Pool:
    """States under way, in one piece of memory.

    Thousands of small tensors, made and let go between large ones, would leave holes that no large
    one fits into: gigabytes of them.

    Args:
        like: a state (token d).
        size: how many are under way at once; one of each program is enough.
    """

    def __init__(self, like: Float[Tensor, "token d"], size: int) -> None:
        self._rows = like.new_empty(size, *like.shape)
        self._free = list(range(size))
        self._held: dict[int, tuple[int, int]] = {}

    def put(self, node: _Node, state: Float[Tensor, "token d"]) -> Tensor:
        """Keep the state of a node until it was taken as often as it has blocks to run."""
        row = self._free.pop()
        self._held[id(node)] = (row, len(node.blocks))
        return self._rows[row].copy_(state)

    def taken(self, node: _Node) -> None:
        """Say that one of the blocks behind a node has run; roots are not kept here."""
        if id(node) in self._held:
            row, left = self._held.pop(id(node))
            if left > 1:
                self._held[id(node)] = (row, left - 1)
            else:
                self._free.append(row)


def shared_steps(program: Program) -> int:
    """How many steps a program begins with that are those of the unedited model."""
    plain = (step == Step((slot,)) for slot, step in enumerate(program, 1))
    return next((at for at, same in enumerate(plain) if not same), len(program))


def run_programs(
    replays: Replays,
    programs: Sequence[Program],
    finished: Callable[[int, Float[Tensor, "token d"]], None],
    told: Callable[[int, int], None] = lambda done, total: None,
) -> None:
    """Run programs, as many of their steps together as may be.

    Args:
        replays: of the model's blocks.
        programs: to be run; equal ones are run once.
        finished: is given the number of each program, and its last state, which it copies.
        told: after each batch, how many steps are done, and of how many.
    """
    roots = [_Node() for _ in replays.states]
    for number, program in enumerate(programs):
        shared = shared_steps(program)
        roots[shared].add(program[shared:], number)
    total, done = sum(root.count() for root in roots), 0
    waiting: dict[tuple[int, ...], list[tuple[_Node, Tensor]]] = defaultdict(list)
    pool = _Pool(replays.states[0], len(programs) + replays.at_once)

    def reached(node: _Node, state: Tensor, *, is_root: bool = False) -> None:
        for number in node.ending:
            finished(number, state)
        kept = pool.put(node, state) if node.following and not is_root else state
        for blocks in node.blocks:
            waiting[blocks].append((node, kept))

    for root, state in zip(roots, replays.states, strict=True):
        reached(root, state, is_root=True)
    blocks: tuple[int, ...] = ()
    while waiting:
        blocks = _next(waiting, blocks)
        for group in _groups(waiting.pop(blocks), replays.at_once):
            states = torch.stack([state for _, state in group])
            outputs = [replays.run(block, states) for block in blocks]
            for row, (node, _) in enumerate(group):
                pool.taken(node)
                given = [output[row] for output in outputs]
                for step, following in node.following.items():
                    if step.blocks == blocks:
                        reached(following, after(step, states[row], given))
                        done += 1
            told(done, total)


def _next(waiting: Iterable[tuple[int, ...]], blocks: tuple[int, ...]) -> tuple[int, ...]:
    """The blocks whose turn it is: those after the last ones, and then from the first again."""
    later = [key for key in waiting if key > blocks]
    return min(later or waiting)


def _groups(items: list[tuple[_Node, Tensor]], size: int) -> Iterable[list[tuple[_Node, Tensor]]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
