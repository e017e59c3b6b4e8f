"""Slow, obvious versions of every stage: the oracles of the tests and the peers of the benchmarks.

Nothing here is used to answer a request. `released` is the algorithm that accompanies the papers,
written from its description: states from `output_hidden_states`, gradients through the whole graph
with respect to every token, full singular value decompositions, and a loop over all pairs.
"""

import copy
import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from coupling_core.base.definitions import DEFINITIONS, DefinitionName
from coupling_core.base.edits import Edit, Step, flat
from coupling_core.base.records import Stack
from coupling_core.engine.loading import find_blocks


def block_jacobian(
    model: nn.Module,
    token_ids: list[int],
    block: int,
    input_token: int,
    output_token: int,
    final_norm: nn.Module | None = None,
    *,
    stack: Stack | None = None,
    inputs: Mapping[str, Tensor] | None = None,
) -> Float[Tensor, "d d"]:
    """J^l_{t1 t2} of the definition (paper, Eq. 8): the block over the whole sequence, row by row.

    Args:
        model: a transformers model in evaluation mode.
        token_ids: the prompt.
        block: l, 1..L.
        input_token: t1, 1..n.
        output_token: t2, 1..n.
        final_norm: the norm to include in this block, if any.
        stack: the one that holds the block, in an encoder-decoder model.
        inputs: what the model is called with; None is the prompt as its input_ids.
    """
    inputs = inputs or {"input_ids": torch.tensor([token_ids])}
    module = find_blocks(model, stack)[block - 1]
    args, kwargs = arguments(model, module, inputs)
    X = args[0].detach().clone().requires_grad_()
    with torch.enable_grad():
        Y = module(X, *args[1:], **kwargs)
        Y = Y if isinstance(Y, Tensor) else Y[0]
        F = (final_norm(Y) if final_norm is not None else Y) - X
        y = F[0, output_token - 1]
        rows = [torch.autograd.grad(f, X, retain_graph=True)[0][0, input_token - 1] for f in y]
    return torch.stack(rows)


