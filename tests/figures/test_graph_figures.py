"""The layer graph and the locality curve as they are drawn."""

from dataclasses import replace
from typing import get_args

import numpy as np
import plotly.colors as colors
import pytest
from cases import SCORES, VIEW, planted, random_result
from checks import trace

from coupling_core import View, figures, score_pairs
from coupling_core.analysis.graph import layer_graph, ranges
from coupling_core.analysis.locality import locality
from coupling_core.base.records import Layout
from coupling_core.figures import style
from coupling_core.figures.graph import CORRECTED_STEPS

RESULT = planted(SCORES)


def lines(figure):
    """The steps of the scale, each with all its edges."""
    return [shape for shape in figure.layout.shapes if not shape.name.startswith("selected")]


def pieces(line):
    """How many edges one step draws."""
    return line.path.count("M")


def test_a_deep_model_is_a_few_traces():
    deep = planted(np.random.default_rng(0).uniform(0.0, 1.0, (80, 80)))
    for layout, threshold in (("circle", 0.0), ("line", 0.0), ("spring", 0.9)):
        figure = figures.graph(deep, VIEW, layout=layout, threshold=threshold, selected=(3, 70))
        assert len(figure.data) <= 20
        assert len(figure.layout.shapes) <= 8
        edges = layer_graph(score_pairs(deep, VIEW), threshold=threshold).number_of_edges()
        assert sum(map(pieces, lines(figure))) == edges
        assert trace(figure, "edges").type == ("scattergl" if edges > 1600 else "scatter")


def test_wider_and_more_opaque_where_coupling_is_stronger():
    steps = lines(figures.graph(RESULT, VIEW))
    assert [(step.name, pieces(step)) for step in steps] == [("0.1 to 0.15", 4), ("0.3 or more", 4)]
    assert steps[0].line.width < steps[1].line.width
    assert steps[0].opacity < steps[1].opacity
    assert CORRECTED_STEPS[-1] == 0.3


def test_lines_and_nodes_stand_out_from_a_light_page_and_from_a_dark_one():
    for page, ink in (("#ffffff", style.BLACK), ("#14171a", "#ffffff")):
        figure = figures.graph(RESULT, VIEW, threshold=0.0, color="community", auto_range=True)
        style.reink(figure, ink)
        drawn = [(line.line.color, line.opacity) for line in lines(figure)]
        alone = figures.graph(RESULT, VIEW, threshold=1.0)
        drawn += [(color, 1.0) for color in trace(alone, "blocks").marker.color]
        assert min(contrast(color, opacity, page) for color, opacity in drawn) >= 3


def contrast(color: str, opacity: float, page: str) -> float:
    """How much lighter, or darker, than the page a colour over it is, as WCAG counts it."""
    over, ground = (np.array(colors.hex_to_rgb(each)) / 255 for each in (color, page))
    of = [
        np.where(each <= 0.04045, each / 12.92, ((each + 0.055) / 1.055) ** 2.4)
        @ (0.2126, 0.7152, 0.0722)
        for each in (opacity * over + (1 - opacity) * ground, ground)
    ]
    return (max(of) + 0.05) / (min(of) + 0.05)


def test_the_scale_is_fixed_unless_told():
    half = planted(1 + (SCORES - 1) / 2)
    same = {step.name: step.line.width for step in lines(figures.graph(half, VIEW))}
    for step in lines(figures.graph(RESULT, VIEW)):
        assert same.get(step.name, step.line.width) == step.line.width
    stretched = figures.graph(RESULT, VIEW, auto_range=True)
    assert lines(stretched)[0].name.startswith("0.12 to")


def test_the_arc_over_a_line_is_as_high_as_its_blocks_are_apart():
    handles = trace(figures.graph(RESULT, VIEW, layout="line"), "edges")
    for (block, basis), x, y in zip(handles.customdata, handles.x, handles.y, strict=True):
        assert (x, y) == pytest.approx(((block + basis) / 2, basis - block), abs=1e-6)
    (mark,) = [s.path for s in figures.graph(RESULT, VIEW, selected=(1, 5)).layout.shapes[-1:]]
    assert mark == "M1,0C1,2.209 1.895,4 3,4C4.105,4 5,2.209 5,0"


