"""Results with known answers, made with NumPy from Jacobians by the definitions alone."""

import hashlib
from dataclasses import fields, replace
from typing import Any

import numpy as np

from coupling_core.analysis import trajectory
from coupling_core.analysis.scores import score
from coupling_core.base import results
from coupling_core.base.definitions import sampled_definitions
from coupling_core.base.edits import every_edit
from coupling_core.base.records import ROLES, Certificate, Request, View
from coupling_core.store.request_key import make_key

PROMPT = "The cat sat down"
TOKENS = ("The", " cat", " sat", " down")
FRAMES = 8
WHOSE = "model prompt measured K definition p role level final_norm precision".split()
"""Columns of a table of scores that say whose they are, and how they are looked at."""

VIEW = View(k=1, definition="alignment")
"""At K = 1 this score is A_11 / s_1, and its chance floor is 0: any scores can be planted."""

SCORES = np.array(
    [
        [1.0, 0.9, 0.7, 0.0, 0.12],
        [0.6, 1.0, 0.5, 0.24, 0.0],
        [0.7, 0.3, 1.0, 0.12, 0.0],
        [0.0, 0.0, 0.12, 1.0, 0.9],
        [0.12, 0.24, 0.0, 0.5, 1.0],
    ]
)
"""Blocks 1 to 3 and blocks 4 and 5 keep to themselves; the two directions differ."""


def random_result(
    seed: int = 0,
    n_blocks: int = 5,
    width: int = 16,
    k_max: int = 8,
    k_view: int = 4,
    **changes: Any,
) -> results.DepthResult:
    """A result of random Jacobians that share part of their bases, so that scores lie off 0."""
    jacobians = planted_jacobians(n_blocks, width, coupling=0.5, seed=seed)
    return depth_result(jacobians, k_max, k_view, **changes)


def planted(scores: np.ndarray = SCORES, **changes: Any) -> results.DepthResult:
    """A result that has these scores in `VIEW`; `changes` replaces its fields."""
    result = random_result(n_blocks=len(scores))
    diagonal = result.diagonal.copy()
    diagonal[0, :, :, 0] = scores * result.singular_values[:, :1]
    return replace(result, diagonal=diagonal, **changes)


def content(result: results.DepthResult) -> dict[str, Any]:
    """All that a result holds, so that two can be compared to the last bit, NaN included."""

    def plain(value: Any) -> Any:
        is_array = isinstance(value, np.ndarray)
        return (value.dtype, value.shape, value.tobytes()) if is_array else value

    return {item.name: plain(getattr(result, item.name)) for item in fields(result)}


def planted_jacobians(n_blocks: int, width: int, coupling: float, seed: int = 0) -> np.ndarray:
    """Jacobians (block d d): with coupling 1 all act in one basis, with 0 each in its own."""
    rng = np.random.default_rng(seed)
    U, V = haar(rng, width, width), haar(rng, width, width)
    s = np.sort(rng.uniform(0.2, 2.0, (n_blocks, width)))[:, ::-1]
    shared = np.einsum("ik,lk,jk->lij", U, s, V)
    own = np.stack([haar(rng, width, width) * s_l @ haar(rng, width, width).T for s_l in s])
    return coupling * shared + (1 - coupling) * own


def haar(rng: np.random.Generator, width: int, k: int) -> np.ndarray:
    """A Haar-random frame (d k)."""
    Q, R = np.linalg.qr(rng.standard_normal((width, k)))
    return Q * np.sign(np.diag(R))


def _about(kind: str, digest: str, tokens: tuple[str, ...], **more: Any) -> dict[str, Any]:
    """What every result says of itself."""
    return {
        "key": "",
        "request": Request(PROMPT, model="random", kind=kind, **more),
        "identity": {"kind": "folder", "name": "random", "digest": digest},
        "tokens": tokens,
        "provenance": {"seconds": 1.0, "load_seconds": 0.5, "peak_memory_bytes": 10**8}
        | {"date": "2026-01-01T00:00:00+00:00", "dtype": "float32"}
        | {"versions": {"numpy": np.__version__}},
    }


def _words(n_tokens: int) -> tuple[str, ...]:
    return tuple(f" word{i}" for i in range(1, n_tokens + 1))


