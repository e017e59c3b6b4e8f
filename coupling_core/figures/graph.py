"""The layer graph: blocks as nodes, edges as wide and as opaque as the two are coupled.

Thousands of edges are drawn as a handful of shapes, one for each step of the scale: a trace would
make an element of the page of each edge.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from coupling_core.analysis.graph import groups, layer_graph, strongest_partners
from coupling_core.analysis.scores import score_pairs
from coupling_core.base.records import DEFAULT_THRESHOLD, Layout, NodeColor, View
from coupling_core.base.results import DepthResult, Scores
from coupling_core.base.units import ranges
from coupling_core.figures import graph_words, layouts, style, words
from coupling_core.figures.cells import score_lines

if TYPE_CHECKING:  # a tenth of a second to import, for graphs only
    import networkx as nx

CORRECTED_STEPS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
"""Lower ends of the steps of the scale: few pairs of a trained model pass the last."""
RAW_STEPS = (0.0, 0.2, 0.4, 0.6, 0.7, 0.8, 0.9)
WIDTHS = (0.6, 6.0)
"""Pixels of the faintest and of the strongest step."""
OPACITIES = (0.52, 0.95)
"""Of the same, in ink on paper and in white on a dark page: three times as light or as dark as that
is the least that people see well."""
NODE_PIXELS = 13
MOST_LABELS = 40
"""Numbers round a circle: with more of them they would collide."""


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

    Args:
        result: may be partial; pairs without a score are no edges.
        view: K, definition, role and blocks.
        corrected: weigh by the chance-corrected score, else by c.
        threshold: smallest weight drawn, 0..1.
        layout: where the nodes lie.
        color: what colours them.
        auto_range: stretch width and opacity over what is drawn, and say so.
        selected: the pair (l, l') to mark, whether or not it reaches the threshold.

    Returns:
        a figure whose traces "edges" and "blocks" take clicks, with customdata [l, l']; of a node,
        l' is its strongest partner. `layout.meta` also has the "summary": how many edges there
        are, and the communities.

    Raises:
        InputError: where K or a block is not in the result, or the threshold is out of range.
    """
    return graph_of(
        layer_graph(result, view, corrected=corrected, threshold=threshold),
        score_pairs(result, view),
        result.n_blocks,
        view,
        words.subject(result),
        corrected=corrected,
        layout=layout,
        color=color,
        auto_range=auto_range,
        selected=selected,
    )


def graph_of(
    drawn: "nx.Graph",
    found: Scores,
    n_blocks: int,
    view: View,
    whose: str,
    *,
    corrected: bool,
    layout: Layout,
    color: NodeColor,
    auto_range: bool,
    selected: tuple[int, int] | None,
    told: Mapping[str, object] | None = None,
) -> go.Figure:
    """The same of a graph that is there, such as one of means over prompts.

    Args:
        drawn: the graph.
        found: the scores that it was made of.
        n_blocks: L of the model.
        view: K and definition.
        whose: what it is of, as a phrase.
        corrected: whether its weights are chance-corrected.
        layout: where the nodes lie.
        color: what colours them.
        auto_range: stretch width and opacity over what is drawn, and say so.
        selected: the pair (l, l') to mark.
        told: what else is known of the figure, as of `style.new_figure`.
    """
    at = layouts.positions(drawn, layout)
    figure = style.new_figure(
        graph_words.graph_alt(whose, view, drawn),
        graph_words.graph_caption(
            layout, color, corrected, auto_range, any_edge=drawn.number_of_edges() > 0
        ),
        {
            "summary": graph_words.graph_summary(drawn),
            "on_page": graph_words.graph_on_page(layout),
            **(told or {}),
        },
        **_axes(at, layout),
    )
    place = dict(zip(drawn.nodes, at, strict=True))
    _add_edges(figure, drawn, place, layout, _steps(drawn, corrected, auto_range))
    if selected and set(selected) <= set(place) and selected[0] != selected[1]:
        path = layouts.path(*_ends([selected], place), layout)
        mark = {"color": style.ACCENT, "width": 2.5}
        _add_lines(figure, path, f"selected: {selected[0]} and {selected[1]}", mark)
    figure.add_trace(_handles(drawn, place, layout))
    partners = strongest_partners(found, corrected=corrected)
    figure.add_traces(_nodes(drawn, place, partners, n_blocks, color, selected))
    if layout != "line":
        figure.add_trace(_labels(drawn, at, layout))
    title = f"{style.score_name(corrected)} ({style.score_terms(view)})"
    return figure.update_layout(legend_title={"text": title, "side": "top"})


