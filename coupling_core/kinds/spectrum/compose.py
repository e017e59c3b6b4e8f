"""The linear maps of the blocks at one token: their spectra, then their products."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from coupling_core.base.records import DEFAULT_K, Certificate
from coupling_core.base.results import Progress, SpectrumResult
from coupling_core.engine import spectrum
from coupling_core.engine.hardware import algebra_device
from coupling_core.engine.jacobians.captured_block import Block
from coupling_core.engine.jacobians.derivative_check import checked_jacobian
from coupling_core.engine.jacobians.trace import trace_of
from coupling_core.engine.loading import LoadedModel
from coupling_core.engine.pairs.square import buffer
from coupling_core.engine.pairs.svd import SVD, top_svd
from coupling_core.measuring.composing import begin, side_by_side
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
    request = asked.request
    reader, about = begin(asked, loaded)
    traced = trace_of(reader, request.token)
    L, d = reader.n_blocks, reader.width
    device = algebra_device(loaded.device)
    jacobians = buffer(L, d, device)
    so_far = _empty(about, traced.token, L, d)
    norm = traced.kind.final_norm if request.final_norm == "include" else None
    with side_by_side(request, loaded, reader) as beside:
        measured = partial(_measured, last=L, norm=norm, k=min(DEFAULT_K, d), device=device)
        for number, found in enumerate(beside.in_order(measured, traced.blocks), 1):
            jacobians[number - 1] = found.jacobian
            so_far = _with_block(so_far, number - 1, found)
            report(Progress("blocks", number, L, so_far))
    return _with_products(so_far, spectrum.LinearMaps(jacobians), report)


def _measured(
    block: Block, *, last: int, norm: nn.Module | None, k: int, device: torch.device
) -> _Found:
    jacobian = checked_jacobian(block, norm if block.number == last else None).to(device)
    (M,) = spectrum.LinearMaps([jacobian])
    found = spectrum.eigenvalues(M)
    return _Found(jacobian, top_svd(jacobian, k), found, spectrum.departure(M, found.values))


def _empty(about: dict[str, Any], token: int, L: int, d: int) -> SpectrumResult:
    def nothing(*shape: int) -> np.ndarray:
        return np.full(shape, np.nan)

    k = min(DEFAULT_K, d)
    return SpectrumResult(
        **about,
        token=token,
        eigenvalues=nothing(L, d, 2),
        condition=nothing(L, d),
        residual=nothing(L),
        jacobian_norm=nothing(L),
        departure=nothing(L),
        asymmetry=nothing(L),
        singular_values=nothing(L, k),
        u_dot_v=nothing(L, k),
        certificates=(),
        participation=nothing(L, L),
        product_values=nothing(L, d),
        exponents=nothing(d),
        shuffled_values=nothing(spectrum.SHUFFLES, d),
    )


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