def arguments(
    model: nn.Module, block: nn.Module, inputs: Mapping[str, Tensor]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What a block is called with when the model runs over the whole sequence."""
    seen: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
    hook = block.register_forward_pre_hook(
        lambda module, args, kwargs: seen.append((args, kwargs)), with_kwargs=True
    )
    try:
        with torch.no_grad():
            model(**inputs, use_cache=False)
    finally:
        hook.remove()
    return seen[0]


def edited_model(model: Any, edit: Edit, *, stack: Stack | None = None) -> nn.Module:
    """An edited model, built: a copy whose list of blocks is another one, run by its own code.

    A family that chooses each block's mask or rotary base by its place in the list (`layer_types`)
    is told the new order.

    Args:
        model: of transformers, in evaluation mode.
        edit: of its depth.
        stack: the one that is edited, in an encoder-decoder model.
    """
    built: Any = copy.deepcopy(model)
    blocks = find_blocks(built, stack)
    steps = flat(edit.slots(len(blocks)))
    parts = [_part(step, blocks) for step in steps]
    for config in {id(c): c for m in built.modules() if (c := getattr(m, "config", None))}.values():
        config.use_cache = False  # a block that runs twice would keep both runs in one place
        types = getattr(config, "layer_types", None)
        if types is not None and len(types) == len(blocks):
            config.layer_types = [types[step.blocks[0] - 1] for step in steps]
        if getattr(config, "num_hidden_layers", None) == len(blocks):
            config.num_hidden_layers = len(steps)
    while len(blocks):
        del blocks[-1]
    blocks.extend(parts)
    return built


def _part(step: Step, blocks: nn.ModuleList) -> nn.Module:
    if len(step.blocks) == 1 and step.factor == 1:
        return blocks[step.blocks[0] - 1]
    return _Mean([blocks[block - 1] for block in step.blocks], step.factor)


class _Mean(nn.Module):
    """x + a * mean of f^m(x)."""

    def __init__(self, blocks: list[nn.Module], factor: float) -> None:
        super().__init__()
        self.blocks, self.factor = nn.ModuleList(blocks), factor

    def __getattr__(self, name: str) -> Any:  # families ask their blocks what they are
        try:
            return super().__getattr__(name)
        except AttributeError:
            blocks: Any = super().__getattr__("blocks")
            return getattr(blocks[0], name)

    def forward(self, x: Tensor, *args: Any, **kwargs: Any) -> Any:
        outputs = [block(x, *args, **kwargs) for block in self.blocks]
        given = [y if isinstance(y, Tensor) else y[0] for y in outputs]
        y = x + self.factor * sum(one - x for one in given) / len(given)
        return y if isinstance(outputs[0], Tensor) else (y, *outputs[0][1:])


def divergence(
    logits: Float[Tensor, "token v"], other: Float[Tensor, "token v"]
) -> Float[Tensor, " token"]:
    """KL(p || q) in nats of the distributions that two logits give, as its formula reads."""
    log_p, log_q = (z.double().log_softmax(-1) for z in (logits, other))
    return (log_p.exp() * (log_p - log_q)).sum(-1)


def steered_logits(
    model: Any, token_ids: list[int], block: int, token: int, shift: Float[Tensor, " d"]
) -> Float[Tensor, "token v"]:
    """What a model says when a vector is added to what a block gives at a token; both 1..n."""
    module = find_blocks(model)[block - 1]

    def add(_: nn.Module, args: Any, output: Any) -> Any:
        states = (output if isinstance(output, Tensor) else output[0]).clone()
        states[0, token - 1] = states[0, token - 1] + shift
        return states if isinstance(output, Tensor) else (states, *output[1:])

    hook = module.register_forward_hook(add)
    try:
        return model(torch.tensor([token_ids]), use_cache=False).logits[0]
    finally:
        hook.remove()


def ablated_logits(
    model: Any, token_ids: list[int], frames: Mapping[int, Float[Tensor, "d k"]], token: int
) -> Float[Tensor, "token v"]:
    """What a model says when frames are taken out of what their blocks read at a token."""

    def without(frame: Float[Tensor, "d k"]) -> Any:
        def cut(_: nn.Module, args: Any, kwargs: Any) -> Any:
            states = args[0].clone()
            for column in frame.T:
                states[0, token - 1] -= (states[0, token - 1] @ column) * column
            return (states, *args[1:]), kwargs

        return cut

    blocks = find_blocks(model)
    hooks = [
        blocks[b - 1].register_forward_pre_hook(without(frame), with_kwargs=True)
        for b, frame in frames.items()
    ]
    try:
        with torch.no_grad():
            return model(torch.tensor([token_ids]), use_cache=False).logits[0]
    finally:
        for hook in hooks:
            hook.remove()


def readout(
    matrix: Float[Tensor, "v d"], scale: Float[Tensor, " d"], direction: Float[Tensor, " d"]
) -> tuple[float, tuple[int, int]]:
    """A direction read by a matrix, row by row: its peakedness, and the rows at either end."""
    rows = matrix.detach().double() * scale.detach().double()
    middle, u = rows.mean(0), direction.double() / direction.double().norm()
    cosines = torch.stack([(row - middle) @ u / (row - middle).norm() for row in rows])
    z = (cosines - cosines.mean()) / cosines.std(correction=0)
    largest = sorted((abs(float(one)) for one in z), reverse=True)[:10]
    return sum(largest) / 10, (int(z.argmin()), int(z.argmax()))


def coupling_matrix(
    jacobian: Float[np.ndarray, "d d"],
    left: Float[np.ndarray, "d k"],
    right: Float[np.ndarray, "d k"],
) -> Float[np.ndarray, "k k"]:
    """`left.T @ J @ right`: A from (U, V) of the other block, B from (V, U)."""
    return left.T @ jacobian @ right


def score(
    A: Float[np.ndarray, "k k"],
    s: Float[np.ndarray, " k"],
    definition: DefinitionName,
    p: float = 1.0,
) -> float:
    """One score of one matrix, as its formula reads."""
    return float(DEFINITIONS[definition].as_written(A, s, p))


def random_frame(d: int, k: int, generator: np.random.Generator) -> Float[np.ndarray, "d k"]:
    """A Haar-random K-frame: the Q factor of a Gaussian matrix whose R has a positive diagonal."""
    q, r = np.linalg.qr(generator.standard_normal((d, k)))
    return q * np.sign(np.diag(r))


def chance(
    jacobian: Float[np.ndarray, "d d"],
    s: Float[np.ndarray, " k"],
    definition: DefinitionName,
    frames: int,
    seed: int = 0,
) -> Float[np.ndarray, " frame"]:
    """Scores of J against independent random frames in place of U and V."""
    generator = np.random.default_rng(seed)
    d, k = len(jacobian), len(s)
    pairs = [(random_frame(d, k, generator), random_frame(d, k, generator)) for _ in range(frames)]
    return np.array([score(coupling_matrix(jacobian, u, v), s, definition) for u, v in pairs])


RELEASED_CHUNKS = 4
"""Batches of rows in which the released package differentiates unless it is told otherwise."""

RELEASED_BATCH = 768
"""Tokens times rows at once with which the released algorithm is fastest on a CPU: single rows take
up to four times as long, and larger batches leave its caches."""


def released(model: Any, token_ids: list[int], k: int) -> Float[np.ndarray, "role block block"]:
    """The released algorithm: `released` scores of all pairs at the last token, final norm in.

    It gives both, those of A (U^T J V) and of B (V^T J U).

    Args:
        model: a causal language model in evaluation mode.
        token_ids: the prompt.
        k: number of singular triplets.
    """
    states = released_states(model, token_ids)
    jacobians = [released_jacobian(*pair) for pair in itertools.pairwise(states)]
    return released_scores(jacobians, k)


def released_states(model: Any, token_ids: list[int]) -> tuple[Float[Tensor, "1 token d"], ...]:
    """Its states, one graph through the whole model; the last one is normed."""
    ids = torch.tensor([token_ids], device=model.device)
    embeddings = model.get_input_embeddings()(ids).requires_grad_()
    outputs = model(inputs_embeds=embeddings, output_hidden_states=True, use_cache=False)
    return outputs.hidden_states


def released_jacobian(
    before: Float[Tensor, "1 token d"],
    after: Float[Tensor, "1 token d"],
    batch: int | None = None,
) -> Float[Tensor, "d d"]:
    """Its Jacobian of one block at the last token, from gradients with respect to all tokens.

    Args:
        before: the state that the block takes.
        after: the state that it gives.
        batch: tokens times rows at once; None takes `RELEASED_CHUNKS` batches.
    """
    eye = torch.eye(after.shape[-1], device=after.device)
    rows = []
    step = -(-len(eye) // RELEASED_CHUNKS) if batch is None else max(1, batch // after.shape[1])
    for part in eye.split(step):
        (found,) = torch.autograd.grad(
            after[0, -1], before, part, retain_graph=True, is_grads_batched=True
        )
        rows.append(found[:, 0, -1])
    return torch.cat(rows) - eye


def released_scores(
    jacobians: list[Float[Tensor, "d d"]], k: int
) -> Float[np.ndarray, "role block block"]:
    """Its scores of all pairs, from A and from B: full decompositions, and a loop."""
    svds = [torch.linalg.svd(J) for J in jacobians]
    coupling = np.empty((2, len(svds), len(svds)))
    for row, (J, (_, s, _)) in enumerate(zip(jacobians, svds, strict=True)):
        for column, (U, _, Vh) in enumerate(svds):
            u, v = U[:, :k], Vh[:k].T
            for role, (left, right) in enumerate(((u, v), (v, u))):
                distance = torch.linalg.norm((left.T @ J @ right).abs() - torch.diag(s[:k]))
                coupling[role, row, column] = 1 - distance / torch.linalg.norm(s[:k])
    return coupling
