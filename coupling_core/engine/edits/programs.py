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
class Node:
    """A state that is reached: the steps that follow, and the programs that end with it."""

    following: "dict[Step, Node]" = field(default_factory=dict)
    ending: list[int] = field(default_factory=list)

    @property
    def blocks(self) -> list[tuple[int, ...]]:
        """What runs next, each once."""
        return list(dict.fromkeys(step.blocks for step in self.following))

    def add(self, steps: Program, number: int) -> None:
        """Add the steps of a program, by its number, to what follows."""
        node = self
        for step in steps:
            node = node.following.setdefault(step, Node())
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
        lasting: states that stay; they have the first rows (state token d).
        size: how many others are under way at once; one of each program is enough.
    """

    def __init__(self, lasting: Float[Tensor, "state token d"], size: int) -> None:
        self._lasting = len(lasting)
        self._rows = lasting.new_empty(len(lasting) + size, *lasting.shape[1:])
        self._rows[: len(lasting)] = lasting
        self._free = list(range(len(lasting), len(self._rows)))
        self._readers: dict[int, int] = {}

    def put(self, states: Float[Tensor, "state token d"], readers: Sequence[int]) -> list[int]:
        """Keep states until each was taken as often as it has readers; gives their rows."""
        rows = [self._free.pop() for _ in readers]
        self._rows[torch.tensor(rows)] = states
        self._readers |= zip(rows, readers, strict=True)
        return rows

    def take(self, rows: list[int]) -> Float[Tensor, "state token d"]:
        """States for one reader of each; where it was the last one, the row is free again."""
        found = self._rows[torch.tensor(rows)]
        for row in rows:
            if row < self._lasting:
                continue
            self._readers[row] -= 1
            if not self._readers[row]:
                self._free.append(row)
        return found


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
    roots = branches(programs, replays.n_blocks)
    _Walk(replays, roots, len(programs), finished, told).run()


def branches(programs: Sequence[Program], n_blocks: int) -> list[Node]:
    """Programs as a tree behind each of the states x^0 .. x^L of the unedited run."""
    roots = [Node() for _ in range(n_blocks + 1)]
    for number, program in enumerate(programs):
        shared = shared_steps(program)
        roots[shared].add(program[shared:], number)
    return roots


class _Walk:
    """A walk through all branches of programs, block by block."""

    def __init__(
        self,
        replays: Replays,
        roots: Sequence[Node],
        programs: int,
        finished: Callable[[int, Float[Tensor, "token d"]], None],
        told: Callable[[int, int], None],
    ) -> None:
        self._replays, self._finished, self._told = replays, finished, told
        self._total, self._done = sum(root.count() for root in roots), 0
        self._pool = _Pool(replays.states, programs + replays.at_once)
        self._waiting: dict[tuple[int, ...], list[tuple[Node, int]]] = defaultdict(list)
        for row, (root, state) in enumerate(zip(roots, replays.states, strict=True)):
            self._end([root], state[None])
            self._wait([root], [row])

    def run(self) -> None:
        """Until nothing waits."""
        blocks: tuple[int, ...] = ()
        while self._waiting:
            blocks = _next(self._waiting, blocks)
            for group in _groups(self._waiting.pop(blocks), self._replays.at_once):
                self._step(blocks, group)
                self._told(self._done, self._total)

    def _step(self, blocks: tuple[int, ...], group: list[tuple[Node, int]]) -> None:
        states = self._pool.take([row for _, row in group])
        outputs = [self._replays.run(block, states) for block in blocks]
        ways: dict[Step, list[tuple[int, Node]]] = defaultdict(list)
        for at, (node, _) in enumerate(group):
            for step, following in node.following.items():
                if step.blocks == blocks:
                    ways[step].append((at, following))
        for step, pairs in ways.items():
            some = torch.tensor([at for at, _ in pairs])
            given = after(step, states[some], [output[some] for output in outputs])
            self._reached([node for _, node in pairs], given)

    def _reached(self, nodes: list[Node], states: Float[Tensor, "node token d"]) -> None:
        self._done += len(nodes)
        self._end(nodes, states)
        going = [at for at, node in enumerate(nodes) if node.following]
        if going:
            on = [nodes[at] for at in going]
            self._wait(
                on, self._pool.put(states[torch.tensor(going)], [len(node.blocks) for node in on])
            )

    def _end(self, nodes: Sequence[Node], states: Float[Tensor, "node token d"]) -> None:
        for node, state in zip(nodes, states, strict=True):
            for number in node.ending:
                self._finished(number, state)

    def _wait(self, nodes: Sequence[Node], rows: Sequence[int]) -> None:
        for node, row in zip(nodes, rows, strict=True):
            for blocks in node.blocks:
                self._waiting[blocks].append((node, row))


def _next(waiting: Iterable[tuple[int, ...]], blocks: tuple[int, ...]) -> tuple[int, ...]:
    """The blocks whose turn it is: those after the last ones, and then from the first again."""
    later = [key for key in waiting if key > blocks]
    return min(later or waiting)


def _groups(items: list[tuple[Node, int]], size: int) -> Iterable[list[tuple[Node, int]]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
