"""`coupling depth`: the depth-wise coupling of one prompt, or its mean over many."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from coupling_core.analysis.over_prompts import OfPrompt, mean_scores, of_prompt
from coupling_core.analysis.scores import MIN_PROMPTS, block_means, means, score_pairs
from coupling_core.analysis.subspaces import gaps
from coupling_core.base.images import is_image
from coupling_core.base.kinds import DEFAULT_K_VIEW
from coupling_core.base.records import View
from coupling_core.base.results import DepthResult
from coupling_core.base.results.scores import MEASURES
from coupling_core.cli import options, reports
from coupling_core.cli.one_or_many import answer
from coupling_core.cli.rows import Axes, Row
from coupling_core.cli.shown import Shown
from coupling_core.cli.terminal import Told, print_table, warn

if TYPE_CHECKING:  # plotly is slow to import, and only files of figures need it
    import plotly.graph_objects as go


def command(
    *,
    asked: options.Differentiating,
    token: options.Token = None,
    blocks: options.Blocks = None,
    scores: options.Scores,
    k_view: Annotated[int | None, options.k_view_option(DEFAULT_K_VIEW)] = None,
    figure: str = "mosaic",
    output: options.Output,
) -> None:
    """Measure how far the blocks of a model act in one common basis, at one token."""
    shown = Maps(
        "depth",
        asked.many,
        figure,
        {"corrected": scores.corrected},
        scores.of_blocks(blocks),
        blocks,
        dots=scores.drawn,
    )
    answer(asked, asked.request(token=token, k=scores.k, k_view=k_view), shown, output)


@dataclass
class Maps(Shown):
    """Keeps parts of the results of prompts by their keys, then reports and draws their means."""

    parts: dict[str, OfPrompt] = field(default_factory=dict)

    def row(self, result: DepthResult, view: View) -> dict[str, float]:
        """The numbers of one prompt."""
        self.parts[result.key] = of_prompt(result, view)
        return super().row(result, view)

    def arrays(self, rows: Sequence[Row]) -> Mapping[str, tuple[Axes, np.ndarray]]:
        """Mean matrices over the prompts, and what each prompt gave: its matrices and means."""
        every = [self.parts[row.key].scores for row in rows]
        found: dict[str, tuple[Axes, np.ndarray]] = {}
        for name, mean in self._means(rows).items():
            each = np.stack([getattr(one, name) for one in every])
            found[name] = ("block", "basis"), mean
            found[f"{name}_of_each"] = ("prompt", "block", "basis"), each
            found[f"prompt_{name}"] = ("prompt",), np.array([row.mean[name] for row in rows])
        return found | {"blocks": (("block",), np.array(every[0].blocks))}

    def told(self, rows: Sequence[Row]) -> Told:
        """The mean matrices and how they are looked at, for JSON; nothing of it is printed."""
        first = self.parts[rows[0].key].scores
        if np.isnan([row.mean["corrected"] for row in rows]).all():
            warn(first.none_words)
        return {
            "enough": len(rows) >= MIN_PROMPTS,
            **reports.how_scored(first.view),
            "blocks": first.blocks,
            **self._means(rows),
        }, lambda: None

    def draw(self, rows: Sequence[Row]) -> "go.Figure":
        """The mean map."""
        from coupling_core import figures  # plotly

        parts = [self.parts[row.key] for row in rows]
        return figures.mean_map(parts, self.listed, corrected=self.dots == "corrected")

    def _means(self, rows: Sequence[Row]) -> dict[str, np.ndarray]:
        found = mean_scores([self.parts[row.key].scores for row in rows])
        return {name: getattr(found, name) for name in MEASURES}


def summary(result: DepthResult, view: View) -> dict[str, Any]:
    """Every number of one view, ready for JSON."""
    found = score_pairs(result, view)
    return {
        "next_tokens": result.next_tokens,
        **reports.of_view(result, view),
        "blocks": found.blocks,
        "mean": means(found),
        "coupling": found.coupling,
        "chance": found.chance,
        "corrected": found.corrected,
        "certified": [certificate.certified for certificate in result.certificates],
    }


def facts(result: DepthResult, view: View) -> dict[str, object]:
    """What comes next."""
    lead = "seen as" if is_image(result.request.prompt) else "next"
    return {lead: ", ".join(f"{text!r} {share:.2f}" for text, share in result.next_tokens)}


def tables(result: DepthResult, view: View) -> None:
    """Print a line a block."""
    found, k = score_pairs(result, view), view.k
    at = np.array(found.blocks) - 1
    s, ratio = result.singular_values[at], gaps(result, k)[at]
    (raw, _), corrected = block_means(found.coupling), block_means(found.corrected)
    last = f"s_{k}" + " " * (k == 1)  # which has a column of its own
    titles = {"block": "d", "s_1": ".3g", last: ".3g", f"s_{k}/s_{k + 1}": "z.4f"}
    titles |= dict.fromkeys(("c", "chance", "corrected", "corrected as basis"), "z.3f")
    scores = raw, found.chance[:, 0], *corrected
    rows = zip(found.blocks, s[:, 0], s[:, k - 1], ratio, *scores, strict=True)
    print_table(titles, rows)
