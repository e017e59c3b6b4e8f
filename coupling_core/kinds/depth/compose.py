"""The blocks of a model, compared at one token."""

from dataclasses import replace

from coupling_core.base.jacobian import BlockJacobian
from coupling_core.base.records import resolve_block
from coupling_core.base.results import DepthResult, Progress
from coupling_core.base.results.base import named, norm_words, precision_words
from coupling_core.engine.loading import LoadedModel
from coupling_core.engine.pairs.coupling import Pairs
from coupling_core.kinds.one_token import OneToken
from coupling_core.measuring.composing import kept_k, to_numpy
from coupling_core.measuring.measure import Report
from coupling_core.sources.resolved import Resolved


def compose(asked: Resolved, loaded: LoadedModel, report: Report) -> DepthResult:
    """Measure block by block; each report has the result so far."""
    at = OneToken(asked, loaded)
    k = kept_k(asked.request, at.width)
    with at.side_by_side() as beside:
        corner = min(asked.request.corner, k)
        pairs = Pairs(at.n_blocks, at.width, k, corner, loaded.device, beside)
        likely = loaded.likely(at.trace.logits)
        so_far = DepthResult(**at.about, next_tokens=likely, **pairs.arrays())
        for number, found in enumerate(at.svds(beside, k, pairs.device), 1):
            pairs.add(*found)
            so_far = replace(so_far, **pairs.arrays())
            report(Progress("blocks", number, at.n_blocks, so_far))
        return replace(so_far, angles=pairs.angles())


def one_block(asked: Resolved, loaded: LoadedModel, block: int) -> BlockJacobian:
    """What is taken of one block in a measurement, with the whole Jacobian."""
    request, at = asked.request, OneToken(asked, loaded)
    number = resolve_block(block, at.n_blocks)
    chosen = at.trace.blocks[number - 1]
    with at.side_by_side() as beside:  # as many threads, to the same bits
        k = kept_k(request, at.width)
        ((jacobian, svd),) = at.svds(beside, k, loaded.device, [chosen])
    has_norm = at.trace.kind.final_norm is not None
    return BlockJacobian(
        J=to_numpy(jacobian),
        u=to_numpy(svd.u),
        s=to_numpy(svd.s),
        v=to_numpy(svd.v),
        state=to_numpy(chosen.state),
        certificate=svd.certificate,
        rank=svd.rank,
        derivative_error=0.0,
        block=number,
        token=at.trace.token,
        tokens=at.about["tokens"],
        model=named(request, asked.identity),
        precision=precision_words(request, at.about["provenance"]),
        final_norm=norm_words(request, has_norm=has_norm) if number == at.n_blocks else "",
    )
