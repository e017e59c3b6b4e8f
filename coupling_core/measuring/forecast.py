"""What is known of a measurement before it runs: what its model is, and what memory it takes.

Records alone, without torch: `probe` and `memory` find them out.
"""

from dataclasses import dataclass
from typing import Any

from coupling_core.base.records import Stack

PROCESS = 400_000_000
"""Bytes that a process takes for itself once it has imported the engine."""

_ATTENTION = {
    True: "causal",
    False: "bidirectional",
    None: "causal or not is found out when it runs",
}


@dataclass(frozen=True)
class Probe:
    """What a model is; None for what is not known.

    Args:
        name: of the model.
        architecture: the class of transformers that runs it.
        parameters: how many it has, shared ones counted once.
        stored: precision of its weights on the disk.
        longest: tokens that it takes at most; None also where nothing limits them.
        heads: attention heads of a block.
        stacks: both of an encoder-decoder model; none of any other.
        stack: which of the two is measured.
        blocks: L, of the measured stack.
        width: d, of its residual stream.
        block_parameters: of its largest block.
        widest: of the sides of a block's matrices, the longest.
        causal: whether no block's output depends on later tokens, by a gradient; None where that is
            found out when the model runs.
        refusal: why it cannot be measured; "" where nothing speaks against it.
    """

    name: str
    architecture: str
    parameters: int
    stored: str
    longest: int | None
    heads: int | None
    stacks: tuple[Stack, ...] = ()
    stack: Stack | None = None
    blocks: int | None = None
    width: int | None = None
    block_parameters: int = 0
    widest: int = 0
    causal: bool | None = None
    refusal: str = ""

    @property
    def outside(self) -> int:
        """Parameters that no block has: the vocabulary's, once or twice."""
        return max(0, self.parameters - (self.blocks or 0) * self.block_parameters)

    def facts(self) -> list[tuple[str, str]]:
        """What is known, as names and texts for people."""
        both = f"encoder and decoder; the {self.stack} is measured"
        shown = {
            "architecture": self.architecture,
            "parameters": f"{self.parameters:,}",
            "stored as": self.stored,
            "stacks": both if self.stack else "",
            "blocks": _number(self.blocks),
            "width d": _number(self.width),
            "heads": _number(self.heads),
            "attention": "" if self.blocks is None else _ATTENTION[self.causal],
            "longest prompt": f"{self.longest:,} tokens" if self.longest else "",
            "refused": self.refusal,
        }
        return [(name, text) for name, text in shown.items() if text]


@dataclass(frozen=True)
class Memory:
    """Bytes that a measurement takes, above what the program holds already.

    Args:
        weights: held in memory throughout; 0 where they are streamed.
        work: Jacobians, decompositions, matrices and, where it is lent, one block in float32.
        free: on the device, as far as it may be taken.
        streamed: whether the weights stay on the disk, memory-mapped, and are lent to one block at
            a time.
    """

    weights: int
    work: int
    free: int
    streamed: bool

    @property
    def needed(self) -> int:
        """At the peak."""
        return self.weights + self.work

    @property
    def fits(self) -> bool:
        """Whether there is enough."""
        return self.needed <= self.free


@dataclass(frozen=True)
class Crew:
    """Processes that measure side by side, and the bytes that they take.

    Args:
        processes: how many.
        each: bytes that one takes for itself.
        shared: bytes of weights that all of them have mapped from the same files.
    """

    processes: int
    each: int
    shared: int

    @property
    def needed(self) -> int:
        """Bytes of all."""
        return self.shared + self.processes * self.each


@dataclass(frozen=True)
class Fit:
    """Whether a measurement fits on a device, and what would where it does not.

    Args:
        memory: that it takes.
        changes: of the request with which it would fit; empty where it does, or none helps.
        longest: tokens of a prompt that would fit; 0 where it does, or none would.
    """

    memory: Memory
    changes: dict[str, Any]
    longest: int

    @property
    def remedy(self) -> str:
        """What would fit, or what else may help."""
        if self.changes:
            return "it would fit with " + ", ".join(f"{k} = {v}" for k, v in self.changes.items())
        if self.longest:
            return f"a prompt of at most {self.longest} tokens would fit"
        return "choose a smaller model, or another device"


def _number(value: int | None) -> str:
    return "" if value is None else str(value)
