"""The layer graph: blocks as nodes, edges as wide and as opaque as the two are coupled.

Thousands of edges are drawn as a handful of shapes, one for each step of the scale: a trace would
make an element of the page of each edge.
"""

from collections.abc import Mapping
from itertools import cycle
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from coupling_core.analysis.graph import (
    communities_words,
    edges_words,
    groups,
    last_block_words,
    layer_graph,
    strongest_partners,
)
from coupling_core.analysis.scores import score_pairs
from coupling_core.base.records import DEFAULT_THRESHOLD, Layout, NodeColor, View
from coupling_core.base.results import DepthResult, Scores
from coupling_core.base.units import counted, ranges
from coupling_core.base.wording import paragraph
from coupling_core.figures import style
from coupling_core.figures.layouts import Placed
from coupling_core.figures.score_squares import score_lines

if TYPE_CHECKING:  # a tenth of a second to import, for graphs only
    import networkx as nx

CORRECTED_STEPS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
"""Lower ends of the steps of the scale: few pairs of a trained model pass the last."""
RAW_STEPS = (0.0, 0.2, 0.4, 0.6, 0.7, 0.8, 0.9)
WIDTHS = (0.6, 6.0)  # pixels of the faintest and of the strongest step
OPACITIES = (0.52, 0.95)
"""Of the same, in ink on paper and in white on a dark page: three times as light or as dark as that
is the least that people see well."""
NODE_PIXELS = 13
MOST_LABELS = 40  # numbers round a circle: with more of them they would collide
PLACES: Mapping[Layout, str] = {
    "line": "Blocks lie in order, and an arc is as high as its blocks are apart.",
    "circle": "Blocks run clockwise from the top.",
    "spring": "Blocks that are coupled pull each other close.",
}


def graph(
    result: DepthResult,
    view: View,
    *,
    corrected: bool = True,
    threshold: float = DEFAULT_THRESHOLD,
    layout: Layout = "line",
    color: NodeColor = "community",
    auto_range: bool = False,
    selected: tuple[int, int] | None = None,
) -> go.Figure:
    """The papers' Figures 1c-e: a node a block, an edge a pair coupled by at least the threshold.

    `auto_range` stretches width and opacity over what is drawn; the selected pair is marked even if
    it is no edge. `layout.meta` also has the "summary": how many edges, and the communities.
    """
    found = score_pairs(result, view)
    return graph_of(
        layer_graph(found, corrected=corrected, threshold=threshold),
        found,
        result.n_blocks,
        view,
        result.subject,
        corrected=corrected,
        layout=layout,
        color=color,
        auto_range=auto_range,
        selected=selected,
    )


def graph_of(
    blocks: "nx.Graph",
    found: Scores,
    n_blocks: int,
    view: View,
    subject: str,
    *,
    corrected: bool,
    layout: Layout = "line",
    color: NodeColor = "community",
    auto_range: bool = False,
    selected: tuple[int, int] | None = None,
    told: Mapping[str, object] | None = None,
) -> go.Figure:
    """The same of a graph that was made of these scores, such as of means over prompts."""
    placed = Placed.of(blocks, layout)
    scale = "over what is drawn (auto range)" if auto_range else "on a fixed scale"
    where = "top of an arc" if layout == "line" else "middle of an edge"
    on_page = f"The mouse shows its numbers at the {where}, where a click selects the pair."
    strongest = max(blocks.edges(data="weight"), key=itemgetter(2), default=None)
    named = "The strongest edge joins blocks {} and {} with {:.3f}."
    summary = graph_summary(blocks)
    figure = style.new_figure(
        paragraph(
            f"Graph of {counted(len(blocks), 'block')} of {subject}: {summary}",
            f"Weights are the {blocks.graph['weight_meaning']} ({style.score_terms(view)}).",
            named.format(*strongest) if strongest else "",
        ),
        paragraph(
            PLACES[layout],
            (color == "depth", "The first block is blue, and the last one yellow."),
            f"Width and opacity show the {style.score_name(corrected).lower()}, the mean of both "
            f"directions, {scale}.",
        ),
        {"summary": summary, "on_page": on_page, **(told or {})},
        **_axes(placed),
    )
    _add_edges(figure, blocks, placed, _steps(blocks, corrected, auto_range))
    if selected and set(selected) <= set(placed.at) and selected[0] != selected[1]:
        mark = {"line": {"color": style.ACCENT, "width": 2.5}}
        name = f"selected: {selected[0]} and {selected[1]}"
        _add_lines(figure, placed.path([selected]), name, mark)
    figure.add_trace(_handles(blocks, placed))
    partners = strongest_partners(found, corrected=corrected)
    figure.add_traces(_nodes(blocks, placed, partners, n_blocks, color, selected))
    if layout != "line":
        figure.add_trace(_labels(placed))
    title = f"{style.score_name(corrected)} ({style.score_terms(view)})"
    return figure.update_layout(legend_title={"text": title, "side": "top"})


def graph_summary(blocks: "nx.Graph") -> str:
    """How many pairs are edges, and the communities."""
    return paragraph(f"{edges_words(blocks)}.", communities_words(blocks), last_block_words(blocks))


def _steps(blocks: "nx.Graph", corrected: bool, auto_range: bool) -> Float[np.ndarray, " step"]:
    """Lower ends of the steps of width and opacity."""
    fixed = np.array(CORRECTED_STEPS if corrected else RAW_STEPS)
    if not auto_range or not blocks.number_of_edges():
        return fixed
    low, high = style.span(np.array([weight for *_, weight in blocks.edges(data="weight")]))
    return np.linspace(low, high, len(fixed), endpoint=False)


