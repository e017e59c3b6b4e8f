"""A shorter model as a folder: checked as transformers alone loads it, before it is there."""

from pathlib import Path
from typing import Any

import torch

from coupling_core.analysis.pruning.study import Study
from coupling_core.base.edits import Removal
from coupling_core.base.errors import ComputeError, InputError
from coupling_core.base.records import Request
from coupling_core.base.writing import appearing, require_new, writing
from coupling_core.engine import loading
from coupling_core.engine.edits.shorter import text_loss
from coupling_core.experiments.pruning.card import PROMISED, card, recipe
from coupling_core.measuring.measure import asked_of


def save(plan: Any, folder: Path, by: str, remove: int) -> Path:
    """Write the model without the blocks that a ranking removes; see `Pruning.save`."""
    require_new(folder)
    if by == "random":
        raise InputError("random has several sets of blocks: save one of another ranking")
    point = plan.point(by, remove)
    kept = Removal(point.blocks).kept(plan.n_blocks)
    loaded = _loaded(plan)
    short = loading.shortened(loaded.model, kept)
    tokenizer = loaded.tokenizer
    with writing(folder), appearing(folder) as temporary:
        loading.save_whole(short, tokenizer, temporary)
        (temporary / "README.md").write_text(card(plan, point), encoding="utf-8")
        (temporary / "mergekit.yml").write_text(recipe(plan, kept), encoding="utf-8")
        _require_promised(plan, temporary, tokenizer, loaded.device, point.left_out.loss)
    return folder


def _loaded(plan: Any) -> Any:
    """The model that was pruned."""
    named = {name: value for name, value in plan.asked.items() if plan.module is None}
    asked, own = asked_of(Request(plan.judged_on[0], **named), plan.module, plan.tokenizer)
    if plan.module is None and plan.digest != str(asked.identity.get("digest", "")):
        raise InputError(
            f"{plan.model} is another model now than the one that was pruned: prune it anew"
        )
    return own or loading.load(asked)


def _require_promised(
    plan: Study, folder: Path, tokenizer: Any, device: torch.device, promised: float
) -> None:
    """Refuse a folder that does not have the loss that was told."""
    try:
        model = loading.reloaded(folder, device)
        found = held_out_loss(model, tokenizer, plan)
    except (RuntimeError, ValueError, KeyError, TypeError, IndexError) as error:
        raise ComputeError(
            f"transformers does not load what was written ({type(error).__name__}: {error}): this "
            "family's config cannot be cut, and nothing was saved"
        ) from error
    if not abs(found - promised) <= PROMISED:
        raise ComputeError(
            f"what was written has a loss of {found:.6f} nats a token where {promised:.6f} were "
            "measured: this family's config does not say all that belongs to a block's place, and "
            "nothing was saved"
        )


def held_out_loss(model: Any, tokenizer: Any, plan: Study) -> float:
    """Loss of a model, called plainly, over the texts that judge, in nats a token."""
    device = next(model.parameters()).device
    total = 0.0
    for text in plan.judged_on:
        ids = torch.tensor([list(tokenizer(text)["input_ids"])], device=device)
        total += text_loss(model, ids)
    return total / sum(plan.predicted)
