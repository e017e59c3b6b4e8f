"""`coupling graph`: the blocks of a model as a graph, weighted by their coupling at one token."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from coupling_core.analysis.exports import ENDINGS
from coupling_core.analysis.exports.graph import graph_file
from coupling_core.analysis.graph import (
    EDGE_COLUMNS,
    communities,
    communities_words,
    edge_rows,
    edges_words,
    groups,
    last_block_words,
    layer_graph,
    modularity,
    require_threshold,
)
from coupling_core.analysis.locality import Locality, locality
from coupling_core.analysis.over_prompts import OfPrompt, mean_graph, of_prompt
from coupling_core.analysis.scores import definition_name, means, score_pairs
from coupling_core.base.records import (
    DEFAULT_MODEL,
    DEFAULT_THRESHOLD,
    OF_GRAPHS,
    Layout,
    NodeColor,
    Request,
    View,
    parse_blocks,
)
from coupling_core.base.results import DepthResult, Result
from coupling_core.base.showing import arrays_of
from coupling_core.cli import files, options, reports
from coupling_core.cli.many import table_of_means
from coupling_core.cli.many_drawn import figure_of
from coupling_core.cli.many_drawn import listed as listed_as
from coupling_core.cli.rows import Row
from coupling_core.cli.terminal import ProgressBar, print_json, print_lines, print_table
from coupling_core.measuring.measure import measure
from coupling_core.store.disk import Store

if TYPE_CHECKING:
    import networkx as nx
    import plotly.graph_objects as go

NUMBERS = (".graphml", *ENDINGS)
FORMATS = (*NUMBERS, ".html", ".pdf", ".svg", ".png")
SHOWN = 10
"""Edges in the printed table."""
POINTS = 4
"""Of the locality curve, in the printed line."""

FigureName = Literal["graph", "locality"]


def graph(
    prompt: options.Prompt = None,
    image: options.Image = None,
    many: options.Prompts = None,
    model: options.Model = DEFAULT_MODEL,
    token: options.Token = None,
    blocks: options.Blocks = None,
    k: options.K = None,
    definition: options.ScoreDefinition = "paper",
    p: options.Order = 1.0,
    role: options.MatrixRole = "A",
    corrected: options.Corrected = True,
    threshold: Annotated[
        float, typer.Option(help="Smallest weight of an edge, 0..1.")
    ] = DEFAULT_THRESHOLD,
    final_norm: options.Norm = "include",
    revision: options.Revision = None,
    untrained: options.Untrained = None,
    dtype: options.Rounded = "float32",
    quantize: options.Quantised = None,
    stack: options.OneStack = None,
    device: options.Device = None,
    plain: options.Plain = False,
    out: Annotated[Path | None, options.written_as(FORMATS)] = None,
    figure: Annotated[FigureName, figure_of("graph")] = "graph",
    layout: Annotated[Layout, typer.Option(help="Where its nodes lie.")] = "line",
    color: Annotated[NodeColor, typer.Option(help="What colours its nodes.")] = "community",
    auto_range: Annotated[
        bool, typer.Option("--auto-range", help="Stretch width and opacity over what is drawn.")
    ] = False,
    as_json: options.Json = False,
    store: options.StoreFolder = None,
) -> None:
    """Draw the blocks as a graph whose edges are as strong as two blocks are coupled.

    With --prompts, count what each prompt's graph has, and take the means over the prompts.
    """
    require_threshold(threshold)
    listed = options.prompt_or_prompts(prompt, image, many)
    view = options.view_of(k, definition, p, role)
    formats = FORMATS if listed is None else files.OF_MANY
    files.require_writable(out, formats, as_json=as_json)
    asked = partial(
        Request,
        model=model,
        k=k,
        final_norm=final_norm,
        revision=revision,
        untrained=untrained,
        dtype=dtype,
        quantize=quantize,
        stack=stack,
    )

    def ask(text: str) -> Request:
        return asked(text, token=options.token_of(token, text))

    def look(result: Result) -> View:
        shown = parse_blocks(blocks, result.n_blocks)
        return replace(options.at_its_k(view, k, result), blocks=shown)

    if listed is not None:
        parts: list[OfPrompt] = []

        def row(result: Result) -> dict[str, float]:
            found = cast(DepthResult, result)
            seen = look(found)
            parts.append(of_prompt(found, seen))
            return _row(found, seen, corrected, threshold)

        def together(_: Sequence[Row]) -> tuple[dict[str, Any], Callable[[], None]]:
            found = mean_graph(parts, corrected=corrected, threshold=threshold)
            return {"mean_graph": _of_graph(found)}, partial(_show_mean, found)

        def drawing(_: Sequence[Row]) -> "go.Figure":
            from coupling_core import figures  # plotly

            return figures.mean_graph(
                parts,
                listed_as(many),
                corrected=corrected,
                threshold=threshold,
                layout=layout,
                color=color,
                auto_range=auto_range,
            )

        table_of_means(
            ask,
            listed,
            row,
            Store(store),
            view_of=look,
            blocks=blocks,
            device=device,
            fast=not plain,
            out=out,
            as_json=as_json,
            drawing=drawing,
            together=together,
            chosen=dict(
                zip(OF_GRAPHS, ("corrected" if corrected else "coupling", threshold), strict=True)
            ),
        )
        return
    request = ask(options.one_prompt(prompt, image))
    with ProgressBar(blocks) as bar:
        result = cast(
            DepthResult, measure(request, Store(store), device=device, fast=not plain, progress=bar)
        )
    view = look(result)
    drawn = layer_graph(result, view, corrected=corrected, threshold=threshold)
    if out is not None and files.ending(out) in NUMBERS:
        content = graph_file(
            files.ending(out), result, view, corrected=corrected, threshold=threshold
        )
        files.write(out, content)
    elif out is not None:
        from coupling_core import figures  # plotly

        page = (
            figures.locality(result, view, corrected=corrected)
            if figure == "locality"
            else figures.graph(
                result,
                view,
                corrected=corrected,
                threshold=threshold,
                layout=layout,
                color=color,
                auto_range=auto_range,
            )
        )
        files.write(out, figures.render(page, out.suffix, result, view))
    if as_json:
        print_json(_summary(drawn, result, view, corrected, stored=not bar.used))
    else:
        _show(drawn, result, view, corrected)
        failed = reports.uncertified(result.certificates)
        print_lines("", *reports.foot(result, failed, stored=not bar.used, out=out))


def _row(result: DepthResult, view: View, corrected: bool, threshold: float) -> dict[str, float]:
    """What one prompt's graph has: mean scores over all pairs, edges, communities, neighbours."""
    drawn = layer_graph(result, view, corrected=corrected, threshold=threshold)
    near = locality(result, view, corrected=corrected)
    return {
        **means(score_pairs(result, view)),
        "edges": float(drawn.number_of_edges()),
        "communities": float(len(groups(drawn))),
        "neighbours": float(near.mean[0]) if near.mean.size else float("nan"),
    }


