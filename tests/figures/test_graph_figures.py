"""The layer graph and the locality curve as they are drawn."""

from dataclasses import replace

import numpy as np
import plotly.colors as colors
import pytest
from cases import SCORES, VIEW, planted, random_result
from checks import trace

from coupling_core import View, figures
from coupling_core.analysis.graph import layer_graph, ranges
from coupling_core.analysis.locality import locality
from coupling_core.base.records import LAYOUTS
from coupling_core.figures import style
from coupling_core.figures.export import WIDTH, on_paper
from coupling_core.figures.graph import CORRECTED_STEPS


@pytest.fixture(scope="module")
def result():
    return planted(SCORES)


@pytest.fixture(scope="module")
def deep():
    """A model of 80 blocks of which any two are coupled."""
    rng = np.random.default_rng(0)
    return planted(rng.uniform(0.0, 1.0, (80, 80)))


def lines(figure):
    """The steps of the scale, each with all its edges."""
    return [shape for shape in figure.layout.shapes if not shape.name.startswith("selected")]


def pieces(line):
    """How many edges one step draws."""
    return line.path.count("M")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_edge_is_drawn_once_and_can_be_taken_hold_of(result, layout):
    figure = figures.graph(result, VIEW, layout=layout)
    drawn = layer_graph(result, VIEW)
    assert sum(map(pieces, lines(figure))) == drawn.number_of_edges() == 8
    handles = trace(figure, "edges")
    assert [tuple(pair) for pair in handles.customdata] == list(drawn.edges)
    every = trace(figures.graph(result, VIEW, layout=layout, threshold=0.0), "edges")
    places = np.stack([every.x, every.y], 1).round(4)
    assert len(np.unique(places, axis=0)) == 10


@pytest.mark.parametrize("layout", LAYOUTS)
def test_only_a_page_speaks_of_the_mouse(result, layout):
    figure = figures.graph(result, VIEW, layout=layout)
    assert "a click selects the pair" in figure.layout.meta["on_page"]
    notes = notes_of(on_paper(figure, result, VIEW))
    assert "Width and opacity show" in notes
    assert "mouse" not in notes
    assert "click" not in notes


def notes_of(page):
    """The caption and the source below a figure in a file."""
    (notes,) = page.select_annotations({"name": "provenance"})
    return notes.text


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("threshold", [0.0, 0.9])
def test_a_deep_model_is_a_few_traces(deep, layout, threshold):
    figure = figures.graph(deep, VIEW, layout=layout, threshold=threshold, selected=(3, 70))
    assert len(figure.data) <= 20
    assert len(figure.layout.shapes) <= 8
    edges = layer_graph(deep, VIEW, threshold=threshold).number_of_edges()
    assert sum(map(pieces, lines(figure))) == edges
    drawn_by = "scattergl" if edges > 1600 else "scatter"
    assert trace(figure, "edges").type == drawn_by


def test_wider_and_more_opaque_where_coupling_is_stronger(result):
    steps = lines(figures.graph(result, VIEW))
    assert [step.name for step in steps] == ["0.1 to 0.15", "0.3 or more"]
    assert [pieces(step) for step in steps] == [4, 4]
    assert steps[0].line.width < steps[1].line.width
    assert steps[0].opacity < steps[1].opacity
    assert CORRECTED_STEPS[-1] == 0.3


@pytest.mark.parametrize("page", ["#ffffff", "#14171a"], ids=["light", "dark"])
def test_lines_and_nodes_stand_out_from_a_light_page_and_from_a_dark_one(result, page):
    figure = figures.graph(result, VIEW, threshold=0.0, color="community", auto_range=True)
    style.reink(figure, "#ffffff" if page == "#14171a" else style.BLACK)
    drawn = [(line.line.color, line.opacity) for line in lines(figure)]
    named = {t.line.color for t in figure.data if t.mode == "lines"}
    assert {color for color, _ in drawn} == named
    alone = figures.graph(result, VIEW, threshold=1.0)
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


def test_the_scale_is_fixed_unless_told_and_then_says_so(result):
    half = planted(1 + (SCORES - 1) / 2)
    same = {step.name: step.line.width for step in lines(figures.graph(half, VIEW))}
    for step in lines(figures.graph(result, VIEW)):
        assert same.get(step.name, step.line.width) == step.line.width
    stretched = figures.graph(result, VIEW, auto_range=True)
    assert "auto range" in stretched.layout.meta["caption"]
    assert "auto" not in figures.graph(result, VIEW).layout.meta["caption"]
    assert lines(stretched)[0].name.startswith("0.12 to")


