"""The blocks of a model, compared at one token."""

from dataclasses import replace
from typing import Any

import numpy as np

from coupling_core.base.records import Request
from coupling_core.base.results import DepthResult, Progress
from coupling_core.engine.jacobians.derivative_check import checked_jacobian
from coupling_core.engine.jacobians.trace import Trace, trace_of
from coupling_core.engine.loading import LoadedModel
from coupling_core.engine.pairs.coupling import Pairs
from coupling_core.engine.pairs.svd import top_svd
from coupling_core.measuring.kinds.common import Report, canonical, kept_k, provenance, reading


def compose(
    request: Request, identity: dict[str, Any], loaded: LoadedModel, report: Report
) -> DepthResult:
    """Measure block by block; each report has the result so far."""
    traced, pairs, so_far = _begin(request, identity, loaded)
    for block in traced.blocks:
        last = block.number == pairs.count
        norm = traced.kind.final_norm if last and request.final_norm == "include" else None
        jacobian = checked_jacobian(block, norm).to(pairs.device)
        pairs.add(jacobian, top_svd(jacobian, pairs.k))
        so_far = replace(so_far, **pairs.arrays())
        report(Progress("blocks", block.number, pairs.count, so_far))
    return replace(so_far, angles=pairs.angles())


def _begin(
    request: Request, identity: dict[str, Any], loaded: LoadedModel
) -> tuple[Trace, Pairs, DepthResult]:
    """Trace the prompt, and prepare what the blocks fill in."""
    reads = loaded.encode(request.prompt)
    reader = reading(request, loaded, reads)
    traced = trace_of(reader, request.token)
    n, d = len(traced.blocks), traced.blocks[0].state.numel()
    k = kept_k(request, d)
    pairs = Pairs(n, d, k, min(request.corner, k), loaded.device)
    result = DepthResult(
        key="",
        request=canonical(request, traced.kind),
        identity=identity,
        tokens=loaded.token_names(reads, traced.token_ids),
        token_ids=np.array(traced.token_ids),
        token=traced.token,
        width=d,
        next_tokens=loaded.likely(traced.logits),
        provenance=provenance(loaded, reader),
        **pairs.arrays(),
    )
    return traced, pairs, result
