"""`coupling tokens`: the coupling between the tokens of one prompt."""

from functools import partial
from typing import Annotated, cast

import typer

from coupling_core.analysis.exports import row
from coupling_core.analysis.token_scores import require_kept
from coupling_core.base.records import DEFAULT_MODEL, Request, TokenKind, View
from coupling_core.base.results import Result, TokenMeansResult, TokensResult
from coupling_core.cli import files, options, reports
from coupling_core.cli.forewarning import forewarn
from coupling_core.cli.many import table_of_means
from coupling_core.cli.many_drawn import figure_of, score, strip
from coupling_core.cli.terminal import ProgressBar
from coupling_core.kinds.tokens.views import OF_A_PAIR, FigureName, draw, of_a_pair
from coupling_core.measuring.measure import answer
from coupling_core.sources.resolved import resolve
from coupling_core.store.disk import Store


def command(
    prompt: options.Prompt = None,
    image: options.Image = None,
    many: options.Prompts = None,
    kind: Annotated[
        TokenKind,
        typer.Option(
            help="self: each token with itself. fixed-input: one input token, every output. "
            "fixed-output: every input, one output token."
        ),
    ] = "self",
    mode: Annotated[  # what --kind was called
        TokenKind | None, typer.Option("--mode", hidden=True)
    ] = None,
    model: options.Model = DEFAULT_MODEL,
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
    k: options.K = None,
    k_view: Annotated[int | None, options.corner(16)] = None,
    definition: options.ScoreDefinition = "paper",
    p: options.Order = 1.0,
    role: options.MatrixRole = "A",
    corrected: options.Corrected = True,
    final_norm: options.Norm = "include",
    revision: options.Revision = None,
    untrained: options.Untrained = None,
    dtype: options.Rounded = "float32",
    quantize: options.Quantised = None,
    stack: options.OneStack = None,
    device: options.Device = None,
    plain: options.Plain = False,
    out: options.Out = None,
    figure: Annotated[FigureName, figure_of("tokens")] = "grid",
    as_json: options.Json = False,
    store: options.StoreFolder = None,
) -> None:
    """Measure how far the Jacobians of two blocks share a basis across the tokens of a prompt."""
    kind = mode or kind
    listed = options.prompt_or_prompts(prompt, image, many)
    ask = partial(
        Request,
        model=model,
        kind=kind,
        block=block,
        other_block=other_block,
        token=options.token_of(token, prompt, kind),
        k=k,
        k_view=k_view,
        final_norm=final_norm,
        revision=revision,
        untrained=untrained,
        dtype=dtype,
        quantize=quantize,
        stack=stack,
    )
    view = options.view_of(k, definition, p, role)
    if block is None:
        require_kept(view)
        _require_pair(figure)
    formats = files.FORMATS if listed is None else files.OF_MANY
    files.require_writable(out, formats, as_json=as_json)
    shelf = Store(store)
    if listed is not None:
        table_of_means(
            ask,
            listed,
            partial(_row, view, k),
            shelf,
            view_of=lambda result: options.at_its_k(view, k, result),
            device=device,
            fast=not plain,
            out=out,
            as_json=as_json,
            drawing=partial(strip, score(corrected=corrected), many),
        )
        return
    asked = resolve(ask(options.one_prompt(prompt, image)))
    if block is None:
        forewarn(asked, shelf)
    with ProgressBar() as bar:
        found = answer(asked, shelf, device=device, fast=not plain, progress=bar)
    result = cast(TokensResult | TokenMeansResult, found)
    view = options.at_its_k(view, k, result)
    if out is not None:
        drawn = partial(draw, result, view, figure, corrected=corrected)
        files.write_result(out, result, view, drawn, k_view=k_view)
    reports.tell(result, view, stored=not bar.used, as_json=as_json, out=out)


def _row(view: View, k: int | None, result: Result) -> dict[str, float]:
    return row(cast(TokensResult | TokenMeansResult, result), options.at_its_k(view, k, result))


def _require_pair(figure: FigureName) -> None:
    if figure in OF_A_PAIR:
        raise of_a_pair(figure)
