"""Lists of prompts on Depth, Layer graph and Trajectories: one job, the mean, a dot a prompt."""

import io
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tiny
from handling import labels, plain_words, press, settled, trace
from screen import PAGES, Open, charts, coloured, heat, words
from streamlit.testing.v1 import AppTest

from coupling_core import measure
from coupling_core.analysis.over_prompts import mean_scores, of_prompt
from coupling_core.analysis.scores import known_interval
from coupling_core.base.records import Request, View
from coupling_core.experiments.gallery import EXAMPLES
from coupling_core.sources.prompts import Prompt
from coupling_core.store.disk import Store
from explorer.asking.queue import queue
from explorer.pages import depth_list
from explorer.pages.depth import DepthState
from explorer.panels.recipes import many
from explorer.server import prompt_lists

pytestmark = pytest.mark.full

LINES = ("The cat sat on the mat", "A dog lay down", "It was tired and", "The dog sat")
MINI = {"model": "coupling-explorer/mini-64", "rev": "step256", "k": "8"}


def kept(*texts: str, kinds: tuple[str, ...] = ("",)) -> str:
    """The name of a list that was given here before, as a link has it."""
    found = prompt_lists._listed(
        [
            Prompt(text, "own", 1, category=kinds[place % len(kinds)])
            for place, text in enumerate(texts)
        ]
    )
    folder = Store().root / prompt_lists.FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{found.name}.jsonl").write_text(prompt_lists.to_jsonl(found.prompts))
    return found.name


def pasted(app: AppTest, *lines: str) -> AppTest:
    app.toggle(key="prompts@toggle").set_value(True).run()
    app.text_area(key="pasted@list").set_value("\n".join(lines)).run()
    return press(app, "Use these prompts")


def alone(app: AppTest) -> AppTest:
    """The list is to be measured without the twin."""
    return app.checkbox(key="twin@list").set_value(False).run()


def measured_here() -> list[Request]:
    return [entry.request for entry in Store().entries() if not entry.read_only]


def files() -> dict[str, bytes]:
    """What was measured here, with how long it took."""
    return {
        entry.key: entry.path.read_bytes() for entry in Store().entries() if not entry.read_only
    }


@pytest.fixture
def model(tmp_path: Path) -> dict[str, str]:
    """A model that is measured in no time."""
    return {"model": str(tiny.folder(tmp_path / "model", "llama")), "k": "4"}


# ---- what is stored


def test_the_map_is_the_mean_over_the_stored_prompts(open_page: Open, gallery) -> None:
    app = open_page("Depth", list=kept(*EXAMPLES))
    assert not app.error
    parts = [of_prompt(gallery[n, True], View()) for n in range(3)]
    mean = mean_scores([part.scores for part in parts]).corrected
    np.testing.assert_allclose(heat(charts(app)["scores"]), coloured(mean), rtol=1e-5)
    over = known_interval(np.array([part.mean(corrected=True) for part in parts]))
    told = words(app)
    assert f"{over.mean:.3f} over 3 prompts (95\u00a0%: {over.low:.3f} to {over.high:.3f})" in told
    assert "prompt by prompt: a difference of" in told  # to the twin, which is stored too
    assert "40 prompts" in app.warning[0].value  # three are few
    names = [line["name"] for line in charts(app)["prompts"]["data"]]
    assert names[:2] == ["the same prompts, untrained", "prompts"]
    assert not app.table
    assert not queue().active()
    app = open_page("Depth", list=kept(*EXAMPLES), untrained="0")
    assert charts(app)["prompts"]["data"][1]["name"] == "prompts, untrained"


def test_each_category_has_its_mean(open_page: Open, gallery) -> None:
    app = open_page("Depth", list=kept(*EXAMPLES, kinds=("facts", "tales")))
    (table,) = [one.value for one in app.table if "Mean" in one.value.columns]
    scores = [of_prompt(gallery[n, True], View()).mean(corrected=True) for n in range(3)]
    assert table["Prompts"].to_dict() == {"facts": 2, "tales": 1}
    assert table["Mean"]["facts"].startswith(f"{np.mean([scores[0], scores[2]]):.3f} (95")
    assert table["Mean"]["tales"].startswith(f"{scores[1]:.3f} (no interval")


