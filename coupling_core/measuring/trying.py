"""steer(...), ablate(...), read_out(...): directions, tried on the model they were measured of."""

import operator
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float

from coupling_core.analysis.crossing import CrossScores, require_alike
from coupling_core.analysis.directions import orthonormal, viewed
from coupling_core.analysis.scores import corrected, floor_by_k, score
from coupling_core.base.blocks import Blocks, blocks_of
from coupling_core.base.choosing import require_one_of
from coupling_core.base.errors import InputError
from coupling_core.base.records import (
    OWN,
    DirectionsView,
    Request,
    View,
    resolve_block,
    resolve_token,
)
from coupling_core.base.results import DirectionsResult
from coupling_core.base.results.directions import READOUTS, SIDES
from coupling_core.base.trials import Ablation, Readings, Steering
from coupling_core.measuring.measure import aside, asked_of
from coupling_core.measuring.watched import Watching, watched
from coupling_core.sources.resolved import Resolved
from coupling_core.store.request_key import make_key

SIZES = (0.1, 0.3, 1.0)
"""In units of the state's norm."""


def steer(
    result: DirectionsResult,
    *,
    block: int,
    components: int | Sequence[int] = (1,),
    sizes: float | Sequence[float] = SIZES,
    side: str = "u",
    tokens: Sequence[int] | None = None,
    direction: Float[np.ndarray, " d"] | None = None,
    model: Any = None,
    tokenizer: Any = None,
    device: str | None = None,
    progress: Watching = None,
) -> Steering:
    """Add directions to the state and see what the model then says: x_t + e norm(x_t) u.

    What a block writes is added to its output x^l, what it reads to its input x^{l-1}. All
    directions and sizes run together, and beside 20 random directions. Nothing is stored.

    Args:
        result: the directions, with the model and the prompt that they were measured of.
        block: l, 1..L; -1 is the last.
        components: numbers k of its directions, 1..K, or one.
        sizes: e, in units of the norm of the state, or one; 0 changes nothing.
        side: "u", what the block writes, or "v", what it reads.
        tokens: where they are added, 1..n or counted from the end; None is the token measured. What
            the model says is asked at the last of them.
        direction: another one in the place of the block's own, of any length but 0.
        model: the module of your own that was measured, where the result was loaded from a file;
            None is that one, or loads the model that the result names.
        tokenizer: that of such a module; not needed where the prompt is token ids.
        device: where to compute.
        progress: told as the model is loaded. None shows a bar in a terminal or a notebook, and
            False shows none.

    Raises:
        InputError: where the result lacks the block or a direction, or the model is another one.
    """
    require_one_of("the side", side, SIDES)
    number = resolve_block(block, result.n_blocks)
    names, found = _chosen(result, number, _several(components), side, direction)
    where = [] if tokens is None else _several(tokens)
    at = tuple(resolve_token(t, len(result.tokens)) for t in where or (result.token,))
    each = tuple(_several(sizes, float))
    if not each or not np.isfinite(each).all():
        raise InputError(
            f"expected finite sizes in units of the state's norm, such as 0.1,0.5: {each} came"
        )
    told = {"block": number, "side": side, "tokens": at, "names": names, "sizes": each}
    with _at_hand(result, model, tokenizer, device, progress) as (asked, loaded):
        return result.part("trials").steered(result, asked, loaded, found, **told)


