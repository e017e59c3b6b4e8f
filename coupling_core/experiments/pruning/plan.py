"""What `prune` returns: the plan with its prices, drawn, and saved as a shorter model."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from coupling_core.analysis.pruning import words
from coupling_core.analysis.pruning.study import Study
from coupling_core.base.folders import expanded
from coupling_core.base.notebook import Plottable


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Pruning(Study, Plottable[str]):
    """Rankings of a model's blocks, what they cost, and the models that they leave.

    The only figure is "pruning": held-out loss against blocks removed, a line a ranking, over what
    random sets cost.

    Args:
        module: the module of one's own that was pruned; None where the model has a name.
        tokenizer: its tokenizer.
    """

    figures: ClassVar = {"pruning": "pruning.pruning"}

    module: Any = field(default=None, compare=False)
    tokenizer: Any = field(default=None, compare=False)

    @property
    def verdict(self) -> str:
        """In two sentences: what the cheapest ranking costs, and whether coupling is one."""
        return words.verdict(self)

    def save(self, folder: str | os.PathLike[str], by: str, remove: int) -> Path:
        """Write the model without the blocks that a ranking removes, whole or not at all.

        `AutoModelForCausalLM.from_pretrained(folder)` loads it, with transformers alone. Beside it
        are its tokenizer, a card (README.md) that says how it was made, and a recipe of mergekit
        that makes it of the original.

        Args:
            folder: where to; empty, or not there yet.
            by: the ranking, as it was measured here; not `random`.
            remove: how many blocks go.

        Returns:
            the folder.

        Raises:
            InputError: where the folder is not empty, or the model cannot be shortened.
            ComputeError: where what was written has another loss than was promised, or the disk is
                full. Nothing is left there then.
        """
        from coupling_core.experiments.pruning.saving import save

        return save(self, expanded(folder), by, remove)

    def __repr__(self) -> str:
        removed = sorted({point.removed for point in self.curve})
        return (
            f"Pruning({self.model}, {self.n_blocks} blocks, {', '.join(self.rankings)}, "
            f"{removed[0]} to {removed[-1]} removed)"
        )
