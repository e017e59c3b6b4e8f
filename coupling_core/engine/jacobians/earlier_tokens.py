"""Jacobians of one token's block with respect to tokens before it, through keys and values alone.

A causal block at token t meets a token j before it in two places only: in the score of its key,
s_hj = q_h k_j, and in what the head h takes of its value, m_h = sum_j w_hj v_j. So

    J_jt = sum_h w_hj (dy/dm_h) (dv_j/dx_j)  +  sum_h (dy/ds_hj) (ds_hj/dx_j)

with y the block's output at t. All dy/dm_h and dy/ds_hj come with J_tt, from one token's replay.
A value is a linear map W of a normed state z_j, the same for all tokens, so that the d x d products
(dy/dm_h) W_h are taken once; a token then costs one combination of them, a norm's Jacobian, and an
update of rank 2 + heads. That norm's Jacobian has the form diag(a) + b 1^T + c x^T: three
directional derivatives tell a, b and c.

None of this is assumed: random cotangents are pulled back through the block's own code over a cache
that is differentiated, and where the two disagree, nothing is returned.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from coupling_core.engine.jacobians.attention_record import LinearInputs, Products, run
from coupling_core.engine.jacobians.branches import branching
from coupling_core.engine.jacobians.cached_attention import Joined
from coupling_core.engine.jacobians.captured_block import random_directions
from coupling_core.engine.jacobians.captured_calls import Call
from coupling_core.engine.jacobians.decode import Capture
from coupling_core.engine.jacobians.gradients import gradients_by
from coupling_core.engine.jacobians.same_token import (
    REPLAY_TOLERANCE,
    check_replay,
    pull_back,
    pulled_rows,
    residual,
)

ROWS = 16
"""Rows of all Jacobians put together at a time: few enough for the processor's cache."""

COTANGENTS = 3
"""By which products are checked: an error may be blind to one, and hardly to all."""
FLOOR = 1e-2
"""Below this part of the largest, products are compared with the largest."""


@dataclass(frozen=True)
class Source:
    """Keys and values of some tokens in one block, as functions of the tokens' states.

    Args:
        first: number of the first token, 1..n; the others follow it.
        x: their states, a leaf.
        key: what the block put into its cache for them.
        value: likewise.
        at: the place, among the block's linear maps, of the one that gives the values.
        norm: a, b and c of every token; that map's input z has dz/dx = diag(a) + b 1^T + c x^T.
    """

    first: int
    x: Float[Tensor, "1 token d"]
    key: Tensor
    value: Tensor
    at: int
    norm: tuple[Float[Tensor, "token d"], Float[Tensor, "token d"], Float[Tensor, "token d"]]


def source(call: Call, first: int) -> Source | None:
    """Take in a block's call over some tokens; None where it is not of the form described above."""
    x = call.hidden.detach().clone().requires_grad_()
    maps = LinearInputs()
    seen = run(call, x, maps)
    if seen is None:
        return None
    known = [i for i, z in enumerate(maps.all) if z.requires_grad]
    gradients = torch.autograd.grad(
        seen.value.sum(), [x, *(maps.all[i] for i in known)], retain_graph=True, allow_unused=True
    )
    at = max((i for i, g in zip(known, gradients[1:], strict=True) if g is not None), default=None)
    if at is None or maps.all[at].numel() != x.numel():
        return None
    return Source(first, x, seen.key, seen.value, at, _norm_jacobian(maps.all[at], x))


