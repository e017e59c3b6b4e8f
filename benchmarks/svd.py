"""The top K triplets of SmolLM2's Jacobians: time, accuracy, and what a GPU would do.

Peers: torch.linalg.svd (all triplets), torch.svd_lowrank (its own two power steps, ten vectors
more than asked for), scipy's svds. Errors are relative, per singular value, against float64. The
operations of the filters that a GPU takes at the widths of large models are counted here.
"""

from collections.abc import Callable
from functools import partial

import scipy.sparse.linalg
import torch
from torch import Tensor

from benchmarks import common
from coupling_core.engine.jacobians.same_token import block_jacobian
from coupling_core.engine.jacobians.trace import trace
from coupling_core.engine.pairs import svd
from coupling_core.engine.pairs.svd import top_svd

PROMPT_ENDS, QUICK_ENDS = (10, 64, 200, 500), (4, 8)
"""The prompts: the text up to so many tokens, each seen at its last."""
ROUNDS = 3
WIDTHS = (4096, 5120)
"""Of models with 8B and 12B parameters."""


def methods(k: int) -> dict[str, Callable[[Tensor], Tensor]]:
    """The singular values that each method finds, largest first."""
    return {
        "ours": lambda J: top_svd(J, k).s,
        "linalg.svd": lambda J: torch.linalg.svd(J)[1][:k],
        "svd_lowrank": lambda J: torch.svd_lowrank(J, min(k + 10, len(J)))[1][:k],
        "scipy svds": lambda J: torch.from_numpy(
            scipy.sparse.linalg.svds(J.numpy(), k, rng=0)[1][::-1].copy()
        ),
    }


def jacobians(quick: bool, length: int) -> list[Tensor]:
    """Of all blocks at the last token; the last with the final norm."""
    model, ids = common.model_and_ids(quick, length)
    traced = trace(model, ids, length)
    norms = [None] * (len(traced.blocks) - 1) + [traced.kind.final_norm]
    return [block_jacobian(*pair) for pair in zip(traced.blocks, norms, strict=True)]


def times(found: list[Tensor], k: int, rounds: int) -> common.Results:
    """Medians over the blocks, methods interleaved block by block."""
    runs: dict[str, common.Run] = {
        f"{name}/{at}": partial(method, J)
        for at, J in enumerate(found)
        for name, method in methods(k).items()
    }
    timed = common.interleaved(runs, rounds)
    by_name = {
        name: common.median_of(timed[f"{name}/{at}"] for at in range(len(found)))
        for name in methods(k)
    }
    return {"k": k, "gemm": timed["gemm"], "seconds": by_name}


def accuracy(taken: list[Tensor], k: int) -> common.Results:
    """Largest relative error of a singular value over Jacobians; certificates."""
    errors = dict.fromkeys(methods(k), 0.0)
    certified = 0
    for J in taken:
        true = torch.linalg.svdvals(J.double())[:k]
        for name, method in methods(k).items():
            found = (method(J) - true) / true
            errors[name] = max(errors[name], float(found.abs().max()))
        certified += top_svd(J, k).certificate.certified
    return {"k": k, "errors": errors, "certified": certified, "svds": len(taken)}


def spectra(J: Tensor, d: int) -> dict[str, Tensor]:
    """Matrices of a width with a flat spectrum, and with that of a Jacobian, stretched."""
    generator = torch.Generator().manual_seed(0)
    random = torch.randn(2, d, d, generator=generator)
    like = torch.nn.functional.interpolate(
        torch.linalg.svdvals(J)[None, None], d, mode="linear", align_corners=True
    )[0, 0]
    left, right = torch.linalg.qr(random)[0]
    return {"random weights": random[0] / d**0.5, "SmolLM2's spectrum": (left * like) @ right}


def operations(J: Tensor, k: int) -> common.Results:
    """What a GPU does for a certified SVD, counted; J^T J and Cholesky by their formulas."""
    d, problem = len(J), svd._Problem(J)
    with common.Operations() as counted:
        rows = svd._chebyshev(problem, k + 1)
        if rows is None:
            raise RuntimeError("the filters do not converge")
        found = svd._finish(problem, *svd._in_space(problem, rows), k, "chebyshev")
    squares = 2 * d**3 + 2 * d**2 * (k + 1) + d**3 / 3
    return {
        "operations": counted.total + squares,
        "other_calls": counted.other_calls,
        "certified": found.certificate.certified,
    }


def collect(quick: bool) -> common.Results:
    """Times on one prompt, on one thread; accuracy on all prompts."""
    prompts = [jacobians(quick, end) for end in (QUICK_ENDS if quick else PROMPT_ENDS)]
    taken = [J for found in prompts for J in found]
    d = len(taken[0])
    ks = (2, 3) if quick else (10, 50, d // 10)
    with common.threads(1):
        timed = [times(prompts[1], k, 1 if quick else ROUNDS) for k in ks]
    return {
        "prompts": len(prompts),
        "times": timed,
        "accuracy": [accuracy(taken, k) for k in ks],
        "operations": [
            {"d": wide, "k": k, "of": of} | operations(J, k)
            for wide in ((d,) if quick else WIDTHS)
            for of, J in spectra(prompts[1][len(prompts[1]) // 3], wide).items()
            for k in ((2,) if quick else (50, wide // 10))
        ],
    }


def summary(results: common.Results) -> common.Rows:
    """Time and accuracy for every K, and the operations."""
    rows = []
    for found in results["times"]:
        listed = (f"{name} {1e3 * t['wall']:.1f}" for name, t in found["seconds"].items())
        rows.append((f"top {found['k']} triplets, ms a block, 1 thread", "; ".join(listed)))
    for found in results["accuracy"]:
        listed = (f"{name} {error:.1e}" for name, error in found["errors"].items())
        certified = f"ours certified {found['certified']} of {found['svds']}"
        rows.append((f"worst error of s_1..s_{found['k']}", "; ".join([*listed, certified])))
    for one in results["operations"]:
        what = f"filters on a GPU, d = {one['d']}, K = {one['k']}, {one['of']}"
        said = f"{one['operations'] / 1e12:.2f} TFLOP, {one['other_calls']} calls besides products"
        rows.append((what, said + ", certified" * one["certified"]))
    return rows
