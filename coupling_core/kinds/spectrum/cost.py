"""What a measurement of spectra takes."""

from coupling_core.base.records import Request
from coupling_core.engine.spectrum import SHUFFLES
from coupling_core.measuring.cost import jacobians_alone
from coupling_core.measuring.forecast import Probe
from coupling_core.measuring.memory import FLOAT64_BYTES, in_memory, one_jacobian

_EIGEN = 25.0
"""Operations of all eigenvalues and eigenvectors, in units of d^3."""


def operations(request: Request, found: Probe, n: int) -> dict[str, float]:
    """Operations of each part, and how often things are done, with a prompt of n tokens."""
    L, d = found.blocks or 0, found.width or 0
    return {
        **jacobians_alone(request, found, n),
        "eigenvalues": _EIGEN * d**3 * L,
        "products": 2.0 * d**3 * (L * L + L * (SHUFFLES + 2)),
    }


def memory(request: Request, found: Probe, n: int, *, on_cpu: bool) -> int:
    """Bytes at the peak, above the libraries and the weights."""
    L, d = found.blocks or 0, found.width or 0
    results = FLOAT64_BYTES * L * (4 * d + L)
    return in_memory(L, d, on_cpu=on_cpu) + results + memory_beside(request, found, n)


def memory_beside(request: Request, found: Probe, n: int) -> int:
    """Bytes that each block takes for itself while several are measured side by side."""
    d = found.width or 0
    eigen = 6 * 2 * FLOAT64_BYTES * d * d  # complex vectors, their inverse, and copies
    return max(eigen, one_jacobian(request, found, n))
