"""What a comparison of tokens takes: n Jacobians of each of two blocks, or of all."""

from coupling_core.base.definitions import DEFINITIONS
from coupling_core.base.records import Request
from coupling_core.base.results.token_means import GRID
from coupling_core.engine.jacobians.between_tokens import ROWS_TIMES_TOKENS
from coupling_core.engine.loading import FLOAT32_BYTES
from coupling_core.engine.pairs.token_coupling import kept_corner
from coupling_core.engine.pairs.token_means import AT_ONCE
from coupling_core.measuring.cost import is_between, jacobians
from coupling_core.measuring.forecast import Probe
from coupling_core.measuring.memory import FLOAT64_BYTES, in_memory, one_jacobian, products

_COPIES = 6  # of all inputs' Jacobians that are alive at once, as measured; eight, where float32
# is too coarse, and four where it is not
_IN_FLOAT64 = (
    1.5  # of the operations of all gradients of a block over the whole prompt: as measured
)
# they take three times as long in float64 as these in float32, and are needed in half of the blocks


def operations(request: Request, found: Probe, n: int) -> dict[str, float]:
    """Operations of each part, and how often things are done, with a prompt of n tokens."""
    L = found.blocks or 0
    blocks = L if request.is_mean else len({request.block, request.other_block})
    positions = _positions(request, found, n)
    rows = L * positions if request.is_mean else positions
    # All inputs of one output come with one Jacobian, and are checked together.
    of_one_output = request.kind == "fixed-output"
    differentiated = blocks if of_one_output else blocks * positions
    own = jacobians(request, found, n, differentiated, blocks * positions, rows**2, rows)
    others = (positions > 1 if of_one_output else positions - 1) * is_between(request)
    through = 2.0 * n * found.block_parameters  # a pass of the whole prompt through a block
    doubled = _IN_FLOAT64 * (found.width or 0) * through * blocks * (of_one_output and others)
    shared = {
        "checks": through * blocks * others,
        "float64": doubled,
        "step": float(n * L),
    }
    return shared | own | {"angles": 0.0}


def _positions(request: Request, found: Probe, n: int) -> int:
    """How many tokens have a Jacobian: in a causal model, those on one side of the fixed one."""
    if request.kind == "self" or found.causal is False:
        return n
    fixed = request.token + n + 1 if request.token < 0 else request.token
    return max(1, fixed if request.kind == "fixed-output" else n - fixed + 1)


def memory(request: Request, found: Probe, n: int, *, on_cpu: bool) -> int:
    """Bytes at the peak, above the libraries and the weights."""
    L, d = found.blocks or 0, found.width or 0
    k, side = min(request.k_max, d), kept_corner(n, min(request.corner, d))
    blocks = L if request.is_mean else 1  # of two, the other's bases are kept alone
    bases = 2 * FLOAT32_BYTES * blocks * n * k * d
    if request.is_mean:
        results = 2 * FLOAT64_BYTES * n * n * 3 * 2 * len(DEFINITIONS) * (len(GRID) + 1)
        columns = min(AT_ONCE, L * n)
    else:
        results = 2 * n * n * (2 * 2 * FLOAT32_BYTES * k + 2 * 2 * side * side)  # and a copy
        columns = n
    kept = in_memory(blocks * n, d, on_cpu=on_cpu) + bases + results
    compared, made = products(columns, d, k), _made(request, found, n)
    if request.kind == "fixed-output":
        # All inputs' Jacobians of a block are made before the first of them is decomposed.
        return kept + max(compared, made + one_jacobian(request, found, 1))
    return kept + made + max(compared, one_jacobian(request, found, n))


def _made(request: Request, found: Probe, n: int) -> int:
    """Of Jacobians between tokens that wait for others: those of all blocks, or of all inputs."""
    if not is_between(request):
        return 0
    L, d = found.blocks or 0, found.width or 0
    whole = min(ROWS_TIMES_TOKENS, n * d) * (2 * found.widest + 5 * d) // 2  # as measured
    count = _COPIES * n if request.kind == "fixed-output" else L if request.is_mean else 2
    return FLOAT32_BYTES * (count * d * d + whole)
