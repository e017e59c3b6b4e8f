"""The top K triplets of SmolLM2's Jacobians: time, accuracy, and whether a lost one is noticed.

Peers: torch.linalg.svd (all triplets), torch.svd_lowrank (its own two power steps, ten vectors
more than asked for), scipy's svds. Errors are relative, per singular value, against float64. A
certificate is put to the test by leaving out each of several of the true triplets in turn: with a
gap above its tolerance behind it, every one must be missed.

What a GPU does at the widths of large models is counted: of random weights, whose spectrum is flat,
and of the spectrum of one of these Jacobians, stretched to the width.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import scipy.sparse.linalg
import torch
from torch import Tensor

from benchmarks import common
from coupling_core.engine.jacobians.same_token import block_jacobian
from coupling_core.engine.jacobians.trace import trace
from coupling_core.engine.pairs import svd
from coupling_core.engine.pairs.svd import DELTA, certify, top_svd

PROMPT_ENDS = (10, 64, 200, 500)
"""The prompts: the text up to so many tokens, each seen at its last."""
OVERSAMPLED = 10
ROUNDS = 3
WIDTHS = (4096, 5120)
"""Of models with 8B and 12B parameters."""
DROPPED = (0, 0.1, 0.25, 0.5, 0.75, 0.9, 1)
"""Which triplet is left out, as a part of K."""


def methods(k: int) -> dict[str, Callable[[Tensor], Tensor]]:
    """The singular values that each method finds, largest first."""
    return {
        "ours": lambda J: top_svd(J, k).s,
        "linalg.svd": lambda J: torch.linalg.svd(J)[1][:k],
        "svd_lowrank": lambda J: torch.svd_lowrank(J, min(k + OVERSAMPLED, len(J)))[1][:k],
        "scipy svds": lambda J: torch.from_numpy(
            scipy.sparse.linalg.svds(J.numpy(), k, rng=0)[1][::-1].copy()
        ),
    }


def jacobians(model: Any, ids: list[int]) -> list[Tensor]:
    """Of all blocks at the last token; the last with the final norm."""
    traced = trace(model, ids, len(ids))
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


def accuracy(taken: list[tuple[Tensor, Tensor]], k: int) -> common.Results:
    """Largest relative error of a singular value over Jacobians with true values; certificates."""
    errors = dict.fromkeys(methods(k), 0.0)
    certified = []
    for J, true in taken:
        for name, method in methods(k).items():
            found = (method(J) - true[:k]) / true[:k]
            errors[name] = max(errors[name], float(found.abs().max()))
        certified.append(top_svd(J, k).certificate.certified)
    return {"k": k, "errors": errors, "certified": sum(certified), "svds": len(certified)}


def dropped(taken: list[Tensor], k: int) -> common.Results:
    """How many SVDs that lack one triplet are refused, and how many whole ones are certified."""
    tried = caught = whole = 0
    for J in taken:
        u, s, vh = torch.linalg.svd(J)
        for index in sorted({round(part * (k - 1)) for part in DROPPED}):
            if s[index] <= s[k] * (1 + 2 * DELTA):
                continue  # a tie: leaving it out loses nothing
            kept = [i for i in range(k + 1) if i != index]
            tried += 1
            caught += not certify(J, u[:, kept], s[kept], vh[kept].T, "dropped").certified
        whole += certify(J, u[:, :k], s[:k], vh[:k].T, "whole").certified
    return {"k": k, "tried": tried, "caught": caught, "whole_certified": whole}


def spectra(J: Tensor, d: int) -> dict[str, Tensor]:
    """Matrices of a width with a flat spectrum, and with that of a Jacobian."""
    generator = torch.Generator().manual_seed(0)
    random = torch.randn(2, d, d, generator=generator)
    like = torch.nn.functional.interpolate(
        torch.linalg.svdvals(J)[None, None], d, mode="linear", align_corners=True
    )[0, 0]
    left, right = torch.linalg.qr(random)[0]
    return {"random weights": random[0] / d**0.5, "SmolLM2's spectrum": (left * like) @ right}


def operations(J: Tensor, k: int) -> common.Results:
    """What a GPU does for a certified SVD, counted here; J^T J and Cholesky by their formulas."""
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
    """Times on one prompt and each number of threads; the rest on all prompts."""
    model, _ = common.model_and_ids(quick, 4)
    d = model.config.hidden_size
    ks = (2, 3) if quick else (10, 50, d // 10)
    ends = (4, 8) if quick else PROMPT_ENDS
    prompts = [jacobians(model, common.model_and_ids(quick, end)[1]) for end in ends]
    taken = [J for found in prompts for J in found]
    pairs = [(J, torch.linalg.svdvals(J.double())) for J in taken]
    timed = []
    for _ in common.on_threads():
        timed += [times(prompts[1], k, 1 if quick else ROUNDS) for k in ks]
    return {
        "prompts": len(ends),
        "times": timed,
        "accuracy": [accuracy(pairs, k) for k in ks],
        "dropped": [dropped(taken, k) for k in ks[:2]],
        "operations": [
            {"d": wide, "k": k, "of": of} | operations(J, k)
            for wide in ((d,) if quick else WIDTHS)
            for of, J in spectra(prompts[1][len(prompts[1]) // 3], wide).items()
            for k in ((2,) if quick else (50, wide // 10))
        ],
    }


def summary(results: common.Results) -> common.Rows:
    """Time and accuracy for every K on one thread, and the lost triplets."""
    rows = []
    for found in results["times"]:
        if found["gemm"]["threads"] == 1:
            listed = (f"{name} {1e3 * t['wall']:.1f}" for name, t in found["seconds"].items())
            rows.append((f"top {found['k']} triplets, ms a block, 1 thread", "; ".join(listed)))
    for found in results["accuracy"]:
        listed = (f"{name} {error:.1e}" for name, error in found["errors"].items())
        certified = f"ours certified {found['certified']} of {found['svds']}"
        rows.append((f"worst error of s_1..s_{found['k']}", "; ".join([*listed, certified])))
    tried, caught = (
        sum(found[name] for found in results["dropped"]) for name in ("tried", "caught")
    )
    rows.append(("certificates of SVDs that lack one triplet", f"{caught} of {tried} refused"))
    for one in results.get("operations", []):  # older results have none
        said = f"{one['operations'] / 1e12:.2f} TFLOP, {one['other_calls']} calls besides products"
        sound = "certified" if one["certified"] else "not certified"
        rows.append(
            (f"filters on a GPU, d = {one['d']}, K = {one['k']}, {one['of']}", f"{said}, {sound}")
        )
    return rows