def test_raw_scores_of_a_list_have_the_chance_floors_of_both_models(
    open_page: Open, gallery
) -> None:
    app = open_page("Depth", list=kept(*EXAMPLES), raw="1", blocks="9-16")
    view = View(blocks=tuple(range(9, 17)))
    parts, twins = (
        [of_prompt(gallery[n, trained], view) for n in range(3)] for trained in (True, False)
    )
    mean = mean_scores([part.scores for part in parts]).coupling
    np.testing.assert_allclose(heat(charts(app)["scores"]), coloured(mean), rtol=1e-5)
    assert "Blocks 9-16 are coupled" in words(app)
    shapes = charts(app)["prompts"]["layout"]["shapes"]
    for name, of in (("chance", parts), ("other chance", twins)):
        (line,) = [shape for shape in shapes if shape.get("name") == name]
        assert line["x0"] == pytest.approx(np.mean([one.scores.mean().chance for one in of]))
    of_pair = np.mean([part.scores.chance[3, 2] for part in parts])  # of blocks 12 and 11
    assert f"chance floor {of_pair:.3f}" in words(app)
    assert not queue().active()


def test_a_dot_shows_its_prompt_and_a_button_shows_it_alone(open_page: Open, gallery) -> None:
    app = open_page("Depth", list=kept(*EXAMPLES), nth="2")
    assert f"“{EXAMPLES[1]}”" in plain_words(app)
    assert len(trace(charts(app)["prompts"], "prompts")["text"]) == 3
    press(app, "See it alone")
    assert app.query_params["prompt"] == EXAMPLES[1]
    assert "list" not in app.query_params
    assert "token 11 of 11" in words(app)


def test_the_graph_is_that_of_the_means(open_page: Open, gallery) -> None:
    app = open_page("Layer graph", list=kept(*EXAMPLES), threshold="0.1")
    parts = [of_prompt(gallery[n, True], View()) for n in range(3)]
    mean = mean_scores([part.scores for part in parts]).corrected
    edges = int((np.triu((mean + mean.T) / 2, 1) >= 0.1).sum())
    assert f"{edges} of 435 pairs are edges" in words(app)


def test_a_file_that_somebody_changed_is_another_list(open_page: Open) -> None:
    name = kept(*EXAMPLES)
    path = Store().root / prompt_lists.FOLDER / f"{name}.jsonl"
    path.write_text(path.read_text().replace("France", "Spain"))
    app = open_page("Depth", list=name)
    assert "not here" in app.warning[0].value
    assert "mosaic" in charts(app)


def test_other_pages_pass_over_a_list(open_page: Open) -> None:
    app = open_page("Depth", list=(name := kept(*EXAMPLES)))
    app.switch_page(PAGES["Tokens"]).run()
    assert app.query_params["list"] == name
    assert not [toggle for toggle in app.toggle if toggle.key == "prompts@toggle"]
    assert "tokens" in charts(app)


def test_the_blocks_are_chosen_beside_the_map(open_page: Open, gallery) -> None:
    app = open_page("Depth", list=kept(*EXAMPLES))
    app.segmented_control(key="blocks@depth-list").set_value("9-16").run()
    assert app.query_params["blocks"] == "9-16"
    assert "Blocks 9-16 are coupled: " in words(app)
    app.text_input(key="blocks@sidebar").set_value("3,7,9").run()
    assert list(app.segmented_control(key="blocks@depth-list").options) == ["All", "9-16", "3,7,9"]


