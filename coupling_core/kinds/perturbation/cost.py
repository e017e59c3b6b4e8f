"""What a measurement of noise takes."""

from coupling_core.base.records import Request
from coupling_core.base.results.perturbation import WAYS
from coupling_core.engine.edits.replays import AT_ONCE
from coupling_core.engine.loading import FLOAT32_BYTES
from coupling_core.engine.perturbation import DRAWS
from coupling_core.kinds.perturbation.compose import SIZES
from coupling_core.measuring.cost import jacobians_alone
from coupling_core.measuring.forecast import Probe
from coupling_core.measuring.memory import FLOAT64_BYTES, in_memory, one_jacobian

SEQUENCES = len(WAYS) * len(SIZES) * DRAWS


def operations(request: Request, found: Probe, n: int) -> dict[str, float]:
    """Operations of each part, and how often things are done, with a prompt of n tokens."""
    L, d = found.blocks or 0, found.width or 0
    return {
        **jacobians_alone(request, found, n),
        "replays": 2.0 * n * found.block_parameters * L * SEQUENCES,
        "scores": 4.0 * n * n * d * L * SEQUENCES,
        "linear": 2.0 * d * d * L * SEQUENCES,
    }


def memory(request: Request, found: Probe, n: int, *, on_cpu: bool) -> int:
    """Bytes at the peak, above the libraries and the weights."""
    L, d, heads = found.blocks or 0, found.width or 1, found.heads or 1
    rows = max(1, AT_ONCE["cpu"] // n) * n
    inside = FLOAT32_BYTES * rows * (2 * found.widest + 8 * d + 3 * heads * n)
    results = 5 * FLOAT32_BYTES * SEQUENCES * (L + 1)
    beside = max(memory_beside(request, found, n), inside + FLOAT64_BYTES * 2 * d * d)
    return in_memory(L, d, on_cpu=on_cpu) + results + beside


def memory_beside(request: Request, found: Probe, n: int) -> int:
    """Bytes that each block takes for itself while several are measured side by side."""
    return one_jacobian(request, found, n)
