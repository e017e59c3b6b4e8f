"""The tokens of a prompt, compared in two blocks, or on average over all pairs of blocks."""

from typing import Any

import numpy as np

from coupling_core.base.records import Request, resolve_block, resolve_token
from coupling_core.base.results import Progress, TokenMeansResult, TokenResult, TokensResult
from coupling_core.base.results.token_means import GRID
from coupling_core.engine.jacobians.decode import Reader
from coupling_core.engine.loading import LoadedModel
from coupling_core.engine.pairs.token_coupling import Positions, every_jacobian, pairs
from coupling_core.engine.pairs.token_means import Means
from coupling_core.measuring.composing import begin, kept_k
from coupling_core.measuring.measure import Report
from coupling_core.sources.resolved import Resolved


def compose(asked: Resolved, loaded: LoadedModel, report: Report) -> TokenResult:
    """Measure position by position; each report has the result so far."""
    request = asked.request
    reader, about = begin(asked, loaded)
    blocks = _blocks(request, reader.n_blocks)
    fixed = None if request.kind == "self" else resolve_token(request.token, reader.n_tokens)
    about |= {
        "token": fixed or 0,
        "causal": reader.kind.causal,
        "block_count": reader.n_blocks,
    }
    if blocks is None:
        return _means(request, reader, fixed, about, report)
    return _pair(request, reader, blocks, fixed, about, report)


def _pair(
    request: Request,
    reader: Reader,
    blocks: tuple[int, int],
    fixed: int | None,
    about: dict[str, Any],
    report: Report,
) -> TokensResult:
    found = Positions(reader, request.kind, fixed, kept_k(request, reader.width), request.corner)
    so_far: TokensResult | None = None
    norm = request.final_norm == "include"
    for position, pair in pairs(reader, request.kind, blocks, fixed, norm):
        found.add(position - 1, *pair)
        done = len(found.places)
        if found.is_compared:
            arrays = found.arrays()
            so_far = TokensResult(blocks=blocks, positions_done=done, **about, **arrays)
        report(Progress("tokens", done, found.count, so_far))
    assert so_far is not None  # the fixed token itself is always allowed
    return so_far


def _means(
    request: Request,
    reader: Reader,
    fixed: int | None,
    about: dict[str, Any],
    report: Report,
) -> TokenMeansResult:
    k, L = kept_k(request, reader.width), reader.n_blocks
    grid = np.array(sorted({*(g for g in GRID if g <= k), min(request.k_of(reader.width), k), k}))
    found = Means(reader, request.kind, fixed, k, grid)
    positions = found.count // L
    every = range(1, L + 1), fixed, request.final_norm == "include"
    for block, position, jacobian in every_jacobian(reader, request.kind, *every):
        found.add(block - 1, position - 1, jacobian)
        report(Progress("tokens", len(found.places) // L, positions))
    so_far: TokenMeansResult | None = None
    for done, position in enumerate(sorted({of for _, of in found.places}), 1):
        found.compare_position(position)
        so_far = TokenMeansResult(**about, **found.arrays())
        report(Progress("rows", done, positions, so_far))
    assert so_far is not None
    return so_far


def _blocks(request: Request, n_blocks: int) -> tuple[int, int] | None:
    """The blocks l and l' in 1..L; None for all."""
    if request.block is None or request.other_block is None:
        return None
    asked = request.block, request.other_block
    return resolve_block(asked[0], n_blocks), resolve_block(asked[1], n_blocks)