def test_start_and_depth_lead_on(open_page: Open, gallery) -> None:
    app = press(open_page("Start"), "The same over 60 prompts, or your own")
    assert (app.query_params["list"], app.query_params["blocks"]) == ("shipped", "9-16")
    assert "60 prompts" in app.info[0].value
    listed = kept(*EXAMPLES[:2])
    app = press(open_page("Start", list=listed), "The same over your 2 prompts")
    assert app.query_params["list"] == listed
    app = press(open_page("Depth", block="12", basis="20"), "What the directions of block 20")
    assert app.query_params["block"] == "20"


# ---- recipes


def test_a_recipe_of_some_blocks_has_their_number(tmp_path: Path) -> None:
    """That of the page, and not the mean over all pairs."""
    folder, listed = str(tiny.folder(tmp_path / "tiny")), tmp_path / "some.txt"
    listed.write_text("The cat sat\nOn the mat\n")
    request = Request("-", model=folder)
    told = ("depth", str(listed), "corrected", {"k": 8}, "2-3")
    program = many(request, *told, twin=replace(request, untrained=0))
    said, has = io.StringIO(), {}
    with redirect_stdout(said):
        exec(program, has)
    table = has["table"]
    for seed, name in zip((None, 0), table["model"].unique(), strict=True):
        found = [
            measure(Request(text, model=folder, k=8, untrained=seed)).scores(k=8, blocks="2-3")
            for text in listed.read_text().split("\n")[:2]
        ]
        expected = [one.mean().corrected for one in found]
        np.testing.assert_allclose(table[table["model"] == name].corrected, expected)
    assert "a difference of" in said.getvalue()


def test_recipes_measure_the_file_of_the_list() -> None:
    listed, state = prompt_lists.get("shipped"), DepthState(k=20, token=2)
    assert listed
    found = depth_list.recipes("depth", Request("x", token=2, k=20), state, listed, 20)
    call = "measure_many('sweeps/prompts.jsonl', {'model': 'smollm2-135m'}, k=20, token=2)"
    assert call in found.python
    compile(found.python, "recipe", "exec")
    assert "--prompts=sweeps/prompts.jsonl" in found.shell
    assert "--prompt=" not in found.shell


# ---- giving one


def test_the_toggle_takes_the_list_that_ships(open_page: Open, model: dict[str, str]) -> None:
    app = open_page("Depth", **model)
    app.toggle(key="prompts@toggle").set_value(True).run()
    assert app.query_params["list"] == "shipped"
    assert "60 prompts" in app.info[0].value
    assert "Compute all 60 prompts" in labels(app)
    app.toggle(key="prompts@toggle").set_value(False).run()
    assert "list" not in app.query_params


def test_a_list_is_measured_as_one_job_and_what_is_measured_of_it_no_second_time(
    open_page: Open, model: dict[str, str]
) -> None:
    app = pasted(open_page("Depth", **model), *LINES[:3], "", LINES[0])
    assert app.session_state["own@list"] is False  # closed, and "Compute" in sight
    app = press(alone(app), "Compute all 3 prompts")
    assert len(queue().active()) <= 1
    app = settled(app)
    assert not app.error
    assert "Over 3 prompts, the mean" in words(app)
    assert "1 prompt came more than once" in words(app)
    assert "coupled: " not in words(app)  # which nobody can say without the twin
    assert {one.prompt for one in measured_here()} == set(LINES[:3])
    made = files()
    opened = open_page("Depth", **model, list=app.query_params["list"])  # another visit
    assert "Over 3 prompts" in words(opened)
    app = alone(pasted(app, *LINES))
    assert "Over 3 prompts" in words(app)  # so far
    assert "1 of 4 prompts" in app.info[0].value
    app = settled(press(app, "Compute one prompt"))
    assert "Over 4 prompts" in words(app)
    later = files()
    assert later | made == later  # not one was measured again
    assert len(later) == len(made) + 1 == 4


