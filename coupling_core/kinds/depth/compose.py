"""The blocks of a model, compared at one token."""

from dataclasses import replace

from coupling_core.base.results import DepthResult, Progress
from coupling_core.engine.jacobians.derivative_check import checked_jacobian
from coupling_core.engine.jacobians.trace import Trace, trace_of
from coupling_core.engine.loading import LoadedModel
from coupling_core.engine.pairs.coupling import Pairs
from coupling_core.engine.pairs.svd import top_svd
from coupling_core.measuring.composing import begin, kept_k
from coupling_core.measuring.measure import Report
from coupling_core.sources.resolved import Resolved


def compose(asked: Resolved, loaded: LoadedModel, report: Report) -> DepthResult:
    """Measure block by block; each report has the result so far."""
    traced, pairs, so_far = _begin(asked, loaded)
    for block in traced.blocks:
        last = block.number == pairs.count
        norm = traced.kind.final_norm if last and asked.request.final_norm == "include" else None
        jacobian = checked_jacobian(block, norm).to(pairs.device)
        pairs.add(jacobian, top_svd(jacobian, pairs.k))
        so_far = replace(so_far, **pairs.arrays())
        report(Progress("blocks", block.number, pairs.count, so_far))
    return replace(so_far, angles=pairs.angles())


def _begin(asked: Resolved, loaded: LoadedModel) -> tuple[Trace, Pairs, DepthResult]:
    """Trace the prompt, and prepare what the blocks fill in."""
    request = asked.request
    reader, about = begin(asked, loaded)
    traced = trace_of(reader, request.token)
    n, d = reader.n_blocks, reader.width
    k = kept_k(request, d)
    pairs = Pairs(n, d, k, min(request.corner, k), loaded.device)
    result = DepthResult(
        **about,
        token=traced.token,
        next_tokens=loaded.likely(traced.logits),
        **pairs.arrays(),
    )
    return traced, pairs, result
