"""The linear maps of the blocks at one token: their spectra, then their products."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from coupling_core.base.records import DEFAULT_K, Certificate
from coupling_core.base.results import Progress, SpectrumResult
from coupling_core.engine import spectrum
from coupling_core.engine.hardware import algebra_device
from coupling_core.engine.jacobians.captured_block import Block
from coupling_core.engine.loading import LoadedModel
from coupling_core.engine.pairs.square import buffer
from coupling_core.engine.pairs.svd import SVD, top_svd
from coupling_core.kinds.one_token import OneToken
from coupling_core.measuring.composing import nothing, with_part
from coupling_core.measuring.measure import Report
from coupling_core.sources.resolved import Resolved

_Found = tuple[Tensor, Certificate, dict[str, Any]]
"""The Jacobian of a block, how far its SVD was checked, and the block's numbers."""


def compose(asked: Resolved, loaded: LoadedModel, report: Report) -> SpectrumResult:
    """Measure block by block, then multiply; each report has the result so far."""
    at = OneToken(asked, loaded)
    L, d, device = at.n_blocks, at.width, algebra_device(loaded.device)
    k, jacobians = min(DEFAULT_K, d), buffer(L, d, device)
    lengths = {"block": L, "first": L, "last": L, "d": d, "k": k, "part": 2}
    unknown = nothing(SpectrumResult, order=spectrum.SHUFFLES, **lengths)
    so_far = SpectrumResult(**at.about, **unknown, certificates=())

    def measured(block: Block) -> _Found:
        jacobian = at.jacobian(block, device)
        svd = top_svd(jacobian, k)
        return jacobian, svd.certificate, _numbers(jacobian, svd)

    with at.side_by_side() as beside:
        every = beside.in_order(measured, at.trace.blocks)
        for number, (jacobian, certificate, numbers) in enumerate(every, 1):
            jacobians[number - 1] = jacobian
            so_far = with_part(so_far, number - 1, numbers)
            so_far = replace(so_far, certificates=(*so_far.certificates, certificate))
            report(Progress("blocks", number, L, so_far))
    return _with_products(so_far, spectrum.LinearMaps(jacobians), report)


def _numbers(jacobian: Tensor, svd: SVD) -> dict[str, Any]:
    """What is known of one block's map."""
    (M,), J = spectrum.LinearMaps([jacobian]), jacobian.double()
    found = spectrum.eigenvalues(M)
    return {
        "eigenvalues": torch.stack([found.values.real, found.values.imag], 1).cpu().numpy(),
        "condition": found.condition.cpu().numpy(),
        "residual": found.residual,
        "jacobian_norm": float(J.norm()),
        "departure": spectrum.departure(M, found.values),
        "asymmetry": spectrum.asymmetry(J),
        "singular_values": svd.s.cpu().numpy(),
        "u_dot_v": (svd.u * svd.v).sum(0).cpu().numpy(),
    }


def _with_products(
    so_far: SpectrumResult, maps: Sequence[Tensor], report: Report
) -> SpectrumResult:
    report(Progress("products", 0, 3, so_far))
    values = np.stack([spectrum.singular_values(P) for P in spectrum.products(maps)])
    report(Progress("products", 1, 3, so_far))
    so_far = replace(
        so_far, product_values=values, shuffled_values=spectrum.shuffled_singular_values(maps)
    )
    report(Progress("products", 2, 3, so_far))
    return replace(
        so_far,
        participation=spectrum.range_participation(maps),
        exponents=spectrum.exponents(maps),
    )
