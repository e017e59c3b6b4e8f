"""Directions added to the states of a model, frames taken out of them, and readouts of any."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from coupling_core.base.errors import InputError
from coupling_core.base.records import Request
from coupling_core.base.results import DirectionsResult
from coupling_core.base.trials import RANDOM, Ablation, Readings, Steering
from coupling_core.base.units import percent
from coupling_core.engine import matrix_products
from coupling_core.engine.directions.ablation import ablate, random_frames
from coupling_core.engine.directions.outcome import Outcomes
from coupling_core.engine.directions.readouts import random_units, read_out, readout_floor
from coupling_core.engine.directions.steering import steer
from coupling_core.engine.edits.replays import Replays
from coupling_core.engine.hardware import algebra_device
from coupling_core.engine.jacobians.decode import Reader
from coupling_core.engine.loading import LoadedModel
from coupling_core.engine.pairs.products import coupling_matrices, nested
from coupling_core.engine.passport import change, passport_of
from coupling_core.kinds.directions.compose import matrices, names_of
from coupling_core.kinds.one_token import OneToken
from coupling_core.measuring.composing import begin
from coupling_core.sources.resolved import Resolved

SEED = 0
SAME = 1e-3
"""Up to this part of its norm, what a module gives is what it gave, on another device too."""


def steered(
    result: DirectionsResult,
    asked: Resolved,
    loaded: LoadedModel,
    directions: np.ndarray,
    *,
    block: int,
    side: str,
    tokens: tuple[int, ...],
    names: tuple[str, ...],
    sizes: tuple[float, ...],
) -> Steering:
    """What the model says with directions (m d) added, beside random ones of the same sizes."""
    replays, outcomes = _ready(result, asked, loaded, max(tokens))
    state = block if side == "u" else block - 1
    _require_before_norm(asked.request, state, replays)
    d, device = directions.shape[1], replays.states.device
    drawn = random_units(RANDOM, d, torch.Generator().manual_seed(SEED))
    found, chance = (
        steer(replays, outcomes, state, tokens, units.to(device), sizes)
        for units in (torch.tensor(directions, dtype=torch.float32), drawn)
    )
    shape = (len(directions), len(sizes))
    rises, falls = (
        tuple(of[at : at + shape[1]] for at in range(0, len(of), shape[1]))
        for of in _texts(found.ids, loaded, replays.reader)
    )
    change = found.change.cpu().numpy().reshape(*shape, 2, -1)
    return Steering(
        block=block,
        side=side,
        tokens=tokens,
        names=names,
        sizes=sizes,
        measured_of=outcomes.measured,
        divergence=found.divergence.cpu().numpy().reshape(shape),
        by_chance=chance.divergence.cpu().numpy().reshape(RANDOM, -1),
        rises=rises,
        falls=falls,
        rise=change[:, :, 0],
        fall=change[:, :, 1],
        result=result,
    )


def ablated(
    result: DirectionsResult,
    asked: Resolved,
    loaded: LoadedModel,
    frames: Mapping[int, np.ndarray],
) -> Ablation:
    """What the model says with frames (d k) taken out of blocks, beside as many random ones."""
    token = result.token
    replays, outcomes = _ready(result, asked, loaded, token)
    generator = torch.Generator().manual_seed(SEED)
    device = replays.states.device
    several = {block: _with_random(frame, generator).to(device) for block, frame in frames.items()}
    divergence = ablate(replays, outcomes, token, several).divergence.cpu().numpy()
    return Ablation(
        blocks=tuple(frames),
        token=token,
        k=next(iter(frames.values())).shape[1],
        width=replays.states.shape[-1],
        measured_of=outcomes.measured,
        divergence=float(divergence[0]),
        by_chance=divergence[1:],
        part=float(np.mean([_part(replays, token, *each) for each in frames.items()])),
        result=result,
    )


def _part(replays: Replays, token: int, block: int, frame: np.ndarray) -> float:
    """How much of the squared length of the state before a block lies in its frame."""
    x = replays.states[block - 1, token - 1].double().cpu().numpy()
    return float(np.sum((frame.T @ x) ** 2) / np.sum(x**2))


def readings(
    result: DirectionsResult,
    asked: Resolved,
    loaded: LoadedModel,
    directions: np.ndarray,
    readout: str,
) -> Readings:
    """What directions (m d) of length 1 are read as, beside what random ones are."""
    reader, about = begin(asked, loaded)
    _require_same(result, loaded, about)
    device = algebra_device(loaded.device)
    by = matrices(reader, device)
    rows = by.embedding if readout == "reads_embedding" else by.writes
    if isinstance(rows, str):
        raise InputError(f"this model has no such readout: {rows}")
    found = read_out(rows, torch.from_numpy(directions.astype(np.float32)).to(device))
    towards, away = _texts(found.ids, loaded, reader)
    floor = readout_floor(rows, reader.width)
    return Readings(readout, found.peakedness.cpu().numpy(), floor, towards, away, result)


def crossed(
    result: DirectionsResult,
    asked: Resolved,
    loaded: LoadedModel,
    bases: Mapping[str, np.ndarray],
) -> tuple[np.ndarray, np.ndarray]:
    """The model's Jacobians in foreign bases, by side: U_{l'}^T J^l V_{l'}.

    Of each leading corner (block basis k) the diagonal, and the squared norm of what is off it.
    """
    at = OneToken(asked, loaded)
    _require_same(result, loaded, at.about)
    device = algebra_device(loaded.device)
    left, right = (
        torch.from_numpy(np.ascontiguousarray(bases[side].swapaxes(1, 2), np.float32)).to(device)
        for side in ("u", "v")
    )
    jacobians = (at.jacobian(block, device) for block in at.trace.blocks)
    found = (nested(coupling_matrices(jacobian, left, right)) for jacobian in jacobians)
    diagonals, off = (np.stack(each) for each in zip(*found, strict=True))
    return diagonals, off


def _with_random(frame: np.ndarray, generator: torch.Generator) -> Tensor:
    """A frame, and behind it as many random ones as are held against it."""
    d, k = frame.shape
    return torch.cat([torch.from_numpy(frame)[None], random_frames(RANDOM, d, k, generator)])


def _ready(
    result: DirectionsResult, asked: Resolved, loaded: LoadedModel, token: int
) -> tuple[Replays, Outcomes]:
    matrix_products.choice()  # products of many sequences are large in any model
    reader, about = begin(asked, loaded)
    _require_same(result, loaded, about)
    replays = Replays(reader)
    return replays, Outcomes(replays, token)


def _require_same(result: DirectionsResult, loaded: LoadedModel, now: Mapping[str, Any]) -> None:
    """Refuse a module of one's own that has changed since."""
    if not loaded.own:
        return
    if now["token_ids"].tolist() != result.token_ids.tolist():
        raise InputError(
            "the tokenizer reads the prompt as other tokens than those whose directions were "
            "measured: pass the one of that measurement"
        )
    before, after = passport_of(result.provenance), passport_of(now["provenance"])
    if before and after and (apart := change(before, after)) > SAME:
        raise InputError(
            "the module does not give what it gave when its directions were measured: its states "
            f"for this prompt are off by {percent(apart, 1)}. A hook that came or went, other "
            "weights or another module of the class would do that: measure the directions again"
        )


def _require_before_norm(request: Request, state: int, replays: Replays) -> None:
    """Refuse the last block's output where a final norm belongs to it."""
    has_norm = replays.reader.kind.final_norm is not None
    if state == replays.n_blocks and has_norm and request.final_norm == "include":
        raise InputError(
            "what the last block writes here is what comes out of the final norm, and nothing is "
            "added behind it: measure with final_norm='exclude' (--final-norm exclude)"
        )


def _texts(
    ids: Tensor, loaded: LoadedModel, reader: Reader
) -> tuple[tuple[tuple[str, ...], ...], ...]:
    """Tokens (m 2 n) as texts, of either sign."""
    texts = names_of(loaded, reader, sorted(set(ids.flatten().tolist())))
    signs = ids.transpose(0, 1).tolist()
    return tuple(tuple(tuple(texts[str(i)] for i in one) for one in of) for of in signs)