def _summary(
    drawn: "nx.Graph", result: DepthResult, view: View, corrected: bool, *, stored: bool
) -> dict[str, Any]:
    return (
        reports.about(result, stored=stored)
        | {"token": result.token}
        | reports.of_view(result, view)
        | {
            "blocks": view.blocks,
            "score": "corrected" if corrected else "coupling",
            "locality": arrays_of(locality(result, view, corrected=corrected)),
        }
        | _of_graph(drawn)
    )


def _of_graph(drawn: "nx.Graph") -> dict[str, Any]:
    """Edges and communities, for JSON."""
    rows = edge_rows(drawn)
    counts = {name: drawn.graph[name] for name in ("threshold", "pairs", "pairs_without_score")}
    return counts | {
        "edges": [dict(zip(EDGE_COLUMNS, row, strict=True)) for row in rows],
        "communities": communities(drawn),
        "modularity": modularity(drawn),
    }


def _show_mean(drawn: "nx.Graph") -> None:
    """The graph of the mean scores, in lines."""
    print_lines("", f"mean graph  {edges_words(drawn)}", f"communities {communities_words(drawn)}")


def _show(drawn: "nx.Graph", result: DepthResult, view: View, corrected: bool) -> None:
    score = "chance-corrected" if corrected else "c"
    near = locality(result, view, corrected=corrected)
    print_lines(
        *reports.head(result),
        f"token       {result.token_words(result.token)}",
        f"score       {score}, {definition_name(view)}, K = {view.k}, {result.final_norm_words}",
        f"edges       {edges_words(drawn)}",
        f"communities {communities_words(drawn)}",
        *(f"note        {told}" for told in filter(None, [last_block_words(drawn)])),
        f"locality    {_locality(near)}",
        "",
    )
    rows = edge_rows(drawn)[:SHOWN]
    texts = [(*map(str, row[:3]), *(f"{number:z.3f}" for number in row[3:])) for row in rows]
    print_table(EDGE_COLUMNS, texts, right=True)


def _locality(near: Locality) -> str:
    """A few points of the curve."""
    points = list(zip(near.distance, near.mean, strict=True))
    shown = points[:: max(1, -(-len(points) // POINTS))]
    return ", ".join(f"{mean:z.3f} at |l - l'| = {distance}" for distance, mean in shown)