def context_jacobians(
    capture: Capture, given: Source, final_norm: nn.Module | None = None
) -> tuple[Float[Tensor, "token d d"], Float[Tensor, "d d"]] | None:
    """J_jt for every token j of a source, and J_tt without its skip connection.

    Args:
        capture: the block at token t, over a cache of the tokens before.
        given: tokens before t.
        final_norm: the model's final norm where it belongs to this block.

    Returns:
        None where the check with random cotangents fails, or the block has another form.
    """
    if capture.call is None:
        return None
    x = capture.block.state.detach().clone()[None, None].requires_grad_()
    window = _Window(given, capture.token)
    maps, products = LinearInputs(), Products()
    plain = run(capture.call, x, maps, window.tensor)
    if plain is None:
        return None
    modules = capture.block.module.modules()
    others = [m for m in modules if plain.attending.isdisjoint(m.modules())]
    with branching(nn.ModuleList(others)) as branches:
        joined = run(capture.call, x, products, window.joined)
    if joined is None or not len(products.scores) == len(products.mixed) == 1:
        return None
    check_replay(capture.block, joined.output)
    values = _batched(plain.value, maps.all[given.at])
    sites = _Sites.of(products, window, joined.value, values)
    inputs = [x, sites.scores, sites.mixed]
    f = residual(joined.output, x[0, 0], final_norm)
    J_tt, by_scores, by_mixed = pull_back(f, inputs, branches)
    found = _assemble(by_scores, by_mixed, sites, given), J_tt
    f = residual(plain.output, x[0, 0], final_norm)
    return found if _is_right(f, x, given, found) else None


@dataclass(frozen=True)
class _Window:
    """Where the tokens of a source lie in the cache of a later token, which may be shorter.

    Args:
        source: some tokens.
        token: the later one, 1..n.
    """

    source: Source
    token: int

    def place(self, n_past: int) -> tuple[int, int]:
        """The first and last place (exclusive), the first negative for tokens out of the window."""
        first = self.source.first - (self.token - n_past)
        return first, first + self.source.x.shape[1]

    def past(self, which: int, whole: Tensor) -> Tensor:
        """Keys (0) or values (1) of the past, those of the source as functions of its states."""
        n_past, whole = whole.shape[-2] - 1, whole.detach()  # its last token comes apart from it
        first, end = self.place(n_past)
        own = (self.source.key, self.source.value)[which][..., max(-first, 0) :, :]
        before, after = whole[..., : max(first, 0), :], whole[..., max(end, 0) : n_past, :]
        return torch.concatenate([before, own, after], -2)

    def tensor(self, which: int, whole: Tensor, last: Tensor) -> Tensor:
        """Of all tokens, in one tensor."""
        return torch.concatenate([self.past(which, whole), last], -2)

    def joined(self, which: int, whole: Tensor, last: Tensor) -> Joined:
        """Of all tokens, the past apart."""
        return Joined(self.past(which, whole), last, -2)


@dataclass(frozen=True)
class _Sites:
    """Where a block meets the tokens of a source that are in the window.

    Args:
        scores: queries times keys of the past.
        mixed: weights times values of the past.
        weights: of each head, for each token.
        value_map: W, each head's values from their normed state.
        first: place of the first token among the scores.
        out: how many tokens lie before the window.
    """

    scores: Float[Tensor, "*head past"]
    mixed: Float[Tensor, "*head d_head"]
    weights: Float[Tensor, "head token"]
    value_map: Float[Tensor, "head d_head d"]
    first: int
    out: int

    @classmethod
    def of(
        cls,
        products: Products,
        window: _Window,
        value: Tensor,
        value_map: Float[Tensor, "d_value d"],
    ) -> "_Sites":
        """From what a run kept, the values that it cached, and their map from the normed state."""
        (scores,), ((mixed, weights, right),) = products.scores, products.mixed
        first, end = window.place(scores.shape[-1])
        first, out = max(first, 0), max(-first, 0)
        W = _batched(right.last, value) @ value_map  # heads that share values repeat them
        W = W.reshape(*right.last.shape[:-2], 1, right.last.shape[-1], -1)
        W = W.expand(*mixed.shape[:-1], *W.shape[-2:]).flatten(0, -3)
        weights = weights.detach()[..., first : max(end, 0)].flatten(0, -2)
        return cls(scores, mixed, weights, W, first, out)

    def score_map(self, source: Source) -> Float[Tensor, "head token d"]:
        """Derivative of each head's score of a token by the state of that token."""
        heads = self.weights.shape[0]
        unit = torch.eye(heads, dtype=self.scores.dtype, device=self.scores.device)
        unit = unit.reshape(heads, *self.scores.shape[:-1], 1).expand(-1, *self.scores.shape)
        return gradients_by(self.scores, source.x, unit)[:, 0]


