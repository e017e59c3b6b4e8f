"""The stages of a depth-wise measurement, each beside the bare products of the same shapes.

The *limit* is what these libraries take on this processor for the products and factorisations of a
stage alone, with the inputs of the measurement. All else is overhead: norms and activations, the
checks against gradients and differences, scores, and Python.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg.lapack
import scipy.sparse.linalg
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from benchmarks import common
from coupling_core.engine.hardware import one_blas_thread
from coupling_core.engine.jacobians.derivative_check import checked_jacobian
from coupling_core.engine.jacobians.same_token import block_jacobian
from coupling_core.engine.jacobians.trace import trace
from coupling_core.engine.matrix_products import ONEDNN, FastLinear, product
from coupling_core.engine.pairs.coupling import Pairs
from coupling_core.engine.pairs.products import random_frames
from coupling_core.engine.pairs.square import CHANCE_FRAMES
from coupling_core.engine.pairs.svd import MARGIN, SVD, top_svd

ROUNDS = 5


def compare(quick: bool, length: int) -> common.Results:
    """Every stage and its limit in turn, and under "all" their sums, on the present threads."""
    k = 3 if quick else 50
    model, ids = common.model_and_ids(quick, length)
    traced = trace(model, ids, length)
    jacobians = [checked_jacobian(block) for block in traced.blocks]
    svds = [top_svd(J, k) for J in jacobians]
    bases = torch.stack([torch.stack([svd.v.T, svd.u.T]) for svd in svds], 1)  # (side, block, k, d)
    with _Products() as made:
        block_jacobian(traced.blocks[len(svds) // 2])
    ours: dict[str, common.Run] = {
        "reading": partial(trace, model, ids, length, kind=traced.kind),
        "Jacobians": lambda: [checked_jacobian(block) for block in traced.blocks],
        "SVDs": lambda: [top_svd(J, k) for J in jacobians],
        "pairs": partial(pairs, jacobians, svds, k),
    }
    limits: dict[str, common.Run] = {
        "reading": partial(read, model, torch.tensor([ids])),
        "Jacobians": lambda: [call() for _ in svds for call in made.calls],
        "SVDs": lambda: [decomposed(J, k) for J in jacobians],
        "pairs": partial(compared, jacobians, bases),
    }
    in_turn: dict[str, common.Run] = {}
    for name in ours:
        in_turn |= {name: ours[name], f"{name} limit": limits[name]}
    times = common.interleaved(in_turn, 1 if quick else ROUNDS)
    gemm = times.pop("gemm")
    stages = {name: _beside(times[name], times[f"{name} limit"]) for name in ours}
    sums = [
        {clock: sum(times[name][clock] for name in names) for clock in common.CLOCKS}
        for names in (ours, [f"{name} limit" for name in ours])
    ]
    return {"tokens": length, "k": k, "gemm": gemm, "stages": stages, "all": _beside(*sums)}


def _beside(ours: common.Results, limit: common.Results) -> common.Results:
    return {"ours": ours, "limit": limit, "ratio": common.ratio(ours, limit)}


def read(model: Any, ids: Tensor) -> None:
    """The model over the prompt, and over its last token alone."""
    with torch.no_grad(), FastLinear():
        model(ids, logits_to_keep=1)
        model(ids[:, -1:])


class _Products(TorchDispatchMode):
    """Keeps every product of two matrices, to be made again: a vector's are of a replay."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Callable[[], Tensor]] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        output = func(*args, **(kwargs or {}))
        if func._overloadpacket in (torch.ops.aten.mm, torch.ops.aten.bmm, ONEDNN):
            x, y = (a.detach() for a in args[:2])
            if x.numel() > x.shape[-1]:
                self.calls.append(partial(func, x, y, *args[2:], **(kwargs or {})))
        return output


def decomposed(J: Tensor, k: int) -> None:
    """The products and factorisations of a certified top-K decomposition by ARPACK."""
    d, wanted = len(J), k + 1
    exact = J.double().numpy()
    with one_blas_thread():
        gram = exact.T @ exact
        start = np.random.default_rng(0).standard_normal(d).astype(np.float32)
        size = min(d, wanted + max(MARGIN, wanted * 2 // 5))
        _, v = scipy.sparse.linalg.eigsh(gram.astype(np.float32), wanted, v0=start, ncv=size)
        V = v.astype(np.float64)
        JV = exact @ V
        Q = np.linalg.eigh(JV.T @ JV)[1]
        U, V = JV @ Q, V @ Q
        H, _ = U.T @ exact, exact @ V
        scipy.linalg.lapack.dpotrf((gram - H.T @ H + gram[0, 0] * np.eye(d)).T, lower=1, clean=0)


def pairs(jacobians: list[Tensor], svds: list[SVD], k: int) -> None:
    """All pairs of blocks and their angles, as a measurement has them."""
    found = Pairs(len(svds), len(jacobians[0]), k, min(k, 32), jacobians[0].device)
    for J, svd in zip(jacobians, svds, strict=True):
        found.add(J, svd)
    found.arrays()
    found.angles()


def compared(jacobians: list[Tensor], bases: Tensor) -> None:
    """Every Jacobian times every basis in both roles and times the frames of chance, and angles."""
    sides, n, k, d = bases.shape
    frames = random_frames(d, k, CHANCE_FRAMES, bases.device)
    for J in jacobians:
        for (right, left), roles in ((bases, sides), (frames, 1)):
            for side in range(roles):
                of, to = ((right, left), (left, right))[side]
                moved = product(of.reshape(-1, d), J.T).reshape(-1, k, d)
                torch.bmm(to, moved.mT)
    for side in bases:
        for at in range(n):
            overlap = product(side[at:].flatten(0, 1), side[at].T).reshape(-1, k, k)
            torch.linalg.eigvalsh(overlap.mT @ overlap)


def words(found: common.Results) -> str:
    """How many times their limits the whole and its stages take."""
    ratios = {name: one["ratio"]["cpu"] for name, one in found["stages"].items()}
    parts = ", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items())
    return f"{found['all']['ratio']['cpu']:.2f} times the CPU time of the bare products ({parts})"
