"""`coupling tokens`: the coupling between the tokens of one prompt."""

from typing import Annotated

import typer

from coupling_core.analysis.token_scores import require_kept
from coupling_core.base.errors import InputError
from coupling_core.base.records import TOKEN_K_VIEW, TokenKind
from coupling_core.cli import options
from coupling_core.cli.one_or_many import answer
from coupling_core.cli.shown import Shown
from coupling_core.kinds.tokens.views import FIGURES


def command(
    *,
    asked: options.Differentiating,
    kind: Annotated[
        TokenKind,
        typer.Option(
            help="self: each token with itself. fixed-input: one input token, every output. "
            "fixed-output: every input, one output token."
        ),
    ] = "self",
    block: Annotated[
        int | None,
        typer.Option(help="l, of the Jacobian; the mean over all pairs of blocks by default."),
    ] = None,
    other_block: Annotated[
        int | None, typer.Option(help="l', of the basis; the same by default.")
    ] = None,
    token: Annotated[
        int | None,
        typer.Option(
            help="The fixed one, 1..n or -1 for the last; by default, the first as input, the "
            "last as output."
        ),
    ] = None,
    scores: options.Scores,
    k_view: Annotated[int | None, options.k_view_option(TOKEN_K_VIEW)] = None,
    figure: str = "grid",
    output: options.Output,
) -> None:
    """Measure how far the Jacobians of two blocks share a basis across the tokens of a prompt."""
    if block is None:
        require_kept(scores.view())
        if why := FIGURES[figure].lacks(None):
            raise InputError(f"the figure {figure} {why}")
    ask = asked.request(
        kind, token=token, k=scores.k, k_view=k_view, block=block, other_block=other_block
    )
    shown = Shown(
        "tokens",
        asked.many,
        figure,
        {"corrected": scores.corrected},
        lambda result: scores.view(result.default_k),
        dots=scores.drawn,
    )
    answer(asked, ask, shown, output)