def _add_edges(
    figure: go.Figure, blocks: "nx.Graph", placed: Placed, steps: Float[np.ndarray, " step"]
) -> None:
    """One shape a step that has an edge, the faintest first."""
    ends, last = _apart(steps), len(steps) - 1
    of_step: dict[int, list[tuple[int, int]]] = {}
    for block, basis, weight in blocks.edges(data="weight"):
        step = max(0, int(np.searchsorted(steps, weight, side="right")) - 1)
        of_step.setdefault(step, []).append((block, basis))
    for step, edges in sorted(of_step.items()):
        width, opacity = (np.interp(step, (0, last), each) for each in (WIDTHS, OPACITIES))
        name = f"{ends[step]} or more" if step == last else f"{ends[step]} to {ends[step + 1]}"
        look = {"line": {"color": style.BLACK, "width": width}, "opacity": opacity}
        _add_lines(figure, placed.path(edges), name, look, ink=style.INKED)


def _apart(steps: Float[np.ndarray, " step"]) -> list[str]:
    """The numbers with as many digits as tell them apart, two at least."""
    for digits in range(2, 7):
        texts = [f"{step:.{digits}g}" for step in steps]
        if len({*texts}) == len(texts):
            break
    return texts


def _add_lines(
    figure: go.Figure, path: str, name: str, look: Mapping[str, object], ink: str | None = None
) -> None:
    """Lines of one look, and their name in the legend."""
    figure.add_shape(type="path", path=path, layer="below", name=name, legendgroup=ink, **look)
    figure.add_scatter(
        x=[None], y=[None], mode="lines", name=name, hoverinfo="skip", meta=ink, **look
    )


def _handles(blocks: "nx.Graph", placed: Placed) -> go.Scatter | go.Scattergl:
    """Invisible points on the edges: they carry the hover text and can be selected."""
    edges = list(blocks.edges)
    texts = [
        f"blocks {block} and {basis}, mean of both directions<br>"
        + score_lines(edge["coupling"], edge["chance"], edge.get("corrected", float("nan")))
        for block, basis, edge in blocks.edges(data=True)
    ]
    x, y = placed.handles(edges).astype(np.float32).T
    look, numbers = style.PICKED | {"color": style.INK}, np.array(edges).reshape(-1, 2)
    return style.dots(x, y, "edges", look, texts, customdata=numbers, showlegend=False)


def _nodes(
    blocks: "nx.Graph",
    placed: Placed,
    partners: dict[int, int],
    n_blocks: int,
    color: NodeColor,
    selected: tuple[int, int] | None,
) -> list[go.Scatter]:
    """The nodes that take clicks, and for the legend a name for each community."""
    colors = dict.fromkeys(blocks, style.INK)  # a block alone is grey
    keys = []
    for members, shade in zip(groups(blocks), cycle(style.CATEGORIES), strict=False):
        colors |= dict.fromkeys(members, shade)
        name, mark = f"community: {ranges(members)}", {"color": shade, "size": 10}
        keys.append(style.dots([None], [None], name, mark, hoverinfo="skip"))
    chosen = [block in (selected or ()) for block in blocks]
    marker: dict[str, object] = {
        "color": [*colors.values()],
        "size": [NODE_PIXELS + 4 * on for on in chosen],
        "opacity": 1,
        "line": {
            "color": [style.ACCENT if on else style.NOTHING for on in chosen],
            "width": [3 * on for on in chosen],
        },
    }
    if color == "depth":
        scale = {"cmin": 1, "cmax": n_blocks, "colorscale": style.DEPTH}
        marker |= scale | {"color": list(blocks)}
    texts = [
        f"block {block}, community {node['community']}<br>"
        f"{counted(blocks.degree(block), 'edge')}, strength {node['strength']:.2f}<br>"
        f"strongest partner: block {partners[block]}"
        for block, node in blocks.nodes(data=True)
    ]
    x, y = placed.nodes.astype(np.float32).T
    numbers = np.array([(block, partners[block]) for block in blocks])
    nodes = style.dots(x, y, "blocks", marker, texts, customdata=numbers, showlegend=False)
    return [nodes, *(keys if color == "community" else [])]


def _labels(placed: Placed) -> go.Scatter:
    """Block numbers: round the circle, or over the nodes."""
    step, away, place = 1, 1.0, "top center"
    if placed.layout == "circle":
        step, away, place = -(-len(placed.at) // MOST_LABELS), 1.1, "middle center"
    x, y = away * placed.nodes[::step].T
    # Invisible nodes, which keep the numbers at a distance.
    nodes = {"size": NODE_PIXELS + 4, "opacity": 0}
    labels = style.dots(x, y, "numbers", nodes, hoverinfo="skip", showlegend=False)
    texts = [str(block) for block in list(placed.at)[::step]]
    return labels.update(mode="markers+text", text=texts, textposition=place)


def _axes(placed: Placed) -> dict[str, object]:
    if placed.layout == "line":
        first, last = min(placed.at), max(placed.at)
        return {
            "height": 560,
            "legend": style.UNDER_AXIS,
            "xaxis": {"title": {"text": "Block"}, "range": [first - 1, last + 1]},
            "yaxis": style.axis(
                "|l - l'| (blocks)", range=[-0.04 * (last - first) - 0.5, last - first + 1]
            ),
        }
    hidden = {"visible": False, "constrain": "domain", "range": [-1.2, 1.2]}
    return {
        "height": 620,
        "legend": style.UNDER_AXIS | {"y": -0.02},
        "xaxis": hidden,
        "yaxis": hidden | {"scaleanchor": "x"},
    }
