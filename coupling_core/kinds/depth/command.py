"""`coupling depth`: the depth-wise coupling of one prompt, or its mean over many."""

from typing import Annotated

from coupling_core.base.kinds import DEFAULT_K_VIEW
from coupling_core.base.records import parse_blocks
from coupling_core.cli import options
from coupling_core.cli.many_drawn import figure_option, one_drawn
from coupling_core.cli.one_or_many import Shown, answer
from coupling_core.kinds.depth.prompts import MapsTogether


def command(
    *,
    asked: options.Differentiating,
    token: options.Token = None,
    blocks: options.Blocks = None,
    scores: options.Scores,
    k_view: Annotated[int | None, options.k_view_option(DEFAULT_K_VIEW)] = None,
    figure: Annotated[str, figure_option("depth")] = "mosaic",
    output: options.Output,
) -> None:
    """Measure how far the blocks of a model act in one common basis, at one token."""
    corrected = scores.corrected
    shown = Shown(
        one_drawn(figure, corrected=corrected),
        MapsTogether("corrected" if corrected else "coupling", asked.many),
        lambda found: scores.view(found.default_k, parse_blocks(blocks, found.n_blocks)),
        blocks=blocks,
    )
    answer(asked, asked.request(token=token, k=scores.k, k_view=k_view), shown, output)
