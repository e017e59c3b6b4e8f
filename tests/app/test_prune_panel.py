"""The plan of blocks that could go, on the page What if: what ships is drawn, with its words."""

import pytest
import tiny
from screen import charts, words

from coupling_core import Pruning, Request, Store, measure
from coupling_core.analysis.pruning.rankings import NAMES
from explorer.panels.pruning import SHIPPED


def test_what_ships_is_drawn_with_its_price(open_page):
    app = open_page("What if")
    assert not app.exception
    plan = Pruning.read(SHIPPED)
    lines = {line.get("name"): line for line in charts(app)[f"pruning-{plan.model}"]["data"]}
    assert {NAMES[by] for by in plan.rankings} <= set(lines)
    point = plan.point("kl", 4)
    assert lines[NAMES["kl"]]["text"][3].startswith("least KL when skipped")
    told = words(app)
    assert plan.verdict.split(".")[0] in told
    assert f"{plan.megabytes(point.blocks):.1f}" in told
    assert f"{point.left_out.loss:.3f}" in told
    assert "What it does not show" in told


def test_of_another_model_the_command_is_told(open_page, tmp_path):
    folder = str(tiny.folder(tmp_path / "tiny"))
    measure(Request("The cat sat", model=folder, kind="what-if"), Store())
    app = open_page("What if", model=folder, prompt="The cat sat")
    assert not app.exception
    assert not [name for name in charts(app) if "pruning" in name]
    (code,) = (one.value for one in app.code if "coupling prune" in one.value)
    assert folder in code


def test_what_ships_has_every_ranking_and_twenty_random_draws():
    plan = Pruning.read(SHIPPED)
    assert {point.removed for point in plan.curve} == set(range(1, 9))
    assert set(plan.rankings) == {"coupling", "influence", "angle", "kl", "last", "random"}
    assert len(plan.judged_on) == 40
    assert not set(plan.ranked_on) & set(plan.judged_on)
    assert plan.provenance["processor"]
    assert len([cut for cut in plan.cuts if cut.by == "random"]) == 8 * 20
    assert plan.whole.loss == pytest.approx(sum(plan.own_loss) / sum(plan.predicted))
