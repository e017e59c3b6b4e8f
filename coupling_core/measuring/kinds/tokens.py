"""The tokens of a prompt, compared in two blocks, or on average over all pairs of blocks."""

from typing import Any

import numpy as np

from coupling_core.base.records import Request, resolve_block, resolve_token
from coupling_core.base.results import Progress, TokenMeansResult, TokenResult, TokensResult
from coupling_core.base.results.token_means import GRID
from coupling_core.engine.hardware import algebra_device
from coupling_core.engine.jacobians.decode import Reader
from coupling_core.engine.loading import LoadedModel
from coupling_core.engine.pairs.token_coupling import (
    Positions,
    count_positions,
    every_jacobian,
    pairs,
)
from coupling_core.engine.pairs.token_means import Means
from coupling_core.measuring.kinds.common import Report, begin, kept_k
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
    k, n = kept_k(request, about["width"]), reader.n_tokens
    count = count_positions(reader, request.kind, fixed)
    norm = request.final_norm == "include"
    found: Positions | None = None
    so_far: TokensResult | None = None
    for position, (J, other) in pairs(reader, request.kind, blocks, fixed, norm):
        J, other = _to_algebra(J, other)
        found = found or Positions(n, count, k, request.corner, J)
        found.add(position - 1, J, other)
        done = len(found.places)
        if found.is_compared:
            arrays = found.arrays()
            so_far = TokensResult(blocks=blocks, positions_done=done, **about, **arrays)
        report(Progress("tokens", done, count, so_far))
    assert so_far is not None  # the fixed token itself is always allowed
    return so_far


def _to_algebra(*jacobians: Any) -> tuple[Any, ...]:
    """Where they are decomposed; one that came twice stays one."""
    moved = {id(J): J.to(algebra_device(J.device)) for J in jacobians}
    return tuple(moved[id(J)] for J in jacobians)


def _means(
    request: Request,
    reader: Reader,
    fixed: int | None,
    about: dict[str, Any],
    report: Report,
) -> TokenMeansResult:
    k, L, n = kept_k(request, about["width"]), reader.n_blocks, reader.n_tokens
    positions = count_positions(reader, request.kind, fixed)
    grid = np.array(sorted({*(g for g in GRID if g <= k), min(request.k, k), k}))
    norm = request.final_norm == "include"
    found: Means | None = None
    for block, position, jacobian in every_jacobian(
        reader, request.kind, range(1, L + 1), fixed, norm
    ):
        (J,) = _to_algebra(jacobian)
        found = found or Means(L, n, L * positions, k, grid, J)
        found.add(block - 1, position - 1, J)
        report(Progress("tokens", len(found.places) // L, positions))
    assert found is not None
    so_far = None
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
