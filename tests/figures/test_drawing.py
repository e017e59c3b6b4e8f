"""Figures without a browser: matplotlib's pictures have plotly's numbers, or are refused."""

import io
import sys
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import plotly.graph_objects as go
import pytest
from cases import random_result
from PIL import Image

from coupling_core import ComputeError, View, compare, figures, score_pairs
from coupling_core.figures import style
from coupling_core.figures.drawing import colors, draw, texts
from coupling_core.figures.export import WIDTH, on_paper

VIEW = View(k=6)


@pytest.fixture(scope="module")
def result():
    return random_result(n_blocks=5, width=16, k_max=8, k_view=4)


@pytest.fixture
def no_chromium(monkeypatch):
    monkeypatch.setenv("BROWSER_PATH", "/nowhere/chromium")


def pixels(page):
    return np.asarray(Image.open(io.BytesIO(draw(page, ".png"))).convert("RGB"))


def every_figure(result):
    twin = replace(result, request=replace(result.request, untrained=0))
    return [
        figures.scores(result, VIEW, selected=(2, 4)),
        figures.mosaic(result, VIEW, magnitude=False),
        figures.matrix(result, 2, 4, VIEW),
        figures.spectrum(result, VIEW, selected=(2, 4)),
        figures.mean_by_k(result, VIEW, corrected=True),
        figures.score_by_k(result, 2, 4, VIEW),
        figures.angles(result, 2, 4, VIEW),
        figures.scaling(result),
        figures.graph(result, VIEW),
        figures.graph(result, VIEW, layout="circle", color="depth"),
        figures.graph(result, VIEW, layout="spring"),
        figures.locality(result, VIEW),
        figures.comparison(compare(result, twin, VIEW)),
    ]


@pytest.mark.parametrize("number", range(13))
@pytest.mark.parametrize(("ending", "begins"), [(".png", b"\x89PNG"), (".pdf", b"%PDF")])
def test_every_figure_of_blocks_is_drawn(result, number, ending, begins):
    page = on_paper(every_figure(result)[number], result, VIEW)
    assert draw(page, ending).startswith(begins)


def test_a_map_has_the_colours_of_its_scores(result):
    picture = pixels(on_paper(figures.scores(result, VIEW), result, VIEW))
    found = score_pairs(result, VIEW).corrected
    wanted = colors.colored(found, *style.CORRECTED_RANGE, style.SEQUENTIAL)[..., :3] * 255
    wanted[np.eye(5, dtype=bool)] = (174.5, 178.7, 185)  # grey, 70 % on white
    grey = np.abs(picture - wanted[0, 0]).max(-1) < 3  # the diagonal, from corner to corner
    rows, columns = np.flatnonzero(grey.sum(1) > 60), np.flatnonzero(grey.sum(0) > 60)
    top, left, side = rows[0], columns[0], (columns[-1] - columns[0] + 1) / 5
    for row in range(5):
        for column in range(5):
            at = picture[top + int((row + 0.5) * side), left + int((column + 0.5) * side)]
            assert np.abs(at - wanted[row, column]).max() < 3


def test_a_log_axis_is_one():
    figure = style.new_figure("a", "b", height=300, yaxis={"type": "log", "range": [0, 2]})
    figure.add_trace(style.line([0, 1], [10, 10], "ten", "#ff0000", 4))
    figure.add_trace(style.line([0, 1], [1, 1], "one", "#00ff00", 4))
    figure.add_trace(style.line([0, 1], [100, 100], "hundred", "#0000ff", 4))
    picture = pixels(on_paper(figure))[:, WIDTH:].astype(int)

    def height(channel):
        other = [i for i in range(3) if i != channel]
        strong = (picture[..., channel] > 200) & (picture[..., other].max(-1) < 60)
        return np.flatnonzero(strong.sum(1) > 200).mean()

    assert height(0) == pytest.approx((height(1) + height(2)) / 2, abs=3)


def test_svg_keeps_its_words_as_words(no_chromium, result, caplog):
    svg = figures.render(figures.mean_by_k(result, VIEW), ".svg", result, VIEW).decode()
    assert "Number of singular triplets K" in svg
    assert "<title>Mean score" in svg
    root = ElementTree.fromstring(svg)
    assert root.get("role") == "img"
    assert root[0].tag.endswith("}title")
    assert "drawn by matplotlib" in svg
    assert "matplotlib draws this .svg" in caplog.text


