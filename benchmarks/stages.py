"""The stages of a depth-wise measurement, each beside the bare products of the same shapes.

The *limit* is what these libraries take on this processor for the products and factorisations:
the model over its prompt and over the measured token; the products of a block's Jacobian, as the
engine makes them; J^T J in float64, the eigensolver on it, and the certificate's products and
factorisation; every Jacobian times every basis, and the small products behind; the inner products
of bases whose angles are taken. All else of a stage is overhead: norms and activations, the checks
against gradients and differences, scores, and Python. Inputs are those of the measurement.
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
K_VIEW = 32
"""Side of the corners that are kept."""


def compare(quick: bool, length: int, k: int) -> common.Results:
    """Every stage and its limit in turn, on the present number of threads.

    Returns:
        for each stage the medians of its own seconds and of its limit's, and their ratio by clock;
        under "all" those of the sums.
    """
    model, ids = common.model_and_ids(quick, length)
    traced = trace(model, ids, length)
    jacobians = [checked_jacobian(block) for block in traced.blocks]
    svds = [top_svd(J, k) for J in jacobians]
    bases = torch.stack([torch.stack([svd.v.T, svd.u.T]) for svd in svds], 1)  # (side, block, k, d)
    calls = products_of(lambda: block_jacobian(traced.blocks[len(svds) // 2]))

    runs: dict[str, tuple[common.Run, common.Run]] = {
        "reading": (partial(trace, model, ids, length, kind=traced.kind), reading(model, ids)),
        "Jacobians": (
            lambda: [checked_jacobian(block) for block in traced.blocks],
            lambda: [call() for _ in svds for call in calls],
        ),
        "SVDs": (
            lambda: [top_svd(J, k) for J in jacobians],
            lambda: [decomposed(J, k) for J in jacobians],
        ),
        "pairs": (
            partial(pairs, jacobians, svds, k),
            lambda: compared(jacobians, bases),
        ),
    }
    named = {f"{name} {which}": run for name, of in runs.items() for which, run in enumerate(of)}
    times = common.interleaved(named, 1 if quick else ROUNDS)
    found: common.Results = {"tokens": length, "k": k, "gemm": times.pop("gemm"), "stages": {}}
    for name in runs:
        found["stages"][name] = _beside(times[f"{name} 0"], times[f"{name} 1"])
    sums = [
        {c: sum(times[f"{name} {which}"][c] for name in runs) for c in common.CLOCKS}
        for which in range(2)
    ]
    return found | {"all": _beside(*sums)}


def _beside(ours: common.Results, limit: common.Results) -> common.Results:
    both = {"ours": ours, "limit": limit}
    kept = {name: {c: one[c] for c in common.CLOCKS} for name, one in both.items()}
    return kept | {"ratio": common.ratio(ours, limit)}


def reading(model: Any, ids: list[int]) -> common.Run:
    """The model over the prompt, and over its last token alone."""
    whole, last = torch.tensor([ids]), torch.tensor([ids[-1:]])

    def run() -> None:
        with torch.no_grad(), FastLinear():
            model(whole, logits_to_keep=1)
            model(last)

    return run


def products_of(run: common.Run) -> list[Callable[[], Tensor]]:
    """The products of matrices that a run makes, each to be made again alone."""
    with _Products() as found:
        run()
    return found.calls


class _Products(TorchDispatchMode):
    """Keeps every product of two matrices while it is entered: a vector's are of a replay."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Callable[[], Tensor]] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        output = func(*args, **(kwargs or {}))
        if func._overloadpacket in _MULTIPLY:
            x, y = (a.detach() for a in args[:2])
            if x.numel() > x.shape[-1]:
                self.calls.append(partial(func, x, y, *args[2:], **(kwargs or {})))
        return output


_MULTIPLY = (torch.ops.aten.mm, torch.ops.aten.bmm, ONEDNN)


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
    found = Pairs(len(svds), len(jacobians[0]), k, min(k, K_VIEW), jacobians[0].device)
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
