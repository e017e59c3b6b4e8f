"""The blocks of a model, compared at one token."""

from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from coupling_core.base.jacobian import BlockJacobian
from coupling_core.base.records import resolve_block
from coupling_core.base.results import DepthResult, Progress
from coupling_core.base.results.base import named, norm_words, precision_words
from coupling_core.engine.jacobians.captured_block import Block
from coupling_core.engine.jacobians.derivative_check import checked_jacobian
from coupling_core.engine.jacobians.trace import trace_of
from coupling_core.engine.loading import LoadedModel
from coupling_core.engine.pairs.coupling import Pairs
from coupling_core.engine.pairs.svd import SVD, top_svd
from coupling_core.measuring.composing import begin, kept_k, side_by_side
from coupling_core.measuring.measure import Report
from coupling_core.sources.resolved import Resolved


def compose(asked: Resolved, loaded: LoadedModel, report: Report) -> DepthResult:
    """Measure block by block; each report has the result so far."""
    request = asked.request
    reader, about = begin(asked, loaded)
    traced = trace_of(reader, request.token)
    n, d = reader.n_blocks, reader.width
    k = kept_k(request, d)
    with side_by_side(request, loaded, reader) as beside:
        pairs = Pairs(n, d, k, min(request.corner, k), loaded.device, beside)
        so_far = DepthResult(
            **about,
            token=traced.token,
            next_tokens=loaded.likely(traced.logits),
            **pairs.arrays(),
        )

        norm = traced.kind.final_norm if request.final_norm == "include" else None
        measured = partial(measured_block, last=n, norm=norm, k=k, device=pairs.device)
        for number, found in enumerate(beside.in_order(measured, traced.blocks), 1):
            pairs.add(*found)
            so_far = replace(so_far, **pairs.arrays())
            report(Progress("blocks", number, n, so_far))
        return replace(so_far, angles=pairs.angles())


def one_block(asked: Resolved, loaded: LoadedModel, block: int) -> BlockJacobian:
    """What is taken of one block in a measurement, with the whole Jacobian."""
    request = asked.request
    reader, about = begin(asked, loaded)
    traced = trace_of(reader, request.token)
    n, k = reader.n_blocks, kept_k(request, reader.width)
    number = resolve_block(block, n)
    norm = traced.kind.final_norm if request.final_norm == "include" else None
    measured = partial(measured_block, last=n, norm=norm, k=k, device=loaded.device)
    with side_by_side(request, loaded, reader) as beside:  # as many threads, to the same bits
        ((jacobian, svd),) = beside.in_order(measured, [traced.blocks[number - 1]])
    return BlockJacobian(
        J=_numpy(jacobian),
        u=_numpy(svd.u),
        s=_numpy(svd.s),
        v=_numpy(svd.v),
        state=_numpy(traced.blocks[number - 1].state),
        certificate=svd.certificate,
        rank=svd.rank,
        derivative_error=0.0,
        block=number,
        token=traced.token,
        tokens=about["tokens"],
        model=named(str(asked.identity.get("name", request.model)), request.untrained),
        precision=precision_words(request, about["provenance"]),
        final_norm=norm_words(request, has_norm=traced.kind.final_norm is not None)
        if number == n
        else "",
    )


def measured_block(
    block: Block, *, last: int, norm: nn.Module | None, k: int, device: torch.device
) -> tuple[Tensor, SVD]:
    """A block's Jacobian, checked, and its triplets; the last block has the final norm."""
    jacobian = checked_jacobian(block, norm if block.number == last else None).to(device)
    return jacobian, top_svd(jacobian, k)


def _numpy(tensor: Tensor) -> np.ndarray:
    return tensor.detach().to("cpu", torch.float32).numpy()
