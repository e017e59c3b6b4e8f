"""Figures for a lecture room: larger letters, and the one on the page stays as it is."""

import plotly.graph_objects as go
import pytest

from coupling_core.figures import style
from coupling_core.figures.enlarged import LEAST, enlarged


@pytest.fixture
def figure() -> go.Figure:
    made = style.new_figure(
        "alt", "caption", height=300, margin={"l": 10, "t": 20}, xaxis={"type": "log"}
    )
    made.add_trace(style.line([1, 2], [3, 4], "curve", width=2))
    made.add_annotation(text="<span style='font-size: 12px'>K</span>", font={"size": 9})
    return made


def test_letters_lines_and_margins_grow_and_numbers_stay(figure):
    before = figure.to_json()
    found = enlarged(figure, 2)
    assert found.layout.height == 600
    assert (found.layout.margin.l, found.layout.margin.t) == (20, 40)
    assert found.layout.template.layout.font.size == 26
    assert found.layout.annotations[0].font.size == LEAST
    assert "font-size:24px" in found.layout.annotations[0].text
    assert found.data[0].line.width == 4
    assert list(found.data[0].y) == [3, 4]
    assert found.layout.xaxis.dtick == 1
    assert figure.to_json() == before
