"""What a measurement of directions takes."""

from coupling_core.base.records import KEPT_DIRECTIONS, Request
from coupling_core.engine.directions.readouts import COSINES, NULL, ROWS
from coupling_core.engine.loading import FLOAT32_BYTES
from coupling_core.kinds.depth import cost as depth
from coupling_core.measuring.forecast import Probe

_COPIES = 3  # of cosines, and of the rows that they are taken with: as they are, scaled, centred


def operations(request: Request, found: Probe, n: int) -> dict[str, float]:
    """Operations of each part, and how often things are done, with a prompt of n tokens."""
    L, d = found.blocks or 0, found.width or 0
    directions = 3 * L * min(KEPT_DIRECTIONS, d) + 3 * NULL
    return depth.operations(request, found, n) | {"readouts": 2.0 * found.outside * directions}


def memory(request: Request, found: Probe, n: int, *, on_cpu: bool) -> int:
    """Bytes at the peak, above the libraries and the weights."""
    L, d = found.blocks or 0, found.width or 0
    kept = 16 * L * d * min(KEPT_DIRECTIONS, d)  # both sides, at float32 and twice at float16
    readouts = _COPIES * FLOAT32_BYTES * (COSINES + ROWS)
    return depth.memory(request, found, n, on_cpu=on_cpu) + kept + readouts
