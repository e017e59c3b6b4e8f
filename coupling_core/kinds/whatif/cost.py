"""What a measurement of edits takes."""

from coupling_core.base.edits import DAMPED
from coupling_core.base.records import Request
from coupling_core.engine.edits.effects import LOGITS
from coupling_core.engine.edits.replays import AT_ONCE
from coupling_core.engine.loading import FLOAT32_BYTES
from coupling_core.measuring.forecast import Probe

_COPIES = 2  # of a state, while an edit is under way
_LOGITS = 1 + 2 * 3  # copies of logits that are alive at once: in float32, and three in float64


def operations(request: Request, found: Probe, n: int) -> dict[str, float]:
    """Operations of each part, and how often things are done, with a prompt of n tokens."""
    L = found.blocks or 0
    vocabulary = _vocabulary(found)
    return {
        "replays": 2.0 * n * found.block_parameters * _steps(L),
        "scores": 4.0 * n * n * (found.width or 0) * _steps(L),
        "tails": 2.0 * n * vocabulary * (found.width or 1) * _edits(L),
        "logits": 1.0 * n * vocabulary * _edits(L),
        "products": 8.0 * n * found.block_parameters * L,
        "step": float(_steps(L)),
    }


def memory(request: Request, found: Probe, n: int, *, on_cpu: bool) -> int:
    """Bytes at the peak, above the libraries and the weights."""
    L, d, heads = found.blocks or 0, found.width or 1, found.heads or 1
    states = _COPIES * n * d * max(1, L * (L - 1))
    rows = max(1, AT_ONCE["cpu"] // n) * n
    inside = rows * (2 * found.widest + 8 * d + 3 * heads * n)
    vocabulary = _vocabulary(found)
    logits = _LOGITS * min(LOGITS, rows * vocabulary)
    return FLOAT32_BYTES * (states + inside + logits)


def _vocabulary(found: Probe) -> int:
    """About how many logits a token has: all that is outside blocks, or half where it is untied."""
    return found.outside // (found.width or 1)


def _edits(L: int) -> int:
    """How many edits there are of L blocks."""
    return L * (2 + len(DAMPED)) + L * (L - 1) + L * (L - 1) // 2


def _steps(L: int) -> int:
    """How often a block is run: what edits begin with, or have in common, is run once."""
    by_block = sum((1 + len(DAMPED)) * (1 + L - slot) + (L - slot) for slot in range(1, L + 1))
    replaced = sum((L - 1) * (1 + L - slot) for slot in range(1, L + 1))
    interchanged = sum((L - slot) * (1 + L - slot) for slot in range(1, L + 1))
    return by_block + replaced + interchanged