def _steps(drawn: "nx.Graph", corrected: bool, auto_range: bool) -> Float[np.ndarray, " step"]:
    """Lower ends of the steps of width and opacity."""
    fixed = np.array(CORRECTED_STEPS if corrected else RAW_STEPS)
    if not auto_range or not drawn.number_of_edges():
        return fixed
    low, high = style.span(np.array([weight for *_, weight in drawn.edges(data="weight")]))
    return np.linspace(low, high, len(fixed), endpoint=False)


def _add_edges(
    figure: go.Figure,
    drawn: "nx.Graph",
    place: dict[int, Float[np.ndarray, " 2"]],
    layout: Layout,
    steps: Float[np.ndarray, " step"],
) -> None:
    """One shape a step that has an edge, the faintest first."""
    weight = np.array([weight for *_, weight in drawn.edges(data="weight")])
    start, end = _ends(list(drawn.edges), place)
    step = np.clip(np.searchsorted(steps, weight, side="right") - 1, 0, None)
    ends = _apart(steps)
    for number in range(len(steps)):
        at = step == number
        if not at.any():
            continue
        strength, last = number / (len(steps) - 1), number == len(steps) - 1
        _add_lines(
            figure,
            layouts.path(start[at], end[at], layout),
            f"{ends[number]} or more" if last else f"{ends[number]} to {ends[number + 1]}",
            {"color": style.BLACK, "width": float(np.interp(strength, (0, 1), WIDTHS))},
            float(np.interp(strength, (0, 1), OPACITIES)),
            inked=True,
        )


def _apart(steps: Float[np.ndarray, " step"]) -> list[str]:
    """The numbers with as many digits as tell them apart, two at least."""
    for digits in range(2, 7):
        told = [f"{step:.{digits}g}" for step in steps]
        if len({*told}) == len(told):
            break
    return told


def _add_lines(
    figure: go.Figure,
    path: str,
    name: str,
    line: dict[str, object],
    opacity: float = 1.0,
    *,
    inked: bool = False,
) -> None:
    """Lines of one look, and their name in the legend."""
    ink = style.INKED if inked else None
    figure.add_shape(
        type="path",
        path=path,
        line=line,
        opacity=opacity,
        layer="below",
        name=name,
        legendgroup=ink,
    )
    figure.add_scatter(
        x=[None],
        y=[None],
        mode="lines",
        line=line,
        opacity=opacity,
        name=name,
        hoverinfo="skip",
        meta=ink,
    )


def _ends(
    pairs: list[tuple[int, int]], place: dict[int, Float[np.ndarray, " 2"]]
) -> tuple[Float[np.ndarray, "edge 2"], Float[np.ndarray, "edge 2"]]:
    start, end = (np.array([place[pair[i]] for pair in pairs]).reshape(-1, 2) for i in (0, 1))
    return start, end


def _handles(
    drawn: "nx.Graph", place: dict[int, Float[np.ndarray, " 2"]], layout: Layout
) -> go.Scatter | go.Scattergl:
    """Invisible points on the edges: they carry the hover text and can be selected."""
    pairs = list(drawn.edges)
    at = layouts.handles(*_ends(pairs, place), layout).astype(np.float32)
    trace = go.Scatter if len(pairs) <= style.SVG_POINTS else go.Scattergl
    return trace(
        x=at[:, 0],
        y=at[:, 1],
        customdata=np.array(pairs).reshape(-1, 2),
        mode="markers",
        marker={"size": style.PICKED_PIXELS, "opacity": 0, "color": style.INK},
        text=[_edge_text(*edge) for edge in drawn.edges(data=True)],
        hovertemplate="%{text}<extra></extra>",
        showlegend=False,
        name="edges",
    )


def _edge_text(block: int, basis: int, scores: dict[str, float]) -> str:
    corrected = scores.get("corrected", float("nan"))
    own = score_lines(scores["coupling"], scores["chance"], corrected)
    return f"blocks {block} and {basis}, mean of both directions<br>{own}"


