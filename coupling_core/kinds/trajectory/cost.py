"""What a trajectory takes."""

from coupling_core.base.records import Request
from coupling_core.engine.jacobians.unembedding import LOGITS
from coupling_core.engine.loading import FLOAT32_BYTES
from coupling_core.measuring.forecast import Probe

_COPIES = 4  # of logits that are alive at once: they, their logarithms, probabilities and products


def operations(request: Request, found: Probe, n: int) -> dict[str, float]:
    """Operations of each part, and how often things are done, with a prompt of n tokens."""
    L = found.blocks or 0
    return {
        "logits": 2.0 * n * L * found.outside,
        "products": 2.0 * n * L * found.block_parameters,
        "step": float(n * L),
    }


def memory(request: Request, found: Probe, n: int, *, on_cpu: bool) -> int:
    """Bytes at the peak, above the libraries and the weights."""
    L, d = found.blocks or 0, found.width or 1
    states = 2 * (L + 1) * n * d  # and a copy
    inside = n * (2 * found.widest + 5 * d)
    of_one = n * found.outside // d if _has_head(found) else 0
    logits = _COPIES * max(of_one, min(LOGITS, (L + 1) * of_one))
    return FLOAT32_BYTES * (states + max(inside, logits))


def _has_head(found: Probe) -> bool:
    """Whether states give logits; where that is in doubt, they do."""
    return not found.architecture.endswith("Model") or found.architecture.endswith("LMHeadModel")