def ablate(
    result: DirectionsResult,
    *,
    blocks: Blocks = None,
    k: int | None = None,
    frame: Float[np.ndarray, "d k"] | None = None,
    model: Any = None,
    tokenizer: Any = None,
    device: str | None = None,
    progress: Watching = None,
) -> Ablation:
    """Take what blocks read out of their input: x^{l-1}_t - V V^T x^{l-1}_t, in all at once.

    This is done at the measured token t alone; the states of other tokens stay. What is taken out
    is gone from the residual stream too, and so from the input of all later blocks.

    Args:
        result: the directions, with the model and the prompt that they were measured of.
        blocks: a text such as "9-16", a range, a list or one number, 1..L or counted from the end;
            None is all of them.
        k: how many of the leading v of each block are taken out; None is all that are kept.
        frame: another subspace in the place of the blocks' own, such as one that they share.
        model: as in `steer`, and so are the others.
        tokenizer: that of a module of your own.
        device: where to compute.
        progress: told as the model is loaded. None shows a bar in a terminal or a notebook, and
            False shows none.

    Raises:
        InputError: where the result lacks a block or has fewer directions, the frame has another
            width, or the model is another.
    """
    chosen = blocks_of(blocks, result.n_blocks)
    numbers, leading = viewed(result, DirectionsView(chosen, k))
    if frame is not None:
        frame = _units(frame, result.width)
    frames = {
        block: orthonormal(result.basis(block, "v")[:, :leading] if frame is None else frame)
        for block in numbers
    }
    with _at_hand(result, model, tokenizer, device, progress) as (asked, loaded):
        return result.part("trials").ablated(result, asked, loaded, frames)


def read_out(
    result: DirectionsResult,
    directions: Float[np.ndarray, "d m"],
    *,
    readout: str = "writes",
    model: Any = None,
    tokenizer: Any = None,
    device: str | None = None,
    progress: Watching = None,
) -> Readings:
    """Read directions of any origin as the result's own are read: by the tokens at either end.

    Args:
        result: whose model reads them.
        directions: in columns, of any length but 0, such as those that several blocks share.
        readout: `writes` or `reads` (both by the unembedding behind the final norm's scale), or
            `reads_embedding`.
        model: as in `steer`, and so are the others.
        tokenizer: that of a module of your own.
        device: where to compute.
        progress: told as the model is loaded. None shows a bar in a terminal or a notebook, and
            False shows none.

    Raises:
        InputError: where the model has no such readout, or is another one, or a column is 0.
    """
    require_one_of("the readout", readout, READOUTS)
    units = _units(directions, result.width).T
    with _at_hand(result, model, tokenizer, device, progress) as (asked, loaded):
        return result.part("trials").readings(result, asked, loaded, units, readout)


def cross_scores(
    a: DirectionsResult,
    b: DirectionsResult,
    *,
    k: int | None = None,
    model: Any = None,
    tokenizer: Any = None,
    device: str | None = None,
    progress: Watching = None,
) -> CrossScores:
    """The Jacobians of A in the bases of B: how much A acts along the directions of B's blocks.

    A^{ll'} = U_{b,l'}^T J_a^l V_{b,l'}, scored as in the depth-wise comparison by the default
    definition. Only A's model is loaded; exchange the two for the way back. With the same result
    twice it is the map of Depth at this K, to rounding.

    Args:
        a: the directions of the model whose Jacobians are taken.
        b: the directions in whose bases they are seen.
        k: K; None is all directions that both keep.
        model: the module of your own of which A was measured, as in `steer`, and so are the others.
        tokenizer: as in `steer`.
        device: where to compute.
        progress: told as the model is loaded. None shows a bar in a terminal or a notebook, and
            False shows none.

    Returns:
        `coupling`, `chance` and `corrected` (block of A, basis block of B).

    Raises:
        InputError: where the two are not of the same width and tokens, K is not kept, or A's model
            is another one than it was.
    """
    require_alike(a, b)
    most = min(a.count, b.count)
    leading = most if k is None else k
    if not 1 <= leading <= most:
        raise InputError(f"K must lie in 1..{most} (the directions that both keep), {leading} came")
    bases = {
        side: np.stack([b.basis(block, side) for block in range(1, b.n_blocks + 1)])[..., :leading]
        for side in SIDES
    }
    with _at_hand(a, model, tokenizer, device, progress) as (asked, loaded):
        diagonals, off = a.part("trials").crossed(a, asked, loaded, bases)
    s, view = a.singular_values[:, :leading], View(leading)
    coupling = score(diagonals, off, s[:, None], view.definition, view.p)[..., -1]
    floor = floor_by_k(s, a.jacobian_norm, a.width, {}, view.definition, view.p)[:, -1:]
    floor = np.broadcast_to(floor, coupling.shape)
    blocks = tuple(range(1, a.n_blocks + 1))
    maps = coupling, floor, corrected(coupling, floor), 1 - np.eye(a.n_blocks)
    return CrossScores(*maps, blocks, result=None, view=view, a=a, b=b)