def test_the_arc_over_a_line_is_as_high_as_its_blocks_are_apart(result):
    figure = figures.graph(result, VIEW, layout="line")
    handles = trace(figure, "edges")
    for (block, basis), x, y in zip(handles.customdata, handles.x, handles.y, strict=True):
        assert (x, y) == pytest.approx(((block + basis) / 2, basis - block), abs=1e-6)
    (mark,) = [s.path for s in figures.graph(result, VIEW, selected=(1, 5)).layout.shapes[-1:]]
    assert mark == "M1,0C1,2.209 1.895,4 3,4C4.105,4 5,2.209 5,0"
    assert figure.layout.xaxis.title.text == "Block"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_layout_is_the_same_every_time(result, layout):
    first, second = (trace(figures.graph(result, VIEW, layout=layout), "blocks") for _ in range(2))
    assert np.array_equal(first.x, second.x)
    assert np.array_equal(first.y, second.y)


def test_the_circle_runs_clockwise_with_a_gap_at_the_top(result):
    nodes = trace(figures.graph(result, VIEW, layout="circle"), "blocks")
    assert np.hypot(nodes.x, nodes.y) == pytest.approx(1)
    angle = np.degrees(np.arctan2(nodes.x, nodes.y)) % 360
    assert angle == pytest.approx([60, 120, 180, 240, 300], abs=1e-4)


def test_springs_bring_the_members_of_a_community_together(result):
    nodes = trace(figures.graph(result, VIEW, layout="spring"), "blocks")
    at = np.stack([nodes.x, nodes.y], 1)
    apart = np.linalg.norm(at[:, None] - at, axis=-1)
    assert max(apart[0, 1], apart[0, 2], apart[1, 2], apart[3, 4]) < apart[:3, 3:].min()
    assert np.abs(at).max() <= 1.01


def test_a_click_on_a_block_selects_it_with_its_strongest_partner(result):
    nodes = trace(figures.graph(result, VIEW), "blocks")
    assert nodes.customdata.tolist() == [[1, 2], [2, 1], [3, 1], [4, 5], [5, 4]]
    assert "block 4, community 2<br>3 edges" in nodes.text[3]


def test_the_hover_text_has_the_numbers_of_both_directions(result):
    texts = trace(figures.graph(result, VIEW), "edges").text
    assert "blocks 1 and 2, mean of both directions<br>c = 0.750, chance floor 0.000" in texts[0]


def test_nodes_have_the_colour_of_their_community_or_of_their_depth(result):
    figure = figures.graph(result, VIEW)
    color = trace(figure, "blocks").marker.color
    assert color[0] == color[1] == color[2] != color[3] == color[4]
    assert trace(figure, "community: 1-3").marker.color == color[0]
    assert trace(figure, "community: 4-5").marker.color == color[3]
    by_depth = figures.graph(result, VIEW, color="depth")
    assert list(trace(by_depth, "blocks").marker.color) == [1, 2, 3, 4, 5]
    assert not [t for t in by_depth.data if t.name.startswith("community")]


@pytest.mark.parametrize("pair", [(1, 5), (5, 1), (4, 1)])
def test_the_selected_pair_is_marked_even_below_the_threshold(result, pair):
    figure = figures.graph(result, VIEW, threshold=0.3, selected=pair)
    (mark,) = [t for t in figure.data if t.name == f"selected: {pair[0]} and {pair[1]}"]
    (line,) = [s for s in figure.layout.shapes if s.name == mark.name]
    assert {line.path[1], line.path[-3]} == set(map(str, pair))
    width = trace(figure, "blocks").marker.line.width
    assert [block for block, on in zip(range(1, 6), width, strict=True) if on] == sorted(pair)


@pytest.mark.parametrize("pair", [(2, 2), (1, 9), None])
def test_what_is_no_pair_of_the_graph_is_not_marked(result, pair):
    figure = figures.graph(result, VIEW, selected=pair)
    assert not [t for t in figure.data if t.name.startswith("selected")]
    assert len(lines(figure)) == len(figure.layout.shapes)


def test_the_words_have_the_numbers(result):
    missing = planted(rank=np.array([8, 8, 8, 0, 8]))
    meta = figures.graph(missing, replace(VIEW, blocks=(1, 2, 3, 4))).layout.meta
    assert "token 4 of 4, “down”" in meta["alt"]
    assert "3 of 6 pairs reach the threshold 0.1" in meta["alt"]
    assert "Without a score: 3 pairs." in meta["alt"]
    assert "strongest joins blocks 1 and 2 with 0.750" in meta["alt"]
    assert "1 community of blocks (1-3), 1 block alone" in meta["alt"]
    legend = figures.graph(result, VIEW).layout.legend.title.text
    assert legend == "Chance-corrected score (alignment; K = 1; no unit)"