def test_a_list_is_judged_once_the_twin_has_every_prompt(
    open_page: Open, model: dict[str, str]
) -> None:
    app = pasted(open_page("Depth", **model), *LINES[:2])
    app = settled(settled(press(app, "Compute all 2 prompts")))  # of both models, in one click
    assert not app.error
    assert not app.info
    assert "over 2 prompts (95\u00a0%: " in words(app)
    assert "coupled: " in words(app)
    assert len({one.untrained for one in measured_here()}) == 2
    assert len(measured_here()) == 4
    app = settled(press(alone(pasted(app, *LINES)), "Compute the other 2 prompts"))
    assert "coupled: " not in words(app)
    assert "a difference of" not in words(app)
    assert "2 of 4 prompts" in app.info[0].value
    app.toggle(key="untrained@sidebar").set_value(True).run()
    assert "2 of 4 prompts" in app.info[0].value
    assert "coupled: " in words(app)  # of the two that both have, whichever is looked at
    app.toggle(key="untrained@sidebar").set_value(False).run()
    app = settled(press(app, "Measure the untrained twin too"))
    assert "coupled: " in words(app)


def test_paths_of_a_list(open_page: Open, model: dict[str, str]) -> None:
    app = pasted(open_page("Trajectories", **model), *LINES)
    app = settled(press(app, "Compute all 4 prompts"))
    assert list(charts(app)) == ["prompts", "line-shape-by-depth"]
    assert "chance" not in words(app)  # paths have none
    app.segmented_control(key="along@trajectories-list").set_value("growth").run()
    assert list(charts(app)) == ["prompts", "growth"]
    assert "expodistance" in words(app)


def test_a_prompt_that_cannot_be_measured_is_told_and_left_out(
    open_page: Open, model: dict[str, str]
) -> None:
    app = open_page("Depth", **model, token="20")
    app = alone(pasted(app, *LINES, f"{tiny.TEXT} {tiny.TEXT}"))
    app = settled(press(app, "Compute all 5 prompts"))
    assert "Over 1 prompt, the mean" in words(app)
    assert [one for one in app.warning if f"Prompt 1 (“{LINES[0]}”)" in one.value]


def test_a_table_is_taken_by_its_column_and_not_too_long_a_list(
    open_page: Open, model: dict[str, str]
) -> None:
    app = open_page("Depth", **model)
    app.toggle(key="prompts@toggle").set_value(True).run()
    table = "category,prompt\npets,The cat sat\npets,The dog sat\n"
    app.file_uploader[0].set_value(("own.csv", table.encode(), "text/csv"))
    app.run()
    assert "2 prompts" in app.info[0].value
    app.file_uploader[0].set_value(("own.csv", b"text\nno prompt\n", "text/csv"))
    app.run()
    assert "'prompt' in line 1" in app.error[0].value.replace("\\", "")
    app = pasted(open_page("Depth", **model), *(f"Prompt number {n}" for n in range(201)))
    assert "201 prompts" in app.error[0].value
    assert app.query_params["list"] == "shipped"


# ---- a demo


def test_a_demo_takes_on_as_many_as_it_has_time_for(
    open_page: Open, demo: pytest.MonkeyPatch
) -> None:
    demo.setenv("COUPLING_LONGEST_SECONDS", "1")
    app = open_page("Depth", **MINI, list="shipped")
    (label,) = [one for one in labels(app) if one.startswith("Compute the first ")]
    assert 1 <= int(label.split()[3]) < 60


def test_a_strangers_list_stays_with_the_visit_and_within_the_limits(
    open_page: Open, demo: pytest.MonkeyPatch
) -> None:
    app = pasted(open_page("Depth", **MINI), *LINES)
    assert "4 prompts" in app.info[0].value
    assert not (Store().root / prompt_lists.FOLDER).exists()
    other = open_page("Depth", **MINI, list=app.query_params["list"])
    assert "not here" in other.warning[0].value
    demo.setenv("COUPLING_LONGEST_PROMPT", "8")
    app = pasted(open_page("Depth", **MINI), "The cat", "word " * 20)
    assert "Prompt 2" in app.error[0].value
    assert not [label for label in labels(app) if label.startswith("Compute")]