@pytest.mark.parametrize(
    "error", [TimeoutError("90 s"), RuntimeError("the tab\ncrashed"), OSError(28)]
)
def test_a_chromium_that_fails_is_told_and_stood_in_for(result, monkeypatch, caplog, error):
    import kaleido

    def fail(*args, **options):
        raise error

    monkeypatch.setattr(kaleido, "calc_fig_sync", fail)
    drawn = figures.mean_by_k(result, VIEW)
    assert b"drawn by matplotlib" in figures.render(drawn, ".svg", result, VIEW)
    told = f"Chromium failed ({type(error).__name__}: {' '.join(str(error).split())})"
    assert f"{told}: matplotlib draws this .svg instead" in caplog.text
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(
        ComputeError, match=r"try again, or ask for \.html, which needs none; or pip"
    ):
        figures.render(drawn, ".svg", result, VIEW)


def test_png_is_as_large_as_chromiums(no_chromium, result):
    png = figures.render(figures.mean_by_k(result, VIEW), ".png", result, VIEW)
    assert int.from_bytes(png[16:20]) == 2 * WIDTH


@pytest.mark.parametrize(
    ("trace", "why"),
    [
        (go.Scatter3d(x=[0], y=[0], z=[0]), "three dimensions"),
        (go.Pie(values=[1]), "a trace of the kind 'pie'"),
        (go.Scatter(x=[0, 1], y=[0, 1], line_shape="spline"), "line.shape of a scatter trace"),
        (go.Scatter(x=[0, 1], y=[0, 1], stackgroup="one"), "stackgroup of a scatter trace"),
        (go.Scatter(x=["a", "b"], y=[0, 1], mode="lines"), "texts as places"),
        (go.Scatter(x=[0, 1], y=[0, 1]), "without a mode"),
        (go.Scatter(x=[0], y=[0], mode="lines", connectgaps=True), "connectgaps of a scatter"),
        (go.Scatter(x=[0], y=[0], mode="markers", marker_symbol="hash"), "symbol 'hash'"),
        (go.Heatmap(z=[[1, 2]], zsmooth="best"), "zsmooth of a heatmap trace"),
        (go.Heatmap(x=[0, 1, 5], z=[[1, 2, 3]], zmin=0, zmax=3, colorscale=style.SEQUENTIAL,
                    showscale=False), "several sizes"),
        (go.Scatter(x=[0], y=[0], mode="text", text=["\U00020000"]), "in no font"),
    ],
)  # fmt: skip
def test_what_is_not_drawn_is_refused_in_words(trace, why):
    figure = style.new_figure("a", "b", height=300).add_trace(trace)
    with pytest.raises(ComputeError, match=why) as refused:
        draw(on_paper(figure), ".png")
    assert ".html" in str(refused.value)


def test_an_unknown_part_of_the_layout_is_refused():
    figure = style.new_figure("a", "b", height=300, polar={"bgcolor": "red"})
    with pytest.raises(ComputeError, match="polar"):
        draw(on_paper(figure), ".png")


def test_raised_and_lowered_letters_and_spans_are_set_line_by_line():
    first, second = texts.lines(
        "s<sub>K+1</sub> &lt; 5 $<br><span style='font-size: 12px; color: red'>two</span>",
        14,
        "blue",
    )
    assert first.text == r"s$_{\mathrm{K+1}}$ < 5 \$"
    assert (first.size, first.color) == (14, "blue")
    assert (second.text, second.size, second.color) == ("two", 12, "red")


def test_a_ground_lies_between_a_line_and_the_one_before_it():
    figure = style.new_figure("a", "b", height=300, yaxis={"range": [0, 3]}, showlegend=False)
    edge = {"mode": "lines", "line": {"width": 0}}
    figure.add_scatter(x=[0, 1], y=[1, 1], **edge)
    figure.add_scatter(x=[0, 1], y=[2, 2], fill="tonexty", fillcolor="#ff0000", **edge)
    red = pixels(on_paper(figure))[:, WIDTH, 0].astype(int) - pixels(on_paper(figure))[:, WIDTH, 1]
    rows = np.flatnonzero(red > 200)
    assert len(rows) == pytest.approx(np.ptp(rows) + 1, abs=4)  # in one piece
    assert 60 < len(rows) < 200  # a third of the plot


def test_an_axis_covers_the_lines_that_mark_a_place():
    figure = style.new_figure("a", "b", height=300)
    figure.add_trace(style.line([0, 1], [5, 6], "values", "#0000ff"))
    figure.add_hline(y=1, line={"color": "#ff0000", "width": 4})
    picture = pixels(on_paper(figure)).astype(int)
    assert ((picture[..., 0] > 200) & (picture[..., 1:].max(-1) < 60)).sum(1).max() > 500


def test_what_has_no_number_has_no_colour():
    found = colors.colored(np.array([np.nan, 0.0, 9.0]), 0.0, 1.0, ["#000000", "#ffffff"])
    assert found.tolist() == [[0, 0, 0, 0], [0, 0, 0, 1], [1, 1, 1, 1]]