@pytest.mark.parametrize(
    ("numbers", "text"),
    [((1,), "1"), ((1, 2, 3, 7, 9, 10), "1-3, 7, 9-10"), ((), "")],
)
def test_numbers_are_drawn_together(numbers, text):
    assert ranges(numbers) == text


def test_an_uncoupled_model_has_nodes_and_no_edge():
    figure = figures.graph(planted(np.eye(4)), VIEW, layout="spring", auto_range=True)
    assert lines(figure) == []
    assert len(trace(figure, "blocks").x) == 4
    assert "No two blocks form a community." in figure.layout.meta["alt"]


def test_the_table_of_edges_has_both_directions(result):
    table = figures.edges_table(result, VIEW, threshold=0.3)
    assert list(table.columns) == ["block", "basis", "distance", "weight", "forward", "backward"]
    first = table.iloc[0]
    assert (first.block, first.basis, first.distance) == (1, 2, 1)
    assert (first.weight, first.forward, first.backward) == pytest.approx((0.75, 0.9, 0.6))
    assert list(table.weight) == sorted(table.weight, reverse=True)
    assert figures.edges_table(result, VIEW, threshold=1).empty


def test_notes_stand_below_a_legend_of_any_height(result):
    many = figures.graph(result, VIEW, layout="line", selected=(1, 2))
    page = on_paper(many, result, VIEW)
    few = on_paper(figures.graph(planted(np.eye(5)), VIEW, layout="line"), result, VIEW)
    assert page.layout.annotations[0].yshift < few.layout.annotations[0].yshift
    assert page.layout.width == WIDTH


# ---- locality


def test_the_locality_curve_draws_the_means_with_their_spread(result):
    figure = figures.locality(result, VIEW)
    found = locality(result, VIEW)
    mean = figure.data[-1]
    assert mean.name.startswith("mean (alignment; K = 1")
    assert list(mean.x) == [1, 2, 3, 4]
    assert mean.y == pytest.approx(found.mean)
    assert mean.customdata[:, 1] == pytest.approx(found.pairs)
    band = trace(figure, "one standard deviation")
    assert band.y[:4] == pytest.approx(found.mean - found.spread)
    assert band.y[4:][::-1] == pytest.approx(found.mean + found.spread)
    assert trace(figure, "chance").y == pytest.approx(np.zeros(4))
    assert figure.layout.xaxis.title.text == "Distance |l - l'| (blocks)"


def test_the_raw_locality_curve_has_its_floor():
    result, view = random_result(), View(k=5)
    figure = figures.locality(result, view, corrected=False)
    found = locality(result, view, corrected=False)
    assert trace(figure, "chance").y == pytest.approx(found.chance)
    assert (np.array(trace(figure, "chance").y) > 0.1).all()
    assert "chance line" in figure.layout.meta["caption"]


def test_a_locality_curve_of_nothing_says_so(result):
    nothing = replace(result, rank=np.zeros(5, int))
    assert "No pair has a score." in figures.locality(nothing, VIEW).layout.meta["alt"]


def test_the_table_of_the_locality_curve(result):
    table = figures.locality_table(result, VIEW)
    assert list(table.columns) == ["distance", "mean", "spread", "chance", "pairs"]
    assert table["mean"].to_numpy() == pytest.approx(locality(result, VIEW).mean)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_caption_speaks_of_edges_only_where_there_are_some(result, layout):
    some = figures.graph(result, VIEW, layout=layout).layout.meta["caption"]
    none = figures.graph(result, VIEW, layout=layout, threshold=1.0).layout.meta["caption"]
    assert "Width and opacity" in some
    assert not any(words in none for words in ("Width and opacity", "an arc", "that are coupled"))


def test_a_caption_says_what_colours_by_depth_are(result):
    by_depth = figures.graph(result, VIEW, color="depth").layout.meta["caption"]
    assert "The first block is blue, and the last one yellow." in by_depth
    assert "yellow" not in figures.graph(result, VIEW).layout.meta["caption"]


def test_steps_of_a_narrow_range_are_told_apart():
    narrow = planted(0.86 + 0.02 * np.random.default_rng(0).uniform(size=(30, 30)))
    figure = figures.graph(narrow, VIEW, corrected=False, auto_range=True)
    names = [shape.name for shape in lines(figure)]
    assert len(names) > 2
    for name in names:
        low, _, high = name.partition(" to ")
        assert low != high
