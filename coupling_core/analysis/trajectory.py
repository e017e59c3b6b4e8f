"""Regularity of the paths that tokens take through depth: how straight, how evenly spaced.

A path is the states x^0 .. x^L of one token. None of these numbers changes where all paths are
rotated or scaled together. What a path leaves undefined is NaN, never a number.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from coupling_core.base.token_ids import Array

WINDOW = 11
"""States in a window of the line-shape score by depth (preprint, Figure 25)."""
CLOSED = 1e-9
"""A sum of unit steps shorter than this, a step, is a path that comes back to where it began."""
RESOLVED_GROWTH = 1e-6
"""Smallest mean growth rate, a block, that float32 states tell from none."""

States = Float[np.ndarray, "state token d"]


def norms(states: States) -> Float[np.ndarray, "state token"]:
    """Euclidean norm of every state."""
    return np.linalg.norm(_as_float64(states), axis=-1)


def step_lengths(states: States) -> Float[np.ndarray, "block token"]:
    """norm(x^l - x^{l-1}), how far each block moves each token."""
    return np.linalg.norm(_steps(states), axis=-1)


def line_shape(states: States | Array | Sequence[Any]) -> Float[np.ndarray, " token"]:
    """Line-shape score L / norm(sum_l (x^l - x^{l-1}) / norm(x^l - x^{l-1})) (Eq. 10 and 11).

    1 is a straight line. A path that comes back to where it began, measured in unit steps, has an
    infinite score; one with a step of length 0, which has no direction, has none (NaN).

    Args:
        states: x^0 .. x^L of every token, two states at least.
    """
    directions = _directions(states)
    return _straightness(directions.sum(0), len(directions))


def windowed_line_shape(states: States | Array | Sequence[Any]) -> Float[np.ndarray, "state token"]:
    """Line-shape score of the `WINDOW` states centred at each state (preprint, Figure 25).

    Args:
        states: x^0 .. x^L of every token.

    Returns:
        NaN where the window does not fit.
    """
    half = WINDOW // 2
    directions = _directions(states)
    n_states = len(directions) + 1
    found = np.full((n_states, directions.shape[1]), np.nan)
    for centre in range(half, n_states - half):
        inside = directions[centre - half : centre + half]
        found[centre] = _straightness(inside.sum(0), len(inside))
    return found


def growth_rates(
    norms: Float[np.ndarray, "state token"] | Array | Sequence[Any],
) -> Float[np.ndarray, "block token"]:
    """alpha^l = ln(norm(x^l) / norm(x^{l-1})) (Eq. 12); NaN next to a state of norm 0.

    Args:
        norms: Euclidean norms of x^0 .. x^L (state token).

    Returns:
        a rate a block (block token), in units of one a block.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = np.diff(np.log(_as_float64(norms)), axis=0)
    return np.where(np.isfinite(rates), rates, np.nan)


def expodistance(
    norms: Float[np.ndarray, "state token"] | Array | Sequence[Any],
) -> Float[np.ndarray, " token"]:
    """Expodistance Var_l(alpha^l) / Avg_l(alpha^l)^2 (Eq. 13), the variance that of a population.

    0 is a norm that grows by the same factor in every block. NaN where a state has norm 0, or where
    the norm neither grows nor shrinks from the first state to the last: where the mean rate is 1e-6
    a block or less, which float32 states do not tell from none.

    Args:
        norms: Euclidean norms of x^0 .. x^L (state token).

    Returns:
        a number a token, without a unit.
    """
    rates = growth_rates(norms)
    mean = rates.mean(0)
    known = np.abs(mean) > RESOLVED_GROWTH
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(known, rates.var(0) / mean**2, np.nan)


def why_no_expodistance(norms: Float[np.ndarray, "state token"]) -> tuple[str, ...]:
    """Why each token has no expodistance; empty where it has one."""
    means = growth_rates(norms).mean(0)
    return tuple(
        "a state has norm 0"
        if np.isnan(mean)
        else f"the mean alpha is {mean:.1e}: the norm neither grows nor shrinks"
        if abs(mean) <= RESOLVED_GROWTH
        else ""
        for mean in means
    )


def equidistance(
    step_lengths: Float[np.ndarray, "block token"] | Array | Sequence[Any],
) -> Float[np.ndarray, " token"]:
    """Coefficient of variation over l of norm(x^l - x^{l-1}); 0 is steps of one length.

    NaN where the token never moves.

    Args:
        step_lengths: norm(x^l - x^{l-1}) (block token), in the units of the states.

    Returns:
        a number a token, without a unit.
    """
    lengths = _as_float64(step_lengths)
    mean = lengths.mean(0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(mean > 0, lengths.std(0) / mean, np.nan)


OF_STATES = (norms, step_lengths, line_shape, windowed_line_shape)
"""What is measured of states, each under its own name."""


def of_paths(states: States) -> dict[str, Float[np.ndarray, " token"]]:
    """The numbers of whole paths, by name."""
    return {
        "line_shape": line_shape(states),
        "expodistance": expodistance(norms(states)),
        "equidistance": equidistance(step_lengths(states)),
    }


def _steps(states: States | Array | Sequence[Any]) -> Float[np.ndarray, "block token d"]:
    with np.errstate(invalid="ignore"):  # between infinite states
        return np.diff(_as_float64(states), axis=0)


def _directions(states: States | Array | Sequence[Any]) -> Float[np.ndarray, "block token d"]:
    """Unit steps; NaN where a step has length 0."""
    steps = _steps(states)
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = steps / np.abs(steps).max(-1, keepdims=True)  # else squares may overflow
        return steps / np.linalg.norm(steps, axis=-1, keepdims=True)


def _straightness(
    sum_of_units: Float[np.ndarray, "token d"], n_steps: int
) -> Float[np.ndarray, " token"]:
    length = np.linalg.norm(sum_of_units, axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return n_steps / np.where(length < CLOSED * n_steps, 0.0, length)


def _as_float64(given: Any) -> Float[np.ndarray, "..."]:
    """Numbers as an array, from one of NumPy, a list, or a tensor of any precision and device."""
    if hasattr(given, "detach"):  # of torch: one in bfloat16 or with a gradient is no array yet
        given = given.detach().cpu().double().numpy()
    elif isinstance(given, list | tuple) and any(hasattr(one, "detach") for one in given):
        given = [_as_float64(one) for one in given]  # such as the hidden states of a model
    return np.asarray(given, np.float64)
