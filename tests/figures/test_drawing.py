"""Figures without a browser, and enlarged: matplotlib's pictures have plotly's numbers."""

import io

import numpy as np
from cases import random_result
from PIL import Image

from coupling_core import View, figures, score_pairs
from coupling_core.figures import style
from coupling_core.figures.drawing import colors, draw
from coupling_core.figures.enlarged import enlarged
from coupling_core.figures.export import on_paper
from coupling_core.figures.typeset import in_html, in_tex

VIEW = View(k=6)
RESULT = random_result(n_blocks=5, width=16, k_max=8, k_view=4)


def test_a_map_has_the_colours_of_its_scores():
    page = on_paper(figures.scores(RESULT, VIEW), RESULT, VIEW)
    picture = np.asarray(Image.open(io.BytesIO(draw(page, ".png"))).convert("RGB"))
    found = score_pairs(RESULT, VIEW).corrected
    wanted = colors.colored(found, *style.CORRECTED_RANGE, style.SEQUENTIAL)[..., :3] * 255
    wanted[np.eye(5, dtype=bool)] = (174.5, 178.7, 185)  # grey, 70 % on white
    grey = np.abs(picture - wanted[0, 0]).max(-1) < 3  # the diagonal, from corner to corner
    rows, columns = np.flatnonzero(grey.sum(1) > 60), np.flatnonzero(grey.sum(0) > 60)
    middle = ((np.arange(5) + 0.5) * (columns[-1] - columns[0] + 1) / 5).astype(int)
    shown = picture[rows[0] + middle[:, None], columns[0] + middle]
    assert np.abs(shown - wanted).max() < 3


def test_curves_and_graphs_are_drawn(monkeypatch):
    monkeypatch.setenv("BROWSER_PATH", "/nowhere/chromium")
    graph = figures.graph(RESULT, VIEW, layout="circle", color="depth")
    assert draw(on_paper(graph, RESULT, VIEW), ".pdf").startswith(b"%PDF")
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
