"""The Trajectories page: what is stored shows at once, and every view of it computes nothing."""

import numpy as np
import pytest
from handling import labels, numbers, shipped, trace
from screen import charts

from coupling_core import PathView, TrajectoryResult, project_paths
from coupling_core.experiments.gallery import EXAMPLES, path_requests
from coupling_core.kinds.trajectory.command import CURVES
from explorer.pages.trajectories import PathsState, recipes

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def stored() -> tuple[TrajectoryResult, TrajectoryResult]:
    """The committed paths, trained and untrained."""
    trained, twin = map(shipped, path_requests())
    return trained, twin


def test_switches_change_the_projection_and_the_link(open_page, stored) -> None:
    app = open_page("Trajectories")
    app.segmented_control(key="fit@trajectories").set_value("all").run()
    app.segmented_control(key="part@trajectories").set_value("deeper").run()
    app.segmented_control(key="first@trajectories").set_value(True).run()
    found = project_paths(stored[0], PathView("all", "deeper", True))
    path = trace(charts(app)["paths"], "2")
    np.testing.assert_allclose(numbers(path["x"]), found.coordinates[:-1, 1, 0], rtol=1e-4)
    assert "1" in [one["name"] for one in charts(app)["paths"]["data"]]
    assert (app.query_params["fit"], app.query_params["part"]) == ("all", "deeper")
    path = trace(charts(open_page("Trajectories", dims="3"))["paths"], "10")
    assert path["type"] == "scatter3d"
    found = project_paths(stored[0], PathView(first=False))
    np.testing.assert_allclose(numbers(path["z"]), found.coordinates[:-1, -1, 2], rtol=1e-4)


def test_a_token_is_selected_on_every_figure(open_page, stored) -> None:
    app = open_page("Trajectories", token="4", along="entropy")
    selected = trace(charts(app)["entropy"], "token 4")
    np.testing.assert_allclose(numbers(selected["y"]), stored[0].entropy[:, 3], rtol=1e-5)
    assert "capital" in selected["name"]
    inked = [t["name"] for t in charts(app)["paths"]["data"] if t.get("meta") == "inked"]
    assert inked == ["selected normed", "4", "selected"]


GROUPS = {
    "straightness": ("line-shape", "line-shape-by-depth"),
    "growth": ("expodistance", "growth", "norms"),
    "steps": ("equidistance", "steps"),
    "entropy": ("entropy",),
    "linearised": ("linearised", "linearised-twin"),
    "singular-values": ("singular-values", "inverse-singular-values"),
}


def test_each_group_draws_its_figures(open_page) -> None:
    app = open_page("Trajectories")
    for along, names in GROUPS.items():
        app.segmented_control(key="along@trajectories").set_value(along).run()
        assert set(names) <= set(charts(app))
        of_both = [charts(app)[name]["data"] for name in set(names) & set(CURVES)]
        assert all(len(lines) == 4 for lines in of_both)


def test_a_model_of_too_few_blocks_has_no_empty_figure(open_page) -> None:
    app = open_page("Trajectories", model="coupling-explorer/mini-64", revision="step4000")
    assert not app.exception
    assert "line-shape" in charts(app)
    assert "line-shape-by-depth" not in charts(app)
    assert app.info


def test_a_result_without_its_twin_offers_to_measure_that(open_page, link, measured) -> None:
    measured("trajectory")
    app = open_page("Trajectories", **link)
    assert "paths-twin" not in charts(app)
    assert "Measure the untrained twin too" in labels(app)


def test_recipes_reproduce_what_is_shown() -> None:
    state = PathsState(prompt=EXAMPLES[1], token=3, fit="all")
    program, shell = recipes(state.request("trajectory"), state.path_view(), state)
    assert [one for one in ("PathView(fit='all')", "kind='trajectory'") if one not in program] == []
    assert [one for one in ("trajectory", "--fit=all", "--token=3") if one not in shell] == []
    assert [one for one in ("first", "--k") if one in shell] == []  # as the page leaves it out
