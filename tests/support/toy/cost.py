"""What it takes."""

from coupling_core.base.records import Request
from coupling_core.engine.loading import FLOAT32_BYTES
from coupling_core.measuring.forecast import Probe


def operations(request: Request, found: Probe, n: int) -> dict[str, float]:
    return {}


def memory(request: Request, found: Probe, n: int, *, on_cpu: bool) -> int:
    return FLOAT32_BYTES * n * (1 + (found.blocks or 0)) * (found.width or 0)
