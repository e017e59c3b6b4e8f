"""Slow, obvious versions of every stage: a door to `engine.reference`."""

from coupling_core.engine.reference import (
    arguments,
    block_jacobian,
    chance,
    coupling_matrix,
    random_frame,
    released,
    released_jacobian,
    released_scores,
    released_states,
    score,
)

__all__ = [
    "arguments",
    "block_jacobian",
    "chance",
    "coupling_matrix",
    "random_frame",
    "released",
    "released_jacobian",
    "released_scores",
    "released_states",
    "score",
]
