"""Figures without a browser, and enlarged."""

from cases import random_result

from coupling_core import View, figures
from coupling_core.figures import style
from coupling_core.figures.enlarged import enlarged
from coupling_core.figures.typeset import in_html, in_tex

VIEW = View(k=6)
RESULT = random_result(n_blocks=5, width=16, k_max=8, k_view=4)


def test_maps_curves_and_graphs_are_drawn(monkeypatch):
    monkeypatch.setenv("BROWSER_PATH", "/nowhere/chromium")
    graph = figures.graph(RESULT, VIEW, layout="circle", color="depth")
    for figure in (figures.scores(RESULT, VIEW), graph):
        assert figures.render(figure, ".pdf", RESULT, VIEW).startswith(b"%PDF")
    svg = figures.render(figures.mean_by_k(RESULT, VIEW), ".svg", RESULT, VIEW).decode()
    assert "Number of singular triplets K" in svg


def test_letters_and_lines_grow_and_numbers_stay():
    figure = style.new_figure("alt", "caption", height=300)
    figure.add_trace(style.line([1, 2], [3, 4], "curve", width=2))
    before = figure.to_json()
    found = enlarged(figure, 2)
    assert (found.layout.height, found.data[0].line.width) == (600, 4)
    assert list(found.data[0].y) == [3, 4]
    assert figure.to_json() == before


def test_indices_are_set():
    assert in_tex("J^l x^(l-1)", str.upper) == "$J^{l}$ $x^{l-1}$"
    assert in_html("s_K / s_(K+1) is") == "s<sub>K</sub> / s<sub>K+1</sub> is"
    assert in_tex("max_length", str.upper) == "MAX_LENGTH"
