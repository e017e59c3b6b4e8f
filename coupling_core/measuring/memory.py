"""What a measurement takes of memory, estimated before it runs.

The terms are the tensors that are alive at the peak, by their sizes; the factors in front of them
were fitted to measured peaks, and `tests/measuring/test_memory.py` holds them against one.
"""

from dataclasses import replace
from typing import Any

from coupling_core.base.definitions import DEFINITIONS
from coupling_core.base.records import DEFAULT_K, TOKEN_KINDS, Request
from coupling_core.base.results.token_means import GRID
from coupling_core.engine.hardware import choose_device
from coupling_core.engine.jacobians.attention_heads import CHUNK
from coupling_core.engine.loading import FLOAT32_BYTES, SPARE, within_reach
from coupling_core.engine.pairs.square import IN_MEMORY
from coupling_core.engine.pairs.token_coupling import kept_corner
from coupling_core.engine.pairs.token_means import AT_ONCE
from coupling_core.measuring.forecast import Fit, Memory, Probe

LIBRARIES = 100_000_000
"""Bytes that tokenizer, threads and code of the first run take."""

_QUANTISED = {"nf4": 0.5, "int8": 1.0}  # bytes a weight
FLOAT64_BYTES = 8
_ROUNDED = 2  # bytes a weight of the copy from which float32 is made; its memory is not given back


def fit(request: Request, found: Probe, tokens: int, device: str | None = None) -> Fit:
    """Hold a measurement against the memory that it may take.

    Args:
        request: what is to be measured.
        found: what its model is; it is not refused.
        tokens: length of the prompt.
        device: where it computes; None is the best device.

    Raises:
        InputError: where this machine has no such device.
    """
    place = choose_device(device)
    of: Any = (request, found, tokens, within_reach(place))
    on_cpu = place.type == "cpu"
    memory = estimate_memory(*of, on_cpu=on_cpu)
    if memory.fits:
        return Fit(memory, {}, 0)
    return Fit(memory, cheaper(*of, on_cpu=on_cpu), longest_prompt(*of, on_cpu=on_cpu))


def estimate_memory(
    request: Request, found: Probe, tokens: int, free: int, *, on_cpu: bool = True
) -> Memory:
    """Estimate the peak of a measurement.

    Args:
        request: what is to be measured.
        found: what its model is; it is not refused.
        tokens: length of the prompt.
        free: bytes free on the device that computes.
        on_cpu: whether that is main memory, where Jacobians that are too large go to the disk.
    """
    block = FLOAT32_BYTES * found.block_parameters
    work = _work(request, found, tokens, on_cpu=on_cpu)
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
    return Memory(whole + rounded, work, free, streamed=False)


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


def _work(request: Request, found: Probe, tokens: int, *, on_cpu: bool) -> int:
    if request.kind in TOKEN_KINDS:
        return _between_tokens(request, found, tokens, on_cpu=on_cpu)
    L, d = found.blocks or 0, found.width or 0
    k, view = min(request.k_max, d), min(request.corner, d)
    jacobians = FLOAT32_BYTES * L * d * d
    if on_cpu and jacobians > IN_MEMORY:
        jacobians = 0
    bases = 2 * FLOAT32_BYTES * L * d * k
    results = 8 * L * L * (4 * k + view * view)  # diagonals and corners, and a copy of them
    certificate = 8 * FLOAT64_BYTES * d * d  # J, its projections and their products
    one_block = certificate + _gradients(found, tokens)
    return LIBRARIES + jacobians + bases + results + max(_products(L, d, k), one_block)


def _between_tokens(request: Request, found: Probe, tokens: int, *, on_cpu: bool) -> int:
    """The same where tokens are compared: n Jacobians of each of two blocks, or of all."""
    L, d, n = found.blocks or 0, found.width or 0, tokens
    k, side = min(request.k_max, d), kept_corner(n, min(request.corner, d))
    blocks = L if request.block is None else 1  # of two, the other's bases are kept alone
    jacobians = FLOAT32_BYTES * blocks * n * d * d
    if on_cpu and jacobians > IN_MEMORY:
        jacobians = 0
    bases = 2 * FLOAT32_BYTES * blocks * n * k * d
    if request.block is None:
        results = 2 * FLOAT64_BYTES * n * n * 3 * 2 * len(DEFINITIONS) * (len(GRID) + 1)
        columns = min(AT_ONCE, L * n)
    else:
        results = 2 * n * n * (2 * 2 * FLOAT32_BYTES * k + 2 * 2 * side * side)  # and a copy
        columns = n
    at_once = 2 if request.kind == "fixed-output" else 0  # all inputs' Jacobians come together
    inputs = at_once * FLOAT32_BYTES * n * d * d
    one_block = 8 * FLOAT64_BYTES * d * d + _gradients(found, n)
    return (
        LIBRARIES + jacobians + bases + results + inputs + max(_products(columns, d, k), one_block)
    )


def _products(columns: int, d: int, k: int) -> int:
    """Of one Jacobian with so many bases, in both roles, and what is made of them."""
    return 2 * columns * k * (d * FLOAT32_BYTES + k * (FLOAT32_BYTES + 3 * FLOAT64_BYTES))


def _gradients(found: Probe, tokens: int) -> int:
    """One batched pass: every direction has its share in each activation of a block.

    A causal block is differentiated at one token, and meets each other one as a score of each head.
    """
    d = found.width or 0
    activations = 2 * found.widest + 5 * d  # of a token: inside the MLP, and round it
    if found.causal is False:
        everything = tokens * activations
    else:
        everything = activations + 10 * tokens * (found.heads or 1)
    return FLOAT32_BYTES * min(CHUNK, d) * everything
