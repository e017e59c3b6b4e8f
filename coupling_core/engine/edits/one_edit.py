"""One edit by itself: its effect, the likeliest next tokens under it, and a greedy continuation."""

from contextlib import nullcontext
from dataclasses import dataclass

import torch

from coupling_core.base.edits import Edit
from coupling_core.base.errors import ComputeError, InputError
from coupling_core.base.records import Stack
from coupling_core.engine.edits.edited import edited
from coupling_core.engine.edits.effects import Effect, Effects, Measured
from coupling_core.engine.edits.obstacles import Obstacles
from coupling_core.engine.edits.replays import Replays
from coupling_core.engine.edits.running import run_edits
from coupling_core.engine.jacobians.decode import read
from coupling_core.engine.jacobians.runner import Prompt, runner_of
from coupling_core.engine.loading import LoadedModel, class_name

LIKELIEST = 5


@dataclass(frozen=True)
class Continued:
    """What a model says after a prompt.

    Args:
        likeliest: ids of the likeliest next tokens, the likeliest first.
        probabilities: of them.
        continuation: ids of the tokens that follow where the likeliest is taken each time; it ends
            with the token that ends a text, or after so many.
    """

    likeliest: tuple[int, ...]
    probabilities: tuple[float, ...]
    continuation: tuple[int, ...]


def effect_of(
    loaded: LoadedModel, reads: Prompt, edit: Edit, stack: Stack | None = None
) -> tuple[Edit, Effect, Measured]:
    """One edit as it is stored, its effect, and what that is taken of."""
    replays = Replays(read(loaded.model, reads, stack=stack, device=loaded.device), at_once=1)
    edit = edit.of(replays.n_blocks)
    if why := Obstacles(replays).of(edit):
        raise InputError(f"{edit} cannot be run: {why}")
    effects = Effects(replays)
    found: dict[int, Effect] = {}
    run_edits(replays, effects, [edit], found.__setitem__)
    if not found[0].is_sound:
        raise ComputeError(f"under {edit} the model gives no finite numbers")
    return edit, found[0], effects.measured


def continued(loaded: LoadedModel, ids: list[int], edit: Edit, count: int) -> Continued:
    """Let a model go on under an edit."""
    model = loaded.model
    may = getattr(model, "can_generate", lambda: False)()
    if not may or model.config.is_encoder_decoder:
        raise InputError(f"{class_name(model)} does not continue texts: no head tells what is next")
    runner, first = runner_of(model, ids, None, loaded.device)
    ends = _ends(model)
    found: list[torch.Tensor] = []
    said: list[int] = []
    with torch.no_grad(), edited(model, edit) if edit.blocks else nullcontext():
        while len(said) < count and not ends.intersection(said[-1:]):
            reads = torch.cat([first, first.new_tensor([said])], 1)
            logits = runner(reads, use_cache=False, **runner.few_logits).logits[0, -1]
            if logits.isnan().any():
                raise ComputeError(f"under {edit} the model gives no finite numbers")
            found.append(logits.double().softmax(-1))
            said.append(int(found[-1].argmax()))
    top = found[0].topk(min(LIKELIEST, len(found[0])))
    return Continued(tuple(top.indices.tolist()), tuple(top.values.tolist()), tuple(said))


def _ends(model: torch.nn.Module) -> set[int]:
    """Ids of the tokens that end a text."""
    own = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
    return set(own if isinstance(own, list) else [own] if own is not None else [])