def _several(given: Any, kind: type = int) -> list[Any]:
    """One number or several, from a list, an array or a tensor."""
    listed = list(given) if np.ndim(given) else [given]
    return [operator.index(each) if kind is int else float(each) for each in listed]


def _units(directions: Any, width: int) -> Float[np.ndarray, "d m"]:
    """Directions in columns, each of length 1."""
    columns = np.asarray(directions, np.float64)
    lengths = np.linalg.norm(columns, axis=0) if columns.ndim == 2 else np.zeros(1)
    if columns.shape[0] != width or not (np.isfinite(lengths) & (lengths > 0)).all():
        raise InputError(
            f"directions are columns of {width} finite numbers (the width of this model), none of "
            f"them all 0, and an array of shape {columns.shape} came"
        )
    return columns / lengths


def _chosen(
    result: DirectionsResult,
    block: int,
    components: Sequence[int],
    side: str,
    direction: Float[np.ndarray, " d"] | None,
) -> tuple[tuple[str, ...], Float[np.ndarray, "m d"]]:
    """The directions and their names."""
    if direction is not None:
        given = np.array(_several(direction, float))
        return ("given",), _units(given[:, None], result.width).T
    rank = int(result.rank[block - 1])
    if not components or not all(1 <= k <= min(rank, result.count) for k in components):
        raise InputError(
            f"directions of block {block} are numbered 1..{min(rank, result.count)}, and "
            f"{', '.join(map(str, components)) or 'none'} came"
        )
    basis = result.basis(block, side)
    return tuple(f"{side}_{k}" for k in components), basis.T[[k - 1 for k in components]]


@contextmanager
def _at_hand(
    result: DirectionsResult, model: Any, tokenizer: Any, device: str | None, progress: Watching
) -> Iterator[tuple[Resolved, Any]]:
    """What was asked of a result's model, and the model, loaded."""
    asked, own = _model_of(result, model, tokenizer)
    with (
        watched(progress) as report,
        aside(asked, own=own, device=device, progress=report) as ready,
    ):
        yield asked, ready.loaded


def _model_of(result: DirectionsResult, model: Any, tokenizer: Any) -> tuple[Resolved, Any]:
    """The model that a result was measured of, and the module of one's own where it is one."""
    is_own, origin = result.request.model.startswith(OWN), result._origin
    if is_own and origin:
        model = origin.module if model is None else model
        tokenizer = origin.tokenizer if tokenizer is None else tokenizer
    if is_own and model is None:
        raise InputError(
            f"the directions are of a module of your own, {result.model_name}: pass it as model="
        )
    if model is None:
        asked, own = asked_of(result.request, None, tokenizer)
        keys = [make_key(result.request, who).digest for who in (asked.identity, result.identity)]
        if keys[0] != keys[1]:
            raise InputError(
                f"the directions are of another {result.model_name} than the one that is here now: "
                "measure them again"
            )
        return asked, own
    asked, own = asked_of(replace(result.request, model=Request.model), model, tokenizer)
    if not result.request.model.startswith(asked.request.model):
        raise InputError(
            f"the directions are of {result.model_name}, and a "
            f"{asked.request.model.removeprefix(OWN)} came as model=: pass the module that was "
            "measured, or leave model= out of what was measured by its name"
        )
    return asked, own