def _nodes(
    drawn: "nx.Graph",
    place: dict[int, Float[np.ndarray, " 2"]],
    partners: dict[int, int],
    n_blocks: int,
    color: NodeColor,
    selected: tuple[int, int] | None,
) -> list[go.Scatter]:
    """The nodes that take clicks, and for the legend a name for each community."""
    blocks, colors = list(drawn.nodes), _colors(drawn)
    at = np.array([place[block] for block in blocks], np.float32)
    if color == "depth":
        marker = {"color": blocks, "cmin": 1, "cmax": n_blocks, "colorscale": style.DEPTH}
    else:
        marker = {"color": [colors[block] for block in blocks]}
    chosen = [block in (selected or ()) for block in blocks]
    nodes = go.Scatter(
        x=at[:, 0],
        y=at[:, 1],
        customdata=np.array([(block, partners[block]) for block in blocks]),
        mode="markers",
        marker=marker
        | {
            "size": [NODE_PIXELS + 4 * on for on in chosen],
            "opacity": 1,
            "line": {
                "color": [style.ACCENT if on else "rgba(0, 0, 0, 0)" for on in chosen],
                "width": [3 * on for on in chosen],
            },
        },
        text=[_node_text(drawn, block, partners[block]) for block in blocks],
        hovertemplate="%{text}<extra></extra>",
        showlegend=False,
        name="blocks",
    )
    named = groups(drawn) if color == "community" else []
    return [nodes, *(_key(members, colors[members[0]]) for members in named)]


def _colors(drawn: "nx.Graph") -> dict[int, str]:
    """The colour of each block's community; a block alone is grey."""
    colors = dict.fromkeys(drawn, style.INK)
    for number, members in enumerate(groups(drawn)):
        colors |= dict.fromkeys(members, style.CATEGORIES[number % len(style.CATEGORIES)])
    return colors


def _key(members: tuple[int, ...], color: str) -> go.Scatter:
    return go.Scatter(
        x=[None],
        y=[None],
        mode="markers",
        marker={"color": color, "size": 10},
        name=f"community: {ranges(members)}",
        hoverinfo="skip",
    )


def _node_text(drawn: "nx.Graph", block: int, partner: int) -> str:
    node = drawn.nodes[block]
    edges = drawn.degree(block)
    return (
        f"block {block}, community {node['community']}<br>"
        f"{edges} {'edge' if edges == 1 else 'edges'}, strength {node['strength']:.2f}<br>"
        f"strongest partner: block {partner}"
    )


def _labels(drawn: "nx.Graph", at: Float[np.ndarray, "node 2"], layout: Layout) -> go.Scatter:
    """Block numbers: round the circle, or over the nodes."""
    step = -(-len(at) // MOST_LABELS) if layout == "circle" else 1
    away = 1.1 if layout == "circle" else 1.0
    return go.Scatter(
        x=away * at[::step, 0],
        y=away * at[::step, 1],
        mode="markers+text",
        # An invisible node, which keeps the number at a distance.
        marker={"size": NODE_PIXELS + 4, "opacity": 0},
        text=[str(block) for block in list(drawn.nodes)[::step]],
        textposition="middle center" if layout == "circle" else "top center",
        hoverinfo="skip",
        showlegend=False,
        name="numbers",
    )


def _axes(at: Float[np.ndarray, "node 2"], layout: Layout) -> dict[str, object]:
    if layout == "line":
        first, last = at[0, 0], at[-1, 0]
        return {
            "height": 560,
            "legend": style.UNDER_AXIS,
            "xaxis": {"title": {"text": "Block"}, "range": [first - 1, last + 1]},
            "yaxis": {
                "title": {"text": "|l - l'| (blocks)"},
                "range": [-0.04 * (last - first) - 0.5, last - first + 1],
            }
            | style.GRID,
        }
    hidden = {"visible": False, "constrain": "domain"}
    return {
        "height": 620,
        "legend": style.UNDER_AXIS | {"y": -0.02},
        "xaxis": hidden | {"range": [-1.2, 1.2]},
        "yaxis": hidden | {"range": [-1.2, 1.2], "scaleanchor": "x"},
    }
