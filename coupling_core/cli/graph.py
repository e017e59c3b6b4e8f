"""`coupling graph`: the blocks of a model as a graph, weighted by their coupling at one token."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coupling_core.analysis.exports import ENDINGS
from coupling_core.analysis.exports.graph import graph_file
from coupling_core.analysis.graph import (
    communities_words,
    edge_rows,
    edges_words,
    graph_record,
    groups,
    last_block_words,
    layer_graph,
    require_threshold,
)
from coupling_core.analysis.locality import Locality, locality
from coupling_core.analysis.over_prompts import OfPrompt, mean_graph, of_prompt
from coupling_core.analysis.scores import means, score_pairs
from coupling_core.base.notebook import arrays_of
from coupling_core.base.records import (
    DEFAULT_THRESHOLD,
    OF_GRAPHS,
    Layout,
    NodeColor,
    View,
)
from coupling_core.base.results import DepthResult
from coupling_core.cli import files, options, reports
from coupling_core.cli.one_or_many import answer
from coupling_core.cli.rows import Row
from coupling_core.cli.shown import Shown
from coupling_core.cli.terminal import Told, fact_lines, print_lines, print_records

if TYPE_CHECKING:
    import networkx as nx
    import plotly.graph_objects as go

NUMBERS = (".graphml", *ENDINGS)
SHOWN = 10
"""Edges in the printed table."""


class Output(options.Output):
    """A graph's own files too."""

    formats = (*NUMBERS, *files.FIGURES)


@dataclass(frozen=True)
class Look:
    """How the graph is drawn."""

    threshold: Annotated[float, typer.Option(help="Smallest weight of an edge, 0..1.")] = (
        DEFAULT_THRESHOLD
    )
    figure: str = "graph"
    layout: Annotated[Layout, typer.Option(help="Where its nodes lie.")] = "line"
    color: Annotated[NodeColor, typer.Option(help="What colours its nodes.")] = "community"
    auto_range: Annotated[
        bool, typer.Option("--auto-range", help="Stretch width and opacity over what is drawn.")
    ] = False

    def drawn(self, scores: options.Scores) -> dict[str, Any]:
        """All but the figure's name, and of which score it is."""
        look = {name: value for name, value in vars(self).items() if name != "figure"}
        return look | {"corrected": scores.corrected}


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
    of_weights, least = OF_GRAPHS
    shown = Graphs(
        "graph",
        asked.many,
        look.figure,
        look.drawn(scores),
        scores.of_blocks(blocks),
        blocks,
        {of_weights: scores.drawn, least: look.threshold},
        scores.drawn,
    )
    answer(asked, asked.request(token=token, k=scores.k), shown, output)


@dataclass
class Graphs(Shown):
    """The graph of one prompt, or of the mean scores of many, in every form that is asked for."""

    parts: list[OfPrompt] = field(default_factory=list)

    @property
    def report(self) -> "Graphs":
        """In place of that of depth."""
        return self

    @property
    def weighed(self) -> dict[str, Any]:
        """By which score, and from which weight on there is an edge."""
        return {name: self.look[name] for name in ("corrected", "threshold")}

    def graph(self, result: DepthResult, view: View) -> "nx.Graph[int]":
        """The graph of one prompt."""
        return layer_graph(score_pairs(result, view), **self.weighed)

    def locality(self, result: DepthResult, view: View) -> Locality:
        """The locality curve of one prompt."""
        return locality(score_pairs(result, view), corrected=self.dots == "corrected")

    def row(self, result: DepthResult, view: View) -> dict[str, float]:
        """One prompt's mean scores over all pairs, edges, communities, and score of neighbours."""
        self.parts.append(of_prompt(result, view))
        graph = self.graph(result, view)
        near = self.locality(result, view)
        return {
            **means(score_pairs(result, view)),
            "edges": float(graph.number_of_edges()),
            "communities": float(len(groups(graph))),
            "neighbours": float(near.mean[0]) if near.mean.size else float("nan"),
        }

    def write(self, path: Path, result: DepthResult, view: View, k_view: int | None) -> None:
        """Write one prompt's graph in the form that the path's ending names."""
        ending = files.ending(path)
        if ending in NUMBERS:
            files.write(path, graph_file(ending, result, view, **self.weighed))
        else:
            super().write(path, result, view, k_view)

    def draw(self, rows: Sequence[Row]) -> "go.Figure":
        """The figure of the mean scores."""
        from coupling_core import figures  # plotly

        return figures.mean_graph(self.parts, self.listed, **self.look)

    def told(self, rows: Sequence[Row]) -> Told:
        """The graph of the mean scores, for JSON, and in lines."""
        graph = mean_graph(self.parts, **self.weighed)
        lines = fact_lines(mean_graph=edges_words(graph), communities=communities_words(graph))
        return {"mean_graph": graph_record(graph)}, lambda: print_lines("", *lines)

    def summary(self, result: DepthResult, view: View) -> dict[str, Any]:
        """One prompt's graph, for JSON."""
        return {
            **reports.of_view(result, view),
            "blocks": view.blocks,
            "score": self.dots,
            "locality": arrays_of(self.locality(result, view)),
            **graph_record(self.graph(result, view)),
        }

    def facts(self, result: DepthResult, view: View) -> dict[str, object]:
        """One prompt's graph in lines."""
        graph = self.graph(result, view)
        return dict(
            weights=self.dots,
            edges=edges_words(graph),
            communities=communities_words(graph),
            note=last_block_words(graph),
        )

    def tables(self, result: DepthResult, view: View) -> None:
        """Print its heaviest edges."""
        print_records(edge_rows(self.graph(result, view))[:SHOWN])
