"""What a depth-wise measurement takes."""

from coupling_core.base.records import Request
from coupling_core.engine.loading import FLOAT32_BYTES
from coupling_core.measuring.cost import jacobians
from coupling_core.measuring.forecast import Probe
from coupling_core.measuring.memory import in_memory, one_jacobian, products


def operations(request: Request, found: Probe, n: int) -> dict[str, float]:
    """Operations of each part, and how often things are done, with a prompt of n tokens."""
    L = found.blocks or 0
    return jacobians(request, found, n, L, L, L * L, L) | {"context": 0.0}


def memory(request: Request, found: Probe, n: int, *, on_cpu: bool) -> int:
    """Bytes at the peak, above the libraries and the weights."""
    L, d = found.blocks or 0, found.width or 0
    k, view = min(request.k_max, d), min(request.corner, d)
    bases = 2 * FLOAT32_BYTES * L * d * k
    results = 8 * L * L * (4 * k + view * view)  # diagonals and corners, and a copy of them
    at_once = memory_beside(request, found, n)
    return in_memory(L, d, on_cpu=on_cpu) + bases + results + at_once


def memory_beside(request: Request, found: Probe, n: int) -> int:
    """Bytes that each block takes for itself while several are measured side by side."""
    L, d = found.blocks or 0, found.width or 0
    k = min(request.k_max, d)
    # A block is compared with more bases each time, and where the last products lay is too small.
    return max(2 * products(L, d, k), one_jacobian(request, found, n))
