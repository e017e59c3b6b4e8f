"""What follows from the record of a figure of curves: traces and words."""

from dataclasses import replace

import numpy as np
import pytest
from checks import trace

from coupling_core.base.curves import Curves
from coupling_core.figures.curves import Series, curves, described

X = np.arange(1, 6)
PEAK = np.array([0.1, 0.2, 0.9, 0.3, 0.15])
SPEC = Curves(
    y="Score of {name}", caption="What {name} does.", at="block ", hover=".2f", unit=" nats"
)
OWN = Series("own", X, PEAK, band=(PEAK - 0.1, PEAK + 0.1), band_name="middle")


def test_a_record_and_curves_are_a_figure_with_its_words():
    drawn = curves([OWN, replace(OWN, y=PEAK / 2).untrained], SPEC, "m", {"name": "it"})
    assert [t.name for t in drawn.data] == ["middle", "own", "own, untrained"]
    assert [t.line.dash for t in drawn.data[1:]] == ["solid", "dot"]
    np.testing.assert_allclose(trace(drawn, "own, untrained").y, PEAK / 2)
    np.testing.assert_allclose(trace(drawn, "middle").y, [*(PEAK - 0.1), *(PEAK + 0.1)[::-1]])
    assert trace(drawn, "own").hovertemplate == "own<br>block %{x}: %{y:.2f} nats<extra></extra>"
    assert (drawn.layout.xaxis.title.text, drawn.layout.yaxis.title.text) == (
        "Block l",
        "Score of it",
    )
    assert drawn.layout.meta["caption"] == "What it does. Dotted: the untrained model."
    assert drawn.layout.meta["alt"].startswith(
        "Score of it, m; horizontal axis: Block l. own: 0.1 at block 1"
    )


@pytest.mark.parametrize(
    ("y", "said"),
    [
        (PEAK, "own: 0.1 at 1, 0.15 at 5, highest 0.9 at 3."),
        (-PEAK, "own: -0.1 at 1, -0.15 at 5, lowest -0.9 at 3."),
        (PEAK * 0 + 0.5, "own: 0.5 throughout."),
        (PEAK * np.nan, "own: no value."),
        (np.where(X < 3, np.nan, PEAK), "own: 0.9 at 3, 0.15 at 5, 2 without a value."),
    ],
)
def test_a_curve_is_described_by_its_ends_and_turns(y, said):
    assert described([replace(OWN, y=y)]) == said


def test_many_curves_are_described_together():
    many = [replace(OWN, y=PEAK * factor) for factor in range(1, 21)]
    assert described(many) == (
        "20 curves: 0.1 to 2 at their first points, 0.15 to 3 at their last."
    )


def test_a_place_on_the_axis_stands_for_a_step():
    steps = np.array([0, 1, 10, 100, 1000])
    one = replace(OWN, x=np.log10(steps + 0.4), at=steps)
    assert described([one]) == "own: 0.1 at 0, 0.15 at 1000, highest 0.9 at 10."
    assert list(curves([one], SPEC, "m").data[1].customdata) == list(steps)
