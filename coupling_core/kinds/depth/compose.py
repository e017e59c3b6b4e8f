"""The blocks of a model, compared at one token."""

from dataclasses import replace

from torch import Tensor

from coupling_core.base.results import DepthResult, Progress
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

        def measured(block: Block) -> tuple[Tensor, SVD]:
            is_normed = block.number == n and request.final_norm == "include"
            norm = traced.kind.final_norm if is_normed else None
            jacobian = checked_jacobian(block, norm).to(pairs.device)
            return jacobian, top_svd(jacobian, k)

        for number, found in enumerate(beside.in_order(measured, traced.blocks), 1):
            pairs.add(*found)
            so_far = replace(so_far, **pairs.arrays())
            report(Progress("blocks", number, n, so_far))
        return replace(so_far, angles=pairs.angles())
