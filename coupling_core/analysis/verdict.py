"""A trained model's scores beside those of the untrained model, over the same pairs of blocks."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from coupling_core.analysis.over_prompts import OfPrompt, ends, mean_scores
from coupling_core.analysis.scores import Interval, below_chance, known_interval, score_pairs
from coupling_core.base.records import View
from coupling_core.base.results import DepthResult, Scores
from coupling_core.base.results.scores import Means
from coupling_core.base.units import counted, ranges, rounded
from coupling_core.base.wording import paragraph, sentences

MIDDLE = tuple(range(9, 17))
"""The blocks of the paper's Figure 3: those compared unless blocks are chosen."""


@dataclass(frozen=True)
class Verdict:
    """Mean scores over pairs l != l' of these blocks, and how many exceed the untrained model's.

    `above` counts pairs whose chance-corrected score exceeds that of every pair of the untrained
    model: corrected, for the chance levels of two models differ. `prompts` has means of each
    example prompt, `over` the interval over many prompts; the text is `corrected`, or raw, and says
    `how` scores are looked at where not as usual, and why the mean is `below` chance where it is.
    """

    blocks: tuple[int, ...]
    trained: Means
    untrained: Means | None
    above: int
    pairs: int
    prompts: tuple[Means, ...] = ()
    over: Interval | None = None
    corrected: bool = True
    how: str = ""
    below: str = ""

    def __str__(self) -> str:
        blocks, over = ranges(self.blocks), self.over
        which = counted(len(self.blocks), "block") if "," in blocks else f"Blocks {blocks}"
        score = "chance-corrected score" if self.corrected else "score c"
        details = sentences(
            "" if over is None else counted(over.n, "prompt") + f", {ends(over)}" * (over.n > 1),
            "" if self.untrained is None else f"untrained model {self._number(self.untrained)}",
            f"{'0 = chance, ' * self.corrected}1 = identical bases",
        )
        return paragraph(
            f"{which}: mean {score}{self.how} {self._number(self.trained)} ({'; '.join(details)}).",
            (
                len(self.prompts) > 1,
                f"Each example prompt alone: {'; '.join(map(self._number, self.prompts))}.",
            ),
            self.below,
        )

    def _number(self, mean: Means) -> str:
        if self.corrected:
            return rounded(mean.corrected)
        return f"{rounded(mean.coupling)} at chance level {rounded(mean.chance)}"

    @property
    def reason(self) -> str:
        """How many pairs exceed all of the untrained model's; "" if that is not measured."""
        if self.untrained is None:
            return ""
        scores = "chance-corrected scores" + " averaged over the prompts" * bool(self.over)
        return paragraph(
            f"{self.above} of the {counted(self.pairs, 'pair')} of these blocks, each in both "
            f"orders, score higher than every such pair of the untrained model ({scores}).",
            (not self.over, "One prompt is only an illustration."),
        )


def verdict(
    trained: DepthResult,
    untrained: DepthResult | None,
    view: View,
    examples: Sequence[DepthResult] = (),
    *,
    corrected: bool = True,
) -> Verdict | None:
    """Compare a model's coupling with the untrained model's over the view's blocks, or `MIDDLE`.

    None where there is no pair of different blocks, or some are not measured.
    """
    view = replace(view, blocks=view.blocks or (MIDDLE if trained.n_blocks >= MIDDLE[-1] else None))
    own = score_pairs(trained, view)
    return _compared(
        own,
        score_pairs(untrained, view) if untrained else None,
        prompts=tuple(score_pairs(one, view).mean() for one in examples),
        corrected=corrected,
        below=below_chance(trained, own) if corrected else "",
    )


def verdict_over(
    trained: Sequence[OfPrompt], untrained: Sequence[OfPrompt], *, corrected: bool = True
) -> Verdict | None:
    """The same of the means over many prompts, each model with the same ones."""
    return _compared(
        mean_scores([one.scores for one in trained]),
        mean_scores([one.scores for one in untrained]),
        over=known_interval(np.array([one.mean(corrected=corrected) for one in trained])),
        corrected=corrected,
    )


def _compared(
    trained: Scores,
    untrained: Scores | None,
    *,
    prompts: tuple[Means, ...] = (),
    over: Interval | None = None,
    corrected: bool,
    below: str = "",
) -> Verdict | None:
    off = ~np.eye(len(trained.blocks), dtype=bool)
    own = trained.corrected[off]
    if not own.size or np.isnan(own).any():
        return None
    most = np.nan if untrained is None else untrained.corrected[off].max()
    return Verdict(
        tuple(trained.blocks),
        trained.mean(),
        None if untrained is None or np.isnan(most) else untrained.mean(),
        int((own > most).sum()),
        own.size,
        prompts,
        over,
        corrected,
        trained.view.unlike_usual,
        below,
    )
