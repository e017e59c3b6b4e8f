"""What a shorter model's folder says of itself: its card, and a recipe of mergekit."""

import json
from collections.abc import Sequence
from typing import Any

from coupling_core.analysis.pruning.prices import Point
from coupling_core.analysis.pruning.rankings import NAMES
from coupling_core.analysis.pruning.study import Study
from coupling_core.analysis.pruning.words import told
from coupling_core.base.units import ranges

_CARD = """---
library_name: transformers
pipeline_tag: text-generation
tags:
- pruned
---

# {model} without {count} of its {L} blocks

Blocks {blocks} (counted from 1) are left out, and nothing was trained afterwards. {saved:.1f} MB in
float32 are saved, of {whole:.1f}.

| loss of held-out texts | nats a token (95 % interval over texts) |
|---|---|
| the whole model | {before} |
| this one | {after} |

- **Ranking**: {by} ({name}), on {ranked} texts.
- **Judged on**: {judged} other texts, {tokens} predicted tokens; {source}.
- **Loss**: cross entropy of the next token, with weights and arithmetic in float32:
  `AutoModelForCausalLM.from_pretrained(folder, dtype="float32")` has it to {promised:g}.
- **Made of**: {model}, content {digest}, by `coupling prune` {version}{date}.
- **mergekit**: `mergekit.yml` is the same as a recipe of passthrough slices.

The licence is that of the original model. How well it does anything but predict these texts was not
measured.
"""
PROMISED = 1e-5
"""How far the loss of a saved model may be from the one that was told, in nats a token."""


def card(plan: Study, point: Point) -> str:
    """The card of a model without the blocks of a ranking, as README.md."""
    made: Any = plan.provenance
    return _CARD.format(
        model=plan.model,
        count=point.removed,
        L=plan.n_blocks,
        blocks=ranges(point.blocks),
        saved=plan.megabytes(point.blocks),
        whole=4 * plan.parameters / 1e6,
        before=told(plan.whole),
        after=told(point.left_out),
        by=point.by,
        name=NAMES[point.by],
        ranked=len(plan.ranked_on),
        judged=len(plan.judged_on),
        tokens=sum(plan.predicted),
        source=plan.source,
        promised=PROMISED,
        digest=plan.digest or "not known",
        version=made.get("versions", {}).get("coupling-explorer", ""),
        date=f", {made['date'][:10]}" if "date" in made else "",
    )


def recipe(plan: Study, kept: Sequence[int]) -> str:
    """The same model as slices of the original that mergekit passes through, in YAML.

    mergekit counts blocks from 0, and leaves the ends of ranges out.
    """
    runs: list[list[int]] = []
    for block in kept:
        if runs and block == runs[-1][1] + 1:
            runs[-1][1] = block
        else:
            runs.append([block, block])
    model = json.dumps(str(plan.asked.get("model") or plan.model))
    slices = "".join(
        f"  - sources:\n      - model: {model}\n        layer_range: [{first - 1}, {last}]\n"
        for first, last in runs
    )
    return (
        f"# {plan.model}: the blocks that stay. Where mergekit does not know it by this name, give "
        f"its folder.\nslices:\n{slices}merge_method: passthrough\ndtype: float32\n"
    )