def _assemble(
    by_scores: Float[Tensor, "d score"],
    by_mixed: Float[Tensor, "d mixed"],
    sites: _Sites,
    source: Source,
) -> Float[Tensor, "token d d"]:
    """The sum at the top, a number of rows of all tokens at a time."""
    heads, n = sites.weights.shape
    d, seen = len(by_scores), slice(sites.out, None)
    scores = by_scores.reshape(d, heads, -1)[..., sites.first : sites.first + n].permute(2, 0, 1)
    mixed = by_mixed.reshape(d, heads, -1).transpose(0, 1)
    a, b, c = (part[seen] for part in source.norm)
    x = source.x.detach()[0, seen]
    right = torch.stack([torch.ones_like(x), x, *sites.score_map(source)[:, seen]], 1)
    J = x.new_empty(source.x.shape[1], d, x.shape[-1])
    J[: sites.out] = 0  # what lies before the window does not reach the output
    for start in range(0, d, ROWS):
        rows = slice(start, start + ROWS)
        E = mixed[:, rows] @ sites.value_map  # (head, row, d)
        G = (sites.weights.T @ E.flatten(1)).reshape(n, *E.shape[1:])  # (token, row, d)
        left = torch.cat([G @ torch.stack([b, c], 1).mT, scores[:, rows]], -1)
        J[seen, rows] = G.mul_(a[:, None]).baddbmm_(left, right)
    return J


def _is_right(
    f: Float[Tensor, " d"],
    x: Float[Tensor, "1 1 d"],
    source: Source,
    found: tuple[Float[Tensor, "token d d"], Float[Tensor, "d d"]],
) -> bool:
    """Whether the block's own code pulls random cotangents back to the same, token by token."""
    u = random_directions(f, COTANGENTS)
    of_source, of_own = pulled_rows(f, [source.x, x], u)
    if of_source is None or of_own is None:
        return False
    expected = of_source.reshape(len(u), -1, f.numel()).transpose(0, 1)  # (token, row, d)
    return _agree(u @ found[0], expected) and _agree((u @ found[1])[None], of_own[None])


def _agree(products: Float[Tensor, "token row d"], expected: Float[Tensor, "token row d"]) -> bool:
    off, size = (part.norm(dim=-1) for part in (products - expected, expected))
    tolerance = REPLAY_TOLERANCE.get(products.dtype, 0.0)
    # Beside the largest ones, nothing is left of a token's that are smaller than rounding.
    return bool((off <= tolerance * (size + FLOOR * size.amax())).all())


def _norm_jacobian(
    z: Float[Tensor, "*token d"], x: Float[Tensor, "1 token d"]
) -> tuple[Float[Tensor, "token d"], Float[Tensor, "token d"], Float[Tensor, "token d"]]:
    """a, b and c of dz/dx = diag(a) + b 1^T + c x^T at every token, if it has that form.

    With r orthogonal to 1 and x, the derivative along r is a r; those along 1 and x then give b and
    c. It holds for a LayerNorm, for an RMSNorm and where there is no norm.
    """
    u = torch.zeros_like(z, requires_grad=True)
    (pulled,) = torch.autograd.grad(z, x, u, create_graph=True)

    def along(direction: Tensor) -> Tensor:
        (found,) = torch.autograd.grad(pulled, u, direction.to(x)[None], retain_graph=True)
        return found.reshape(x.shape[1:]).double()

    X = x.detach()[0].double()
    one = torch.ones_like(X)
    spanned = torch.stack([one, X], -1)  # (token, d, 2)
    generator = torch.Generator().manual_seed(0)
    signs = torch.randint(0, 2, X.shape, generator=generator).to(X) * 2 - 1
    r = signs - (spanned @ torch.linalg.lstsq(spanned, signs[..., None]).solution)[..., 0]
    a = along(r) / r
    rest = torch.stack([along(one) - a, along(X) - a * X], -1)  # (token, d, 2)
    gram = spanned.mT @ spanned
    b, c = torch.linalg.solve(gram, rest.mT).to(x.dtype).unbind(1)
    return a.to(x.dtype), b, c


def _batched(output: Tensor, given: Tensor) -> Float[Tensor, "d_out d_in"]:
    """Jacobian of an output, by one batched backward pass; zero where it does not depend on it."""
    n = output.numel()
    unit = torch.eye(n, dtype=output.dtype, device=output.device).reshape(n, *output.shape)
    return gradients_by(output, given, unit).reshape(n, -1)
