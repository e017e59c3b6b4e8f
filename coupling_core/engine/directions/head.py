"""The matrices by which a model reads tokens and says them, found by trying.

Directions of the residual stream are read by rows of the unembedding, scaled by the final norm's
weight. No name tells where these are: a head is taken for one if its rows, times the normed last
state, give the logits that the model itself gave, up to what a scale or a soft cap does to them.
"""

from collections.abc import Iterator
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from coupling_core.engine.jacobians.decode import Reader
from coupling_core.engine.loading import Bringing

ALIKE = 0.99
"""Least correlation of rows times state with the model's own logits."""

PROBE = 100.0
"""Size of the entries by which a norm is tried, next to which its epsilon is nothing."""
SCALES = 1e-3
"""How far a norm may be from scaling each entry by its weight."""

NO_HEAD = "this model has no head"
OTHER_HEAD = "what this model says is no matrix of the normed last state"
NO_SCALE = "this model's final norm does more than scale each entry"
NO_EMBEDDING = "no one table is known to embed this model's tokens in the width of its states"


def find_head(reader: Reader) -> tuple[Float[Tensor, "v d"] | None, str]:
    """The rows of the unembedding, as they are stored; or None, and why there are none."""
    logits = reader.run.logits
    if logits is None:
        return None, NO_HEAD
    wanted = logits.reshape(-1, logits.shape[-1])[-1].float()
    states = reader.run.calls[-1].output.detach().float()
    norm = reader.kind.final_norm
    with torch.no_grad():
        states = states if norm is None else norm(states)
    read = [states[0, -1]] if reader.runner.reads_tokens else [states[0, 0], states[0].mean(0)]
    for weight, bias in _candidates(reader.runner.model, (len(wanted), states.shape[-1])):
        said = [weight.to(x.device, torch.float32) @ x + bias.to(x.device) for x in read]
        if any(_alike(one, wanted) for one in said):
            return weight, ""
    return None, OTHER_HEAD


def norm_scale(norm: nn.Module | None, d: int, device: torch.device) -> Float[Tensor, " d"] | None:
    """The weight by which a norm scales each entry; None where that is not all it does."""
    if norm is None:
        return torch.ones(d, device=device)
    found, again = (_scale(norm, _probe(d, uneven, device)) for uneven in (False, True))
    off = (found - again).abs().max()
    return found if bool(off <= SCALES * found.abs().max()) else None


def find_embedding(reader: Reader) -> tuple[Float[Tensor, "v d"] | None, str]:
    """The input embeddings, as they are stored; or None, and why there are none."""
    model: Any = reader.runner.model
    if not reader.runner.reads_tokens:
        return None, NO_EMBEDDING
    if hasattr(model, "get_input_embeddings"):
        named = [model.get_input_embeddings()]
    else:  # a module of somebody's own: the one table that has a row for each word that it says
        v = 0 if reader.run.logits is None else reader.run.logits.shape[-1]
        tables = (part for part in model.modules() if isinstance(part, nn.Embedding))
        named = [part for part in tables if part.num_embeddings == v]
    weights = [getattr(one, "weight", None) for one in named]
    found = [w for w in weights if isinstance(w, Tensor) and w.shape[1:] == (reader.width,)]
    return (Bringing(model)(found[0]).detach(), "") if len(found) == 1 else (None, NO_EMBEDDING)


def _candidates(model: Any, shape: tuple[int, int]) -> Iterator[tuple[Tensor, Tensor]]:
    """Weights that could be a head's, with their biases: the one that the model names, then all."""
    named = getattr(model, "get_output_embeddings", lambda: None)()
    bring = Bringing(model)
    for module in (named, *(m for m in model.modules() if isinstance(m, nn.Linear))):
        weight = getattr(module, "weight", None)
        if isinstance(weight, Tensor) and weight.shape == shape and bring.has(weight):
            bias = getattr(module, "bias", None)
            known = bring(bias) if isinstance(bias, Tensor) else torch.zeros(shape[0])
            yield bring(weight).detach(), known.detach().float()


def _alike(found: Tensor, wanted: Tensor) -> bool:
    one, other = found - found.mean(), wanted.to(found.device) - wanted.mean().to(found.device)
    return bool(one @ other >= ALIKE * one.norm() * other.norm() > 0)


def _probe(d: int, uneven: bool, device: torch.device) -> Float[Tensor, " d"]:
    """A state of mean 0 without a small entry: signs in turn, or of many sizes in any order."""
    found = torch.ones(d, device=device)
    found[1::2] = -1
    if d % 2:
        found[-3:] = torch.tensor([1.0, 1.0, -2.0])
    if not uneven:
        return PROBE * found
    pairs = d // 2 - d % 2
    found[: 2 * pairs] *= torch.linspace(1, 2, pairs, device=device).repeat_interleave(2)
    order = torch.randperm(d, generator=torch.Generator().manual_seed(0))
    return PROBE * found[order.to(device)]


def _scale(norm: nn.Module, probe: Float[Tensor, " d"]) -> Float[Tensor, " d"]:
    with torch.no_grad():
        odd = (norm(probe[None, None]) - norm(-probe[None, None]))[0, 0] / 2  # without its bias
    return odd.float() * probe.square().mean().sqrt() / probe
