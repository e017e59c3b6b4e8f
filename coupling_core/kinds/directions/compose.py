"""The leading singular vectors of every block at one token, kept, compared and read out."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from coupling_core.base.records import KEPT_DIRECTIONS
from coupling_core.base.results import DirectionsResult, Progress
from coupling_core.base.results.directions import READOUTS
from coupling_core.engine.directions import head
from coupling_core.engine.directions.readouts import TOP, Rows, read_out, readout_floor
from coupling_core.engine.jacobians.decode import Reader
from coupling_core.engine.loading import LoadedModel
from coupling_core.engine.loading.pictures import class_names
from coupling_core.engine.pairs.coupling import Pairs
from coupling_core.kinds.one_token import OneToken
from coupling_core.measuring.composing import nothing, with_part
from coupling_core.measuring.measure import Report
from coupling_core.sources.resolved import Resolved

_OF_PAIRS = (
    "singular_values", "next_singular_value", "jacobian_norm", "rank", "certificates",
)  # fmt: skip


def compose(asked: Resolved, loaded: LoadedModel, report: Report) -> DirectionsResult:
    """Measure block by block, then read out; each report has the result so far."""
    at = OneToken(asked, loaded)
    n, d = at.n_blocks, at.width
    k = min(KEPT_DIRECTIONS, d)
    with at.side_by_side() as beside:
        pairs = Pairs(n, d, k, k, loaded.device, beside)
        exact = np.full((2, n, d, k), np.nan, np.float32)
        lengths = {"readout": len(READOUTS), "block": n, "k": k, "sign": 2, "top": TOP, "side": 2}
        unknown = nothing(DirectionsResult, np.float32, **lengths)
        unknown["top"] = np.full(unknown["top_z"].shape, -1, np.int32)
        unknown |= dict.fromkeys(("u", "v"), exact[0].astype(np.float16))
        known = at.about | _of(pairs) | {"missing": {}, "vocabulary": {}}
        so_far = DirectionsResult(**unknown | known)
        for number, (jacobian, svd) in enumerate(at.svds(beside, k, pairs.device), 1):
            pairs.add(jacobian, svd)
            exact[:, number - 1] = [basis.cpu().numpy() for basis in (svd.u, svd.v)]
            kept = _kept(exact[:, number - 1])
            so_far = with_part(replace(so_far, **_of(pairs)), number - 1, kept)
            report(Progress("blocks", number, n, so_far))
    bases = torch.from_numpy(exact).to(pairs.device)
    return _read_out(so_far, bases, at.reader, loaded, norm_last=at.norm is not None)


def _kept(exact: np.ndarray) -> dict[str, Any]:
    """The directions (side d k) of one block at float16, and how far rounding turned them."""
    half = exact.astype(np.float16)
    return {"u": half[0], "v": half[1], "rounding": list(map(worst_angle, exact, half))}


def worst_angle(one: np.ndarray, other: np.ndarray) -> float:
    """The largest angle in degrees between columns that have a direction."""
    a, b = (x.astype(np.float64) for x in (one, other))
    lengths = np.linalg.norm(a, axis=0), np.linalg.norm(b, axis=0)
    there = (lengths[0] > 0) & (lengths[1] > 0)
    half = np.linalg.norm(
        (a[:, there] / lengths[0][there]) - (b[:, there] / lengths[1][there]), axis=0
    )
    return float(np.degrees(2 * np.arcsin(np.clip(half / 2, 0, 1))).max(initial=0.0))


def _of(pairs: Pairs) -> dict[str, Any]:
    found = pairs.arrays()
    return {name: found[name] for name in _OF_PAIRS} | {"matrices": found["matrices"][0]}


@dataclass(frozen=True)
class Matrices:
    """What directions are read by; a text is why it cannot be."""

    writes: Rows | str  # the unembedding behind the final norm's scale
    last: Rows | str  # the unembedding alone, of what comes out of the final norm
    embedding: Rows | str  # of the input


def matrices(reader: Reader, device: torch.device) -> Matrices:
    """What a model's directions are read by."""
    weight, why = head.find_head(reader)
    scale = head.norm_scale(reader.kind.final_norm, reader.width, reader.device)
    embedded, why_not = head.find_embedding(reader)
    plain: Rows | str = why if weight is None else Rows(weight, None, device)
    if weight is None or scale is None:
        scaled: Rows | str = why or head.NO_SCALE
    else:
        scaled = Rows(weight, scale.to(device), device)
    return Matrices(scaled, plain, why_not if embedded is None else Rows(embedded, None, device))


def _read_out(
    so_far: DirectionsResult,
    exact: Tensor,
    reader: Reader,
    loaded: LoadedModel,
    *,
    norm_last: bool,
) -> DirectionsResult:
    """The result with its readouts."""
    found = {
        name: getattr(so_far, name).copy()
        for name in ("top", "top_z", "top_cosine", "peakedness", "floor")
    }
    by, missing = matrices(reader, exact.device), {}
    every = list(range(so_far.n_blocks))
    parts = [(0, 0, by.writes, every[: -1 if norm_last else None]), (1, 1, by.writes, every)]
    parts += [(0, 0, by.last, every[-1:])] if norm_last else []
    parts += [(2, 1, by.embedding, every)]
    floors: dict[int, float] = {}
    for readout, side, rows, blocks in parts:
        if isinstance(rows, str):
            missing[READOUTS[readout]] = rows
            continue
        if not blocks:  # the only one has the final norm in it
            continue
        if id(rows) not in floors:
            floors[id(rows)] = readout_floor(rows, so_far.width)
        _into(found, readout, blocks, rows, exact[side, blocks])
        found["floor"][readout, blocks] = floors[id(rows)]
    ids = sorted({int(i) for i in np.unique(found["top"]) if i >= 0})
    texts = names_of(loaded, reader, ids)
    return replace(so_far, **found, missing=missing, vocabulary=texts)


def _into(
    found: dict[str, np.ndarray], readout: int, blocks: list[int], rows: Rows, basis: Tensor
) -> None:
    """Read some blocks' directions (block d k), and put what they are read as in its place."""
    n, _, k = basis.shape
    read = read_out(rows, basis.mT.reshape(n * k, -1))
    top = read.ids.shape[-1]
    for name, values in (("top", read.ids), ("top_z", read.z), ("top_cosine", read.cosine)):
        found[name][readout, blocks, :, :, :top] = values.reshape(n, k, 2, top).cpu().numpy()
    found["peakedness"][readout, blocks] = read.peakedness.reshape(n, k).cpu().numpy()


def names_of(loaded: LoadedModel, reader: Reader, ids: list[int]) -> dict[str, str]:
    """What the ids stand for; a class of a picture by its name."""
    if reader.runner.reads_tokens:
        return {str(i): text for i, text in zip(ids, loaded.texts(ids), strict=True)}
    names = class_names(loaded.model.config, max(ids, default=-1) + 1)
    return {str(i): names[i] for i in ids}
