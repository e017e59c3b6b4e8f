"""What a trajectory takes; of memory, as much as a depth-wise measurement would."""

from coupling_core.base.records import Request
from coupling_core.kinds.depth.cost import memory
from coupling_core.measuring.cost import forward, runs_of_a_token
from coupling_core.measuring.forecast import Probe

__all__ = ["memory", "operations"]


def operations(request: Request, found: Probe, n: int) -> dict[str, float]:
    """Operations of each part, and how often things are done, with a prompt of n tokens."""
    L, again = found.blocks or 0, runs_of_a_token(found, n)
    inside = L * found.block_parameters
    return {
        "forward": forward(found, n) * again,
        "logits": 2.0 * n * L * max(0, found.parameters - inside),
        "products": 2.0 * n * inside * again,
        "step": float(n * L),
    }
