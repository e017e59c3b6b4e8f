"""The linear maps of the blocks at one token: their spectra, then their products."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
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
from coupling_core.measuring.measure import Report
from coupling_core.sources.resolved import Resolved


@dataclass(frozen=True)
class _Found:
    """What is taken of one block."""

    jacobian: Tensor
    svd: SVD
    eigenvalues: spectrum.Eigenvalues
    departure: float


def compose(asked: Resolved, loaded: LoadedModel, report: Report) -> SpectrumResult:
    """Measure block by block, then multiply; each report has the result so far."""
    at = OneToken(asked, loaded)
    L, device = at.n_blocks, algebra_device(loaded.device)
    jacobians = buffer(L, at.width, device)
    so_far = _empty(at.about, L, at.width)

    def measured(block: Block) -> _Found:
        jacobian = at.jacobian(block, device)
        (M,) = spectrum.LinearMaps([jacobian])
        found = spectrum.eigenvalues(M)
        svd = top_svd(jacobian, min(DEFAULT_K, at.width))
        return _Found(jacobian, svd, found, spectrum.departure(M, found.values))

    with at.side_by_side() as beside:
        for number, found in enumerate(beside.in_order(measured, at.trace.blocks), 1):
            jacobians[number - 1] = found.jacobian
            so_far = _with_block(so_far, number - 1, found)
            report(Progress("blocks", number, L, so_far))
    return _with_products(so_far, spectrum.LinearMaps(jacobians), report)


def _empty(about: dict[str, Any], L: int, d: int) -> SpectrumResult:
    k = min(DEFAULT_K, d)
    shapes = {
        "eigenvalues": (L, d, 2),
        **dict.fromkeys(("condition", "product_values"), (L, d)),
        **dict.fromkeys(("residual", "jacobian_norm", "departure", "asymmetry"), (L,)),
        **dict.fromkeys(("singular_values", "u_dot_v"), (L, k)),
        "participation": (L, L),
        "exponents": (d,),
        "shuffled_values": (spectrum.SHUFFLES, d),
    }
    nothing: dict[str, Any] = {name: np.full(shape, np.nan) for name, shape in shapes.items()}
    return SpectrumResult(**about, **nothing, certificates=())


def _with_block(so_far: SpectrumResult, at: int, found: _Found) -> SpectrumResult:
    """The result with one more block; a page may draw the old one."""
    J = found.jacobian.double()
    values = found.eigenvalues.values
    numbers: dict[str, Any] = {
        "eigenvalues": torch.stack([values.real, values.imag], 1).cpu().numpy(),
        "condition": found.eigenvalues.condition.cpu().numpy(),
        "residual": found.eigenvalues.residual,
        "jacobian_norm": float(J.norm()),
        "departure": found.departure,
        "asymmetry": spectrum.asymmetry(J),
        "singular_values": found.svd.s.cpu().numpy(),
        "u_dot_v": (found.svd.u * found.svd.v).sum(0).cpu().numpy(),
    }
    changed: dict[str, Any] = {name: getattr(so_far, name).copy() for name in numbers}
    for name, value in numbers.items():
        changed[name][at] = value
    certificates: tuple[Certificate, ...] = (*so_far.certificates, found.svd.certificate)
    return replace(so_far, **changed, certificates=certificates)


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
