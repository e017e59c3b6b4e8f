"""Blocks run again on other states, many sequences at a time.

A block takes more than its states: masks, positions, biases, some of them shaped by how many
sequences there are. So a call of several sequences is not made up, but captured from a run of the
model over so many copies of the prompt. Whether a block then treats each sequence by itself is
tried; where one does not, sequences are run one at a time.
"""

from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from coupling_core.base.edits import Step
from coupling_core.base.memory import is_out_of_memory
from coupling_core.engine.hardware import usable_memory
from coupling_core.engine.jacobians.captured_block import distance
from coupling_core.engine.jacobians.captured_calls import Call, capturing
from coupling_core.engine.jacobians.decode import Reader
from coupling_core.engine.loading import Wrapped
from coupling_core.engine.matrix_products import FastLinear
from coupling_core.engine.out_of_memory import relieve

AT_ONCE = {"cpu": 2048}
"""Tokens that are run at once on a processor: more of them leave its caches, and gain nothing."""
MOST_AT_ONCE = 65536
"""The same on a GPU."""
SHARE = 0.25
"""Of the free memory, for what a block computes on its way."""
SAME = {torch.float32: 1e-4, torch.float64: 1e-10}
"""How far a sequence among others may be from the same one alone, relative to its norm."""


class Replays:
    """The blocks of a model, captured as it read a prompt, to be run on other states.

    Args:
        reader: the model and its prompt.
        at_once: most sequences that are run at once; None takes as many as memory allows.
    """

    def __init__(self, reader: Reader, at_once: int | None = None) -> None:
        self.reader = reader
        calls = reader.whole
        self.states = torch.stack([calls[0].hidden[0], *(call.output[0] for call in calls)])
        """x^0 .. x^L of the unedited run (state token d)."""
        self._calls = {1: calls}
        self.at_once = 1
        """Sequences that are run at once, a power of two."""
        self.why_single = _one_sequence(reader)
        """Why they are run one at a time; "" where they are not."""
        if not self.why_single:
            self._enlarge(at_once or _room(reader, calls))

    @property
    def n_blocks(self) -> int:
        """L."""
        return len(self.states) - 1

    def call(self, block: int) -> Call:
        """The block's call in the unedited run (1..L)."""
        return self._calls[1][block - 1]

    def step(
        self, step: Step, states: Float[Tensor, "sequence token d"]
    ) -> Float[Tensor, "sequence token d"]:
        """What a step of an edit makes of states: x + a * mean of f^m(x)."""
        return after(step, states, [self.run(block, states) for block in step.blocks])

    def run(
        self, block: int, states: Float[Tensor, "sequence token d"]
    ) -> Float[Tensor, "sequence token d"]:
        """What block m gives for other states, F^m(X), all else as in its own call."""
        found, start = torch.empty_like(states), 0
        while start < len(states):
            size = min(self.at_once, _power_of_two(len(states) - start))
            try:
                part = self._run(block, states[start : start + size])
            except (MemoryError, RuntimeError) as error:
                if not is_out_of_memory(error) or size == 1:
                    raise
                self.at_once = size // 2
            else:
                found[start : start + size] = part
                start += size
                continue
            self._calls = {n: calls for n, calls in self._calls.items() if n <= self.at_once}
            relieve()
        return found

    def _run(self, block: int, states: Float[Tensor, "sequence token d"]) -> Tensor:
        with torch.no_grad(), FastLinear():
            return self._of(len(states))[block - 1].replay(states)

    def _of(self, size: int) -> list[Call]:
        """Each block's call with so many sequences."""
        if size not in self._calls:
            self._calls[size] = _captured(self.reader, size)
        return self._calls[size]

    def _enlarge(self, most: int) -> None:
        """Run as many at once as may be, where each sequence is then what it is alone."""
        self.at_once = _power_of_two(max(1, most))
        if self.at_once == 1:
            return
        try:
            off = max(self._off(size) for size in {2, self.at_once})
            told = f"blocks give other states to several sequences at once, by {off:.1e}"
            mixed = not off <= SAME.get(self.states.dtype, 0.0)
        except Exception as error:  # models refuse to run so in many ways
            if is_out_of_memory(error):
                relieve()
                self._enlarge(self.at_once // 2)
                return
            told, mixed = f"several sequences at once cannot be run: {type(error).__name__}", True
        if mixed:
            self.at_once, self.why_single = 1, told
            self._calls = {1: self._calls[1]}

    def _off(self, size: int) -> float:
        """How far the first and the last of so many different sequences are from them alone."""
        L, worst = self.n_blocks, 0.0
        for block in range(1, L + 1):
            rows = torch.tensor([(block - 1 + row) % L for row in range(size)])
            states = self.states[rows]
            together = self._run(block, states)
            for row in (0, size - 1):
                worst = max(worst, distance(together[row], self._run(block, states[row, None])[0]))
        return worst


def after(step: Step, states: Tensor, outputs: list[Tensor]) -> Tensor:
    """The states behind a step, from what its blocks gave for those before it.

    With one block and factor 1 that is what the block gave, to the bit.
    """
    if len(outputs) == 1 and step.factor == 1:
        return outputs[0]
    maps = [output - states for output in outputs]
    return states + step.factor * (torch.stack(maps).mean(0) if len(maps) > 1 else maps[0])


def _captured(reader: Reader, size: int) -> list[Call]:
    """The calls of a run over so many copies of the prompt; the states themselves are not kept."""
    runner, ids = reader.runner, reader.ids
    with torch.no_grad(), capturing(runner.blocks) as calls:
        copies = ids.expand(size, *ids.shape[1:])
        runner(copies, use_cache=False, **runner.few_logits)
    return [_without_states(call) for call in calls]


def _without_states(call: Call) -> Call:
    """A call whose own states are gone; those of other calls are given to it."""
    bare = call.hidden.new_empty(0)
    args, kwargs = call.arguments(bare)
    return replace(call, args=args, kwargs=kwargs, output=bare)


def _one_sequence(reader: Reader) -> str:
    if reader.runner.given:
        return "what the encoder said is held for one sequence"
    if isinstance(reader.runner.model, Wrapped):
        return "a wrapped module is asked for one sequence at a time"
    return ""


def _room(reader: Reader, calls: list[Call]) -> int:
    """How many sequences may be run at once, by what a block computes on its way."""
    _, n, d = calls[0].hidden.shape
    config = getattr(reader.runner.model, "config", None)
    heads = getattr(config.get_text_config() if config else None, "num_attention_heads", 1)
    widest = max(
        (max(p.shape, default=0) for call in calls for p in call.module.parameters()), default=d
    )
    heads = heads if isinstance(heads, int) else 1
    each = calls[0].hidden.element_size() * (n * (2 * widest + 8 * d) + 3 * heads * n * n)
    free = int(SHARE * usable_memory(reader.device)) // each
    return min(free, max(1, AT_ONCE.get(reader.device.type, MOST_AT_ONCE) // n))


def _power_of_two(most: int) -> int:
    """The largest power of two that is no more; 1 at least."""
    return 1 << (max(1, most).bit_length() - 1)
