"""How large a map is drawn: by the room of its column and of the window."""

import plotly.graph_objects as go

from explorer.panels.square import ROUND_MAP, limit


def figure(**more: object) -> go.Figure:
    margin = {"l": 70, "r": 8, "t": 118, "b": 60}
    return go.Figure(
        layout={
            "height": 600,
            "margin": margin,
            "xaxis": {"range": [0, 4]},
            "yaxis": {"range": [8, 0], "scaleanchor": "x"},
        }
    ).update_layout(**more)


def test_a_map_takes_the_width_that_there_is_and_no_more_than_the_window_has() -> None:
    rule = limit(figure(), "a map")
    assert ".st-key-a-map-frame { container-type: inline-size }" in rule
    assert "min((100cqi - 78px) * 2.0000, max(600px, 100dvh - 16rem) - 234px) + 178px" in rule


def test_two_maps_side_by_side_are_of_one_size_whatever_stands_round_them() -> None:
    beside = limit(figure(margin_b=88), "a map")
    assert f"- {ROUND_MAP}px) + 206px" in beside
    assert beside.replace("206px", "178px") == limit(figure(), "a map")


def test_other_figures_take_any_shape() -> None:
    assert limit(figure(yaxis_scaleanchor=None), "a curve") == ""
