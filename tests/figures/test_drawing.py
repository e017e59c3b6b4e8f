"""Figures without a browser, and enlarged."""

import numpy as np
from cases import random_result, trajectory_result
from matplotlib.figure import Figure

from coupling_core import View, figures
from coupling_core.figures import style
from coupling_core.figures.drawing import draw
from coupling_core.figures.enlarged import enlarged
from coupling_core.figures.export import on_paper
from coupling_core.figures.typeset import in_html, in_tex

VIEW = View(k=6)
RESULT = random_result(n_blocks=5, width=16, k_max=8, k_view=4)


def test_matplotlib_draws_the_numbers_of_maps_curves_grounds_and_graphs(monkeypatch):
    """On plain and on log axes, with bars of colours and legends."""
    pages = []
    monkeypatch.setattr(Figure, "savefig", lambda page, *_, **__: pages.append(page))
    for figure in (
        figures.scores(RESULT, VIEW, selected=(2, 4)),
        figures.spectrum(RESULT, VIEW, selected=(2, 4)),
        figures.locality(RESULT, VIEW),
        figures.graph(RESULT, VIEW, layout="circle"),
        figures.by_depth(trajectory_result(n_tokens=60), "norms", token=3),
    ):
        draw(on_paper(figure, RESULT, VIEW), ".pdf")
        plot = pages[-1].axes[0]
        assert (plot.get_yscale() == "log") == (figure.layout.yaxis.type == "log")
        maps = [trace for trace in figure.data if trace.type == "heatmap" and trace.opacity != 0]
        assert [image.get_array().shape[:2] for image in plot.images] == [m.z.shape for m in maps]
        lines = [line.get_xydata() for line in plot.lines]
        for trace in (t for t in figure.data if t.type == "scatter" and "lines" in t.mode):
            wanted = np.transpose([trace.x, trace.y]).astype(float)
            if np.isfinite(wanted).all(1).any():  # else it stands in the legend alone
                assert any(np.array_equal(wanted, line, equal_nan=True) for line in lines)


def test_letters_and_lines_grow_and_numbers_stay():
    figure = style.new_figure("alt", "caption", height=300, yaxis={"type": "log"})
    figure.add_trace(style.line([1, 2], [3, 4], "curve", width=2))
    before = figure.to_json()
    found = enlarged(figure, 2)
    assert (found.layout.height, found.data[0].line.width) == (600, 4)
    assert (list(found.data[0].y), found.layout.yaxis.dtick) == ([3, 4], 1)
    assert figure.to_json() == before


def test_indices_are_set():
    assert in_tex("J^l x^(l-1)", str.upper) == "$J^{l}$ $x^{l-1}$"
    assert in_html("s_K / s_(K+1) is") == "s<sub>K</sub> / s<sub>K+1</sub> is"
    assert in_tex("max_length", str.upper) == "MAX_LENGTH"
