"""One edit of a model's depth: its effect, and what the model says then. Nothing is stored."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from coupling_core.base.edits import parse_edit
from coupling_core.base.records import Request
from coupling_core.measuring.measure import aside
from coupling_core.sources.resolved import resolve

TOKENS = 20
"""Of a continuation."""


@dataclass(frozen=True)
class Said:
    """What a model says after a prompt under an edit.

    Args:
        edit: as it is spelled; `none` is the model as it is.
        likeliest: the likeliest next tokens with their probabilities, the likeliest first.
        continuation: the text that follows where the likeliest token is taken each time.
    """

    edit: str
    likeliest: tuple[tuple[str, float], ...]
    continuation: str


@dataclass(frozen=True)
class EditEffect:
    """What one edit does, by token; of a picture's classes, one number each.

    Args:
        edit: as it is spelled.
        measured_of: as of a `WhatIfResult`.
        tokens: of the prompt.
        divergence: likewise.
        loss: likewise.
        stays: likewise.
    """

    edit: str
    measured_of: str
    tokens: tuple[str, ...]
    divergence: Float[np.ndarray, " outcome"]
    loss: Float[np.ndarray, " outcome"]
    stays: Float[np.ndarray, " outcome"]


def edit_effect(request: Request, edit: str, device: str | None = None) -> EditEffect:
    """Run one edit of a model's depth, also of those that no measurement has.

    Args:
        request: names the model and the prompt.
        edit: as it is spelled.
        device: where to compute; None takes CUDA where there is one.

    Raises:
        InputError: where the edit cannot be read or run.
        ComputeError: where the edited model gives no finite numbers.
    """
    wanted = parse_edit(edit)
    with aside(resolve(request), device=device) as ready:
        from coupling_core.engine.edits.one_edit import effect_of

        loaded = ready.loaded
        reads = loaded.encode(request.prompt)
        stored, found, measured = effect_of(loaded, reads, wanted, request.stack)
        ids = reads if isinstance(reads, list) else list(range(len(found.divergence)))
        return EditEffect(
            str(stored),
            measured,
            loaded.token_names(reads, ids),
            *(part.cpu().numpy() for part in vars(found).values()),
        )


def continuations(
    request: Request, edits: Sequence[str], tokens: int = TOKENS, device: str | None = None
) -> tuple[Said, ...]:
    """Let the model of a request go on with its prompt under each of several edits.

    Args:
        request: names the model and the prompt.
        edits: as they are spelled; `none` leaves the model as it is.
        tokens: of each continuation, unless the model ends its text before.
        device: where to compute; None takes CUDA where there is one.

    Raises:
        InputError: where an edit cannot be read, or the model does not continue texts.
        ComputeError: where the edited model gives no finite numbers.
    """
    wanted = [parse_edit(text) for text in edits]
    with aside(resolve(request), device=device) as ready:
        from coupling_core.engine.edits.one_edit import continued

        loaded = ready.loaded
        ids = loaded.encode(request.prompt)
        found = [(str(edit), continued(loaded, ids, edit, tokens)) for edit in wanted]
        return tuple(
            Said(
                edit,
                tuple(zip(loaded.texts(list(one.likeliest)), one.probabilities, strict=True)),
                _text(loaded, list(one.continuation)),
            )
            for edit, one in found
        )


def _text(loaded: Any, ids: list[int]) -> str:
    return loaded.tokenizer.decode(ids) if loaded.tokenizer else "".join(loaded.texts(ids))