def test_the_circle_runs_clockwise_with_a_gap_at_the_top():
    nodes = trace(figures.graph(RESULT, VIEW, layout="circle"), "blocks")
    assert np.hypot(nodes.x, nodes.y) == pytest.approx(1)
    angle = np.degrees(np.arctan2(nodes.x, nodes.y)) % 360
    assert angle == pytest.approx([60, 120, 180, 240, 300], abs=1e-4)


def test_springs_bring_the_members_of_a_community_together():
    nodes = trace(figures.graph(RESULT, VIEW, layout="spring"), "blocks")
    at = np.stack([nodes.x, nodes.y], 1)
    apart = np.linalg.norm(at[:, None] - at, axis=-1)
    assert max(apart[0, 1], apart[0, 2], apart[1, 2], apart[3, 4]) < apart[:3, 3:].min()
    assert np.abs(at).max() <= 1.01


def test_a_node_has_its_strongest_partner_and_the_colour_of_its_community_or_depth():
    nodes = trace(figures.graph(RESULT, VIEW), "blocks")
    assert nodes.customdata.tolist() == [[1, 2], [2, 1], [3, 1], [4, 5], [5, 4]]
    color = nodes.marker.color
    assert color[0] == color[1] == color[2] != color[3] == color[4]
    by_depth = figures.graph(RESULT, VIEW, color="depth")
    assert list(trace(by_depth, "blocks").marker.color) == [1, 2, 3, 4, 5]


def test_what_graphs_say(snapshot):
    missing = planted(rank=np.array([8, 8, 8, 0, 8]))
    nothing = replace(RESULT, rank=np.zeros(5, int))
    shown = {layout: figures.graph(RESULT, VIEW, layout=layout) for layout in get_args(Layout)} | {
        "without an edge": figures.graph(RESULT, VIEW, threshold=1.0),
        "uncoupled": figures.graph(planted(np.eye(4)), VIEW, layout="spring", auto_range=True),
        "by depth": figures.graph(RESULT, VIEW, color="depth"),
        "auto range": figures.graph(RESULT, VIEW, auto_range=True),
        "a block without scores": figures.graph(missing, replace(VIEW, blocks=(1, 2, 3, 4))),
        "locality": figures.locality(RESULT, VIEW),
        "raw locality": figures.locality(random_result(), View(k=5), corrected=False),
        "locality of nothing": figures.locality(nothing, VIEW),
    }
    hover = (trace(shown["circle"], "edges").text[0], trace(shown["circle"], "blocks").text[3])
    said = {name: dict(figure.layout.meta) for name, figure in shown.items()}
    assert [ranges(of) for of in ((1,), (1, 2, 3, 7, 9, 10), ())] == ["1", "1-3, 7, 9-10", ""]
    assert {"figures": said, "hover": hover} == snapshot
    assert lines(shown["uncoupled"]) == []
    assert len(trace(shown["uncoupled"], "blocks").x) == 4


def test_the_locality_curve_draws_the_means_with_their_spread():
    figure, found = figures.locality(RESULT, VIEW), locality(score_pairs(RESULT, VIEW))
    mean, band = figure.data[-1], trace(figure, "one standard deviation")
    assert list(mean.x) == [1, 2, 3, 4]
    assert mean.y == pytest.approx(found.mean)
    assert band.y[:4] == pytest.approx(found.mean - found.spread)
    assert band.y[4:][::-1] == pytest.approx(found.mean + found.spread)
    assert trace(figure, "chance").y == pytest.approx(np.zeros(4))
    raw = figures.locality(random_result(), View(k=5), corrected=False)
    floor = locality(score_pairs(random_result(), View(k=5)), corrected=False).chance
    assert trace(raw, "chance").y == pytest.approx(floor)