def depth_result(
    jacobians: np.ndarray, k_max: int, k_view: int, seed: int = 0, **changes: Any
) -> results.DepthResult:
    """Measure Jacobians (block d d) the obvious way; `changes` replaces fields of the result."""
    n_blocks, width, _ = jacobians.shape
    U, s, V = (np.stack(part) for part in zip(*map(gauged_svd, jacobians), strict=True))
    frames = {"A": (U, V), "B": (V, U)}
    # (role, block, block, k, k)
    corners = np.stack([coupling_matrices(jacobians, *frames[role], k_max) for role in ROLES])
    chance = sampled_chance(jacobians, s[:, :k_max], np.random.default_rng(seed))
    angle_k = np.unique([1, max(1, k_max // 2), k_max])
    about = _about(
        "depth", hashlib.sha256(jacobians.tobytes()).hexdigest(), TOKENS, k=k_max, k_view=k_view
    )
    about["provenance"] |= {"seconds": 1.5, "device": "cpu", "threads": 1}
    about["provenance"] |= {"peak_memory_bytes": 10**6, "date": "2026-01-02T03:04:05+00:00"}
    result = results.DepthResult(
        **about,
        token_ids=np.arange(10, 10 + len(TOKENS)),
        token=len(TOKENS),
        width=width,
        singular_values=s[:, :k_max].astype(np.float32),
        next_singular_value=(s[:, k_max] if k_max < width else s[:, 0] * np.nan).astype(np.float32),
        jacobian_norm=np.linalg.norm(s, axis=-1).astype(np.float32),
        rank=np.full(n_blocks, k_max),
        diagonal=np.diagonal(corners, axis1=-2, axis2=-1).astype(np.float32),
        off_diagonal=nested_off_diagonal(corners).astype(np.float32),
        matrices=(corners[..., :k_view, :k_view] / s[:, 0, None, None, None]).astype(np.float16),
        sampled=sampled_definitions(),
        chance=chance.mean(0).astype(np.float32),
        chance_error=(chance.std(0, ddof=1) / np.sqrt(FRAMES)).astype(np.float32),
        angle_k=angle_k,
        angles=np.stack([principal_angles(side, angle_k) for side in (U, V)]).astype(np.float32),
        certificates=tuple(certificate(*svd) for svd in zip(jacobians, U, s, V, strict=True)),
        next_tokens=((" on", 0.5), (" in", 0.25)),
    )
    result = replace(result, **changes)
    if "key" in changes:
        return result
    return replace(result, key=str(make_key(result.request, result.identity)))


def gauged_svd(J: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Full SVD (U, s, V); the entry of largest magnitude of each v_k is positive."""
    U, s, Vh = np.linalg.svd(J)
    V = Vh.T
    sign = np.sign(V[np.abs(V).argmax(0), np.arange(len(s))])
    return U * sign, s, V * sign


def coupling_matrices(
    jacobians: np.ndarray, left: np.ndarray, right: np.ndarray, k: int
) -> np.ndarray:
    """left_{l'}^T J^l right_{l'} for all pairs, (block block k k)."""
    return np.stack(
        [[L[:, :k].T @ J @ R[:, :k] for L, R in zip(left, right, strict=True)] for J in jacobians]
    )


def nested_off_diagonal(A: np.ndarray) -> np.ndarray:
    """Squared norm of the off-diagonal entries of each leading corner, (... k)."""
    off = A * (1 - np.eye(A.shape[-1]))
    return np.stack([(off[..., :k, :k] ** 2).sum((-1, -2)) for k in range(1, A.shape[-1] + 1)], -1)


def sampled_chance(jacobians: np.ndarray, s: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Scores of random frames, (frame sampled block k)."""
    width, k = jacobians.shape[-1], s.shape[-1]
    sample = []
    for _ in range(FRAMES):
        A = haar(rng, width, k).T @ jacobians @ haar(rng, width, k)
        diagonal, off = np.diagonal(A, axis1=-2, axis2=-1), nested_off_diagonal(A)
        sample.append([score(diagonal, off, s, name) for name in sampled_definitions()])
    return np.array(sample)


def principal_angles(frames: np.ndarray, angle_k: np.ndarray) -> np.ndarray:
    """Degrees between the leading k columns of each pair of frames, (grid block block k_angle)."""
    n_blocks = len(frames)
    angles = np.full((len(angle_k), n_blocks, n_blocks, angle_k.max()), np.nan)
    for i, k in enumerate(angle_k):
        overlap = np.einsum("adi,bdj->abij", frames[..., :k], frames[..., :k])
        cosines = np.linalg.svd(overlap, compute_uv=False).clip(-1, 1)
        angles[i, :, :, :k] = np.degrees(np.arccos(cosines))
    return angles


def certificate(J: np.ndarray, U: np.ndarray, s: np.ndarray, V: np.ndarray) -> Certificate:
    """How well a full SVD reconstructs its Jacobian."""
    eye = np.eye(len(s))
    return Certificate(
        certified=True,
        method="full",
        orthonormality=float(max(np.linalg.norm(Q.T @ Q - eye) for Q in (U, V))),
        residual=float(np.linalg.norm(J @ V - U * s, axis=0).max() / s[0]),
    )


def trajectory_result(
    n_tokens: int = 6, n_blocks: int = 12, width: int = 16, seed: int = 0, **changes: Any
) -> results.TrajectoryResult:
    """Random walks as a result; the first token lies far from the others."""
    rng = np.random.default_rng(seed)
    states = rng.standard_normal((n_blocks + 1, n_tokens, width)).cumsum(0).astype(np.float32) + 1
    states[:, 0] *= 50
    norms, steps = trajectory.norms(states), trajectory.step_lengths(states)
    one_step, rolled_out = rng.uniform(0.1, 1, (2, n_blocks, n_tokens)).astype(np.float32)
    result = results.TrajectoryResult(
        **_about("trajectory", f"{seed}", _words(n_tokens)),
        token_ids=np.arange(n_tokens),
        width=width,
        norms=norms,
        step_lengths=steps,
        line_shape=trajectory.line_shape(states),
        windowed_line_shape=trajectory.windowed_line_shape(states),
        entropy=rng.uniform(0, 5, norms.shape).astype(np.float32),
        no_entropy="",
        one_step=one_step,
        rolled_out=rolled_out,
        states=states,
        kept=np.arange(1, n_tokens + 1),
    )
    return replace(result, **changes)


def what_if_result(
    n_tokens: int = 6, n_blocks: int = 5, seed: int = 0, **changes: Any
) -> results.WhatIfResult:
    """Random effects as a result: smaller for blocks that lie near one another."""
    rng = np.random.default_rng(seed)
    edits = every_edit(n_blocks)
    apart = np.array([1 + abs(edit.blocks[0] - edit.blocks[-1]) for edit in edits])
    shape = (len(edits), n_tokens)
    divergence = (0.1 * apart[:, None] * rng.uniform(0.5, 1.5, shape)).astype(np.float32)
    loss = rng.normal(0, 0.1, shape).astype(np.float32)
    loss[:, -1] = np.nan
    own_loss = rng.uniform(1, 5, n_tokens).astype(np.float32)
    own_loss[-1] = np.nan
    exchanges = rng.uniform(0.1, 1, (3, n_blocks - 1, n_tokens)).astype(np.float32)
    result = results.WhatIfResult(
        **_about("what-if", f"{seed}", _words(n_tokens)),
        token_ids=np.arange(n_tokens),
        width=16,
        edits=tuple(map(str, edits)),
        refused={},
        measured_of="tokens",
        divergence=divergence,
        loss=loss,
        stays=rng.integers(0, 2, shape).astype(np.float32),
        own_loss=own_loss,
        exchange_true=exchanges[0],
        exchange_predicted=exchanges[1],
        exchange_cosine=exchanges[2],
        no_prediction={},
    )
    return replace(result, **changes)


def directions_result(
    n_blocks: int = 4, width: int = 24, k: int = 6, seed: int = 0, **changes: Any
) -> results.DirectionsResult:
    """Random frames as a result, with readouts of which a few are beyond chance."""
    rng = np.random.default_rng(seed)
    u, v = np.linalg.qr(rng.standard_normal((2, n_blocks, width, k)))[0].astype(np.float16)
    s = np.sort(rng.uniform(0.5, 3, (n_blocks, k)).astype(np.float32))[:, ::-1]
    top = rng.integers(0, 50, (3, n_blocks, k, 2, 5)).astype(np.int32)
    matrices = rng.uniform(-0.3, 0.3, (n_blocks, n_blocks, k, k)).astype(np.float16)
    matrices[range(n_blocks), range(n_blocks)] = [np.diag(each / each[0]) for each in s]
    result = results.DirectionsResult(
        **_about("directions", f"{seed}", TOKENS),
        token_ids=np.arange(4),
        width=width,
        token=4,
        u=u,
        v=v,
        rounding=rng.uniform(0, 0.02, (n_blocks, 2)).astype(np.float32),
        singular_values=s.copy(),
        next_singular_value=np.full(n_blocks, 0.4),
        jacobian_norm=np.full(n_blocks, 5.0),
        rank=np.full(n_blocks, k),
        matrices=matrices,
        top=top,
        top_z=rng.uniform(2, 5, top.shape).astype(np.float32),
        top_cosine=rng.uniform(0, 0.5, top.shape).astype(np.float32),
        peakedness=rng.uniform(2, 5, top.shape[:3]).astype(np.float32),
        floor=np.full((3, n_blocks), 4.5, np.float32),
        missing={},
        vocabulary={str(i): f" word{i}" for i in range(50)},
        certificates=(Certificate(True, "full", 1e-7, 1e-6),) * n_blocks,
    )
    return replace(result, **changes)


def spectrum_result(n_blocks: int = 5, width: int = 8, **changes: Any) -> results.SpectrumResult:
    """The linear maps of random Jacobians as a result, measured the obvious way."""
    jacobians = planted_jacobians(n_blocks, width, coupling=0.3) / 2
    maps = [np.eye(width) + J for J in jacobians]
    values, condition = (np.stack(part) for part in zip(*map(_eigen, maps), strict=True))
    svds = [gauged_svd(J) for J in jacobians]
    result = results.SpectrumResult(
        **_about("spectrum", "spectrum", TOKENS),
        token_ids=np.arange(10, 10 + len(TOKENS)),
        width=width,
        token=len(TOKENS),
        eigenvalues=np.stack([values.real, values.imag], -1),
        condition=condition,
        residual=np.full(n_blocks, 1e-15),
        jacobian_norm=np.linalg.norm(jacobians, axis=(1, 2)),
        departure=np.linspace(0.2, 0.5, n_blocks),
        asymmetry=np.linspace(0.9, 1.0, n_blocks),
        singular_values=np.stack([s for _, s, _ in svds]),
        u_dot_v=np.stack([(U * V).sum(0) for U, _, V in svds]),
        certificates=tuple(certificate(J, *svd) for J, svd in zip(jacobians, svds, strict=True)),
        participation=np.where(np.tri(n_blocks).T > 0, 3.0, np.nan),
        product_values=np.linspace(1, 0.1, width) * np.ones((n_blocks, 1)),
        exponents=np.linspace(0.3, -1, width),
        shuffled_values=np.linspace(1, 0.2, width) * np.ones((8, 1)),
    )
    return replace(result, **changes)


def perturbation_result(
    n_blocks: int = 5, width: int = 8, **changes: Any
) -> results.PerturbationResult:
    """Noise that grows with its size, and whose first order is off in proportion to it."""
    rng = np.random.default_rng(3)
    sizes = np.array([0.01, 0.1, 1.0])
    shape = (3, len(sizes), 6, n_blocks + 1)
    spread = rng.uniform(0.9, 1.1, shape).astype(np.float32)
    distance = (sizes[:, None, None] * spread).astype(np.float32)
    off = np.where(np.arange(n_blocks + 1) > 0, 0.5 * distance, 0).astype(np.float32)
    result = results.PerturbationResult(
        **_about("perturbation", "noise", TOKENS),
        token_ids=np.arange(10, 10 + len(TOKENS)),
        width=width,
        token=len(TOKENS),
        certificates=(Certificate(True, "full", 0.0, 0.0),) * n_blocks,
        noise_sizes=sizes,
        directions=width,
        distance=distance,
        cosine=1 / np.sqrt(1 + distance**2),
        linear_distance=distance * (1 + off),
        linear_cosine=1 / np.sqrt(1 + (distance * (1 + off)) ** 2),
        error=off,
        rounding=np.full(n_blocks + 1, 1e-7),
    )
    return replace(result, **changes)


def _eigen(M: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues and their conditions, the largest modulus first."""
    values, X = np.linalg.eig(M)
    order = np.argsort(-np.abs(values), kind="stable")
    inverse = np.linalg.inv(X)
    condition = np.linalg.norm(inverse, axis=1) * np.linalg.norm(X, axis=0)
    return values[order].astype(complex), condition[order]


EVERY_KIND = (
    random_result,
    trajectory_result,
    what_if_result,
    spectrum_result,
    perturbation_result,
    directions_result,
)
"""What makes a result of each kind that is measured without a module."""
