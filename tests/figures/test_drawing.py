"""Figures without a browser, and enlarged."""

import numpy as np
import pytest
from cases import random_result, trajectory_result
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure

from coupling_core import PathView, View, figures
from coupling_core.base.drawing import drawn
from coupling_core.figures import style
from coupling_core.figures.drawing import draw
from coupling_core.figures.export import on_paper
from coupling_core.figures.slides import enlarged
from coupling_core.figures.words import in_html, in_tex

VIEW = View(k=6)
RESULT = random_result(n_blocks=5, width=16, k_max=8, k_view=4)


def test_matplotlib_draws_the_numbers_ranges_and_names_of_maps_and_curves(monkeypatch):
    """On plain and on log axes, with bars of colours, grounds and legends."""
    pages = []
    monkeypatch.setattr(Figure, "savefig", lambda page, *_, **__: pages.append(page))
    for figure in (
        figures.scores(RESULT, VIEW, selected=(2, 4)),
        figures.spectrum(RESULT, VIEW, selected=(2, 4)),
        figures.locality(RESULT, VIEW),
        drawn(trajectory_result(n_tokens=60), PathView(), "norms", token=3),
    ):
        draw(on_paper(figure, RESULT, VIEW), ".pdf")
        (paper,) = pages[-1].axes
        plot, layout = paper.child_axes[0], figure.layout
        assert (plot.get_yscale() == "log") == (layout.yaxis.type == "log")
        assert plot.get_ylim() == pytest.approx(layout.yaxis.range or plot.get_ylim())
        maps = [trace for trace in figure.data if trace.type == "heatmap" and trace.opacity != 0]
        meshes = [part for part in plot.collections if isinstance(part, QuadMesh)]
        for mesh, trace in zip(meshes, maps, strict=True):
            np.testing.assert_array_equal(mesh.get_array().filled(np.nan), trace.z)
            assert mesh.get_clim() == (trace.zmin or 0, trace.zmax or 0)  # of the grey cells 0
        lines = [line.get_xydata() for line in plot.lines]
        for trace in (t for t in figure.data if t.type == "scatter" and "lines" in t.mode):
            wanted = np.transpose([trace.x, trace.y]).astype(float)
            assert any(np.array_equal(wanted, line, equal_nan=True) for line in lines)
        named = {trace.name for trace in figure.data if trace.showlegend}
        assert named <= {text.get_text() for text in paper.get_legend().get_texts()}


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
