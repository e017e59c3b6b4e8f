"""What a measurement takes of memory, estimated before it runs.

The terms are the tensors that are alive at the peak, by their sizes; the factors in front of them
were fitted to measured peaks, and `tests/measuring/test_memory.py` holds them against one.
"""

from dataclasses import replace
from typing import Any

from coupling_core.base.kinds import kind_of
from coupling_core.base.records import DEFAULT_K, Request
from coupling_core.engine.hardware import SMALL, choose_device, threads
from coupling_core.engine.jacobians.attention_heads import CHUNK
from coupling_core.engine.loading import FLOAT32_BYTES, SPARE, within_reach
from coupling_core.engine.pairs.products import SQUARES
from coupling_core.engine.pairs.square import IN_MEMORY
from coupling_core.measuring.cost import runs_of_a_token
from coupling_core.measuring.forecast import PROCESS, Crew, Fit, Memory, Probe

LIBRARIES = 100_000_000
"""Bytes that tokenizer, threads and code of the first run take."""

_QUANTISED = {"nf4": 0.5, "int8": 1.0}  # bytes a weight
FLOAT64_BYTES = 8
_ROUNDED = 2  # bytes a weight of the copy from which float32 is made; its memory is not given back


def fit(request: Request, found: Probe, tokens: int, device: str | None = None) -> Fit:
    """Hold a measurement against the memory that it may take."""
    place = choose_device(device)
    of: Any = (request, found, tokens, within_reach(place))
    on_cpu = place.type == "cpu"
    memory = estimate_memory(*of, on_cpu=on_cpu)
    if memory.fits:
        return Fit(memory, {}, 0)
    return Fit(memory, cheaper(*of, on_cpu=on_cpu), longest_prompt(*of, on_cpu=on_cpu))


def estimate_memory(
    request: Request,
    found: Probe,
    tokens: int,
    free: int,
    *,
    on_cpu: bool = True,
    cores: int | None = None,
) -> Memory:
    """Estimate the peak of a measurement.

    Free is what is free on the device that computes, and its cores are all that torch has in this
    process unless told. On a CPU, Jacobians that are too large go to the disk.
    """
    block = FLOAT32_BYTES * found.block_parameters
    work = LIBRARIES + _of_one(request, found, tokens, on_cpu=on_cpu)
    if request.quantize is not None:
        inside = (found.blocks or 0) * found.block_parameters
        outside = max(0, found.parameters - inside)
        weights = int(_QUANTISED[request.quantize] * inside) + FLOAT32_BYTES * outside
        return Memory(weights, work + block, free, streamed=False)
    whole = FLOAT32_BYTES * found.parameters
    # As `loading.load` decides it.
    if request.untrained is None and whole > (1 - SPARE) * free:
        return Memory(0, work + block, free, streamed=True)
    rounded = _ROUNDED * found.parameters if request.dtype != "float32" else 0
    if on_cpu:
        spare = free - whole - rounded - LIBRARIES
        others = workers(request, found, tokens, spare, cores or threads()) - 1
        work += others * _of_another(request, found, tokens)
    return Memory(whole + rounded, work, free, streamed=False)


def crew(
    request: Request, found: Probe, tokens: int, free: int, most: int, *, mapped: bool
) -> Crew:
    """How many processes of one core each measure side by side on a CPU.

    Each has memory left to load the model as the first one does; what is streamed from the disk is
    measured by one alone. Where float32 weights are `mapped` from their files, processes share
    them.
    """
    memory = estimate_memory(request, found, tokens, free, cores=1)
    shared = memory.weights if mapped else 0
    each = PROCESS + memory.needed - shared
    if memory.streamed:
        return Crew(1, each, shared)
    spare = free - max(shared + each, int(memory.weights / (1 - SPARE)))
    return Crew(max(1, min(most, 1 + spare // each)), each, shared)


def workers(request: Request, found: Probe, tokens: int, free: int, most: int) -> int:
    """How many blocks are measured side by side on a CPU; 1 in a kind that does not.

    What is `free` is for all of them, beside the weights.
    """
    each = _of_another(request, found, tokens)
    if not each or found.parameters <= SMALL:
        return 1
    spare = free - _of_one(request, found, tokens, on_cpu=True)
    return max(1, min(most, found.blocks or 1, 1 + spare // each))


def _of_one(request: Request, found: Probe, tokens: int, *, on_cpu: bool) -> int:
    """Bytes that a measurement takes, block after block."""
    return kind_of(request.kind).part("cost").memory(request, found, tokens, on_cpu=on_cpu)


def _of_another(request: Request, found: Probe, tokens: int) -> int:
    """Bytes that each block more takes at the same time; 0 in a kind that has one at a time."""
    beside = getattr(kind_of(request.kind).part("cost"), "memory_beside", None)
    return beside(request, found, tokens) if beside else 0


def cheaper(
    request: Request, found: Probe, tokens: int, free: int, *, on_cpu: bool = True
) -> dict[str, Any]:
    """The first change of the request that would fit; empty where none of them does.

    Quantised weights cannot be streamed, as plain ones are.
    """
    for change in ({"k": DEFAULT_K}, {"quantize": None}):
        other = replace(request, **change)
        if other == request:
            continue
        if estimate_memory(other, found, tokens, free, on_cpu=on_cpu).fits:
            return change
    return {}


def longest_prompt(
    request: Request, found: Probe, tokens: int, free: int, *, on_cpu: bool = True
) -> int:
    """How many tokens of a prompt that does not fit would; 0 where it is not its length."""

    def fits(fewer: int) -> bool:
        return estimate_memory(request, found, fewer, free, on_cpu=on_cpu).fits

    low, high = 0, tokens  # the longest that fits is in between
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def in_memory(count: int, width: int, *, on_cpu: bool) -> int:
    """Bytes of so many Jacobians; 0 where they go to the disk."""
    size = FLOAT32_BYTES * count * width**2
    return 0 if on_cpu and size > IN_MEMORY else size


def one_jacobian(request: Request, found: Probe, tokens: int) -> int:
    """Of taking a Jacobian and certifying its SVD: it, its projections and their products."""
    return 8 * FLOAT64_BYTES * (found.width or 0) ** 2 + _gradients(request, found, tokens)


def products(columns: int, d: int, k: int) -> int:
    """Of one Jacobian with so many bases, in both roles, and what is made of them."""
    squares = 3 * FLOAT64_BYTES * min(SQUARES, 2 * columns * k * k)
    return 2 * FLOAT32_BYTES * columns * k * (d + k) + squares


def _gradients(request: Request, found: Probe, tokens: int) -> int:
    """One batched pass: every direction has its share in each activation of a block.

    It is differentiated at one token, and meets each other one as a score of each head; or at all,
    where tokens are joined that read both ways.
    """
    d = found.width or 0
    activations = 2 * found.widest + 5 * d  # of a token: inside the MLP, and round it
    if runs_of_a_token(request, found, tokens) > 1:
        everything = 3 * tokens * activations // 4  # as measured: never all at once
    else:
        everything = activations + 10 * tokens * (found.heads or 1)
    return FLOAT32_BYTES * min(CHUNK, d) * everything
