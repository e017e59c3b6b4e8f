"""`coupling graph`: the blocks of a model as a graph, weighted by their coupling at one token."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

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
    DEFAULT_THRESHOLD,
    OF_GRAPHS,
    Layout,
    NodeColor,
    View,
    parse_blocks,
)
from coupling_core.base.results import DepthResult, Result
from coupling_core.base.showing import arrays_of
from coupling_core.cli import files, options, reports
from coupling_core.cli.many import Shown, table_of_means
from coupling_core.cli.many_drawn import Together, figure_of, listed
from coupling_core.cli.one_or_many import measured
from coupling_core.cli.rows import Row
from coupling_core.cli.terminal import Told, print_json, print_lines, print_table

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


@dataclass(frozen=True)
class Output(options.Output):
    """A graph's own files too."""

    formats: ClassVar[tuple[str, ...]] = FORMATS
    out: Annotated[Path | None, options.written_as(FORMATS)] = None


@dataclass(frozen=True)
class Look:
    """How the graph is drawn."""

    threshold: Annotated[float, typer.Option(help="Smallest weight of an edge, 0..1.")] = (
        DEFAULT_THRESHOLD
    )
    figure: Annotated[FigureName, figure_of("graph")] = "graph"
    layout: Annotated[Layout, typer.Option(help="Where its nodes lie.")] = "line"
    color: Annotated[NodeColor, typer.Option(help="What colours its nodes.")] = "community"
    auto_range: Annotated[
        bool, typer.Option("--auto-range", help="Stretch width and opacity over what is drawn.")
    ] = False


def graph(
    *,
    asked: options.Differentiating,
    token: options.Token = None,
    blocks: options.Blocks = None,
    scores: options.Scores,
    look: Look,
    output: Output,
) -> None:
    """Draw the blocks as a graph whose edges are as strong as two blocks are coupled.

    With --prompts, count what each prompt's graph has, and take the means over the prompts.
    """
    require_threshold(look.threshold)
    output.require_writable(of_many=asked.many is not None)
    ask, corrected = asked.request(token=token, k=scores.k), scores.corrected

    def seen(result: Result) -> View:
        return scores.view(result.default_k, parse_blocks(blocks, result.n_blocks))

    if asked.many is not None:
        weight = "corrected" if corrected else "coupling"
        shown = Shown(
            lambda result, view: _draw(result, view, look, corrected),
            GraphsTogether(weight, asked.many, look),
            seen,
            blocks=blocks,
            chosen={OF_GRAPHS[0]: weight, OF_GRAPHS[1]: look.threshold},
        )
        table_of_means(asked, ask, shown, output)
        return
    result, stored = measured(ask(asked.one()), asked, output, blocks)
    view = seen(result)
    drawn = layer_graph(result, view, corrected=corrected, threshold=look.threshold)
    if output.out is not None:
        files.write(output.out, _content(files.ending(output.out), result, view, look, corrected))
    if output.as_json:
        print_json(_summary(drawn, result, view, corrected, stored=stored))
    else:
        _show(drawn, result, view, corrected)
        failed = reports.uncertified(result.certificates)
        print_lines("", *reports.foot(result, failed, stored=stored, out=output.out))


def _draw(result: DepthResult, view: View, look: Look, corrected: bool) -> "go.Figure":
    from coupling_core import figures  # plotly

    if look.figure == "locality":
        return figures.locality(result, view, corrected=corrected)
    return figures.graph(
        result,
        view,
        corrected=corrected,
        threshold=look.threshold,
        layout=look.layout,
        color=look.color,
        auto_range=look.auto_range,
    )


def _content(ending: str, result: DepthResult, view: View, look: Look, corrected: bool) -> bytes:
    if ending in NUMBERS:
        return graph_file(ending, result, view, corrected=corrected, threshold=look.threshold)
    from coupling_core import figures  # plotly

    return figures.render(_draw(result, view, look, corrected), ending, result, view)


@dataclass
class GraphsTogether(Together):
    """Takes the results of prompts as they come, then reports and draws the graph of their mean."""

    look: Look
    parts: list[OfPrompt] = field(default_factory=list)

    @property
    def corrected(self) -> bool:
        """Whether edges weigh chance-corrected scores."""
        return self.dots == "corrected"

    def row(self, result: DepthResult, view: View) -> dict[str, float]:
        """The numbers of one prompt's graph."""
        self.parts.append(of_prompt(result, view))
        return _row(result, view, self.corrected, self.look.threshold)

    def told(self, rows: Sequence[Row]) -> Told:
        """The graph of the mean scores."""
        found = mean_graph(self.parts, corrected=self.corrected, threshold=self.look.threshold)
        return {"mean_graph": _of_graph(found)}, lambda: _show_mean(found)

    def draw(self, rows: Sequence[Row]) -> "go.Figure":
        """The same, drawn."""
        from coupling_core import figures  # plotly

        look = self.look
        return figures.mean_graph(
            self.parts,
            listed(self.file),
            corrected=self.corrected,
            threshold=look.threshold,
            layout=look.layout,
            color=look.color,
            auto_range=look.auto_range,
        )


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
