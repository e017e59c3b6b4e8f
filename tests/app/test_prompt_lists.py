"""Lists of prompts on Depth, Layer graph and Trajectories: one job, the mean, a dot a prompt."""

from dataclasses import replace
from itertools import cycle

import numpy as np
import pytest
from handling import labels, plain_words, press, ran, settled, trace
from screen import PAGES, charts, coloured, heat, words
from streamlit.testing.v1 import AppTest

from coupling_core import Request, Store, View, measure
from coupling_core.analysis.over_prompts import OfPrompt, mean_scores, of_prompt
from coupling_core.analysis.scores import known_interval
from coupling_core.experiments.gallery import EXAMPLES
from coupling_core.sources.prompts import Prompt
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
    of_kinds = zip(texts, cycle(kinds), strict=False)
    found = prompt_lists._listed([Prompt(text, "own", 1, category=kind) for text, kind in of_kinds])
    folder = Store().root / prompt_lists.FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{found.name}.jsonl").write_text(prompt_lists.to_jsonl(found.prompts))
    return found.name


def pasted(app: AppTest, *lines: str, twin: bool = True) -> AppTest:
    """A list is given, to be measured with the twin or without it."""
    app.toggle(key="prompts@toggle").set_value(True).run()
    app.text_area(key="pasted@list").set_value("\n".join(lines)).run()
    app = press(app, "Use these prompts")
    return app if twin else app.checkbox(key="twin@list").set_value(False).run()


def files() -> dict[str, bytes]:
    """What was measured here, with how long it took."""
    found = [entry for entry in Store().entries() if not entry.read_only]
    return {entry.key: entry.path.read_bytes() for entry in found}


def of_examples(gallery, view: View, *, trained: bool = True) -> list[OfPrompt]:
    return [of_prompt(gallery[number, trained], view) for number in range(3)]


@pytest.fixture
def model(link: dict[str, str]) -> dict[str, str]:
    return {"model": link["model"], "k": "4"}


def test_the_map_is_the_mean_over_the_stored_prompts_in_categories(open_page, gallery) -> None:
    name = kept(*EXAMPLES, kinds=("facts", "tales"))
    app = open_page("Depth", list=name)
    assert not app.error
    parts = of_examples(gallery, View())
    mean = mean_scores([part.scores for part in parts]).corrected
    np.testing.assert_allclose(heat(charts(app)["scores"]), coloured(mean), rtol=1e-5)
    scores = [part.mean(corrected=True) for part in parts]
    over = known_interval(np.array(scores))
    told = words(app)
    interval = f"95\u00a0% interval {over.low:.3f} to {over.high:.3f}"
    assert f"{over.mean:.3f} (3 prompts, {interval}" in told
    assert "prompt by prompt: a difference of" in told  # to the twin, which is stored too
    assert "40 prompts" in app.warning[0].value  # three are few
    names = [line["name"] for line in charts(app)["prompts"]["data"]]
    assert names[:2] == ["the same prompts, untrained", "prompts"]
    (table,) = [one.value for one in app.table if "Mean" in one.value.columns]
    assert table["Prompts"].to_dict() == {"facts": 2, "tales": 1}
    assert table["Mean"]["facts"].startswith(f"{np.mean([scores[0], scores[2]]):.3f} (95")
    assert table["Mean"]["tales"].startswith(f"{scores[1]:.3f} (no interval")

    path = Store().root / prompt_lists.FOLDER / f"{name}.jsonl"
    app.segmented_control(key="blocks@depth-list").set_value("9-16").run()
    assert app.query_params["blocks"] == "9-16"
    assert "Blocks 9-16: mean" in words(app)
    assert not queue().active()
    app = open_page("Depth", list=name, untrained="0")
    assert charts(app)["prompts"]["data"][1]["name"] == "prompts, untrained"
    path.write_text(path.read_text().replace("France", "Spain"))  # which is another list
    app = open_page("Depth", list=name)
    assert "not here" in app.warning[0].value
    assert "mosaic" in charts(app)


def test_raw_scores_of_a_list_have_the_chance_floors_of_both_models(open_page, gallery) -> None:
    app = open_page("Depth", list=kept(*EXAMPLES), raw="1", blocks="9-16")
    view = View(blocks=tuple(range(9, 17)))
    parts, twins = (of_examples(gallery, view, trained=trained) for trained in (True, False))
    mean = mean_scores([part.scores for part in parts]).coupling
    np.testing.assert_allclose(heat(charts(app)["scores"]), coloured(mean), rtol=1e-5)
    shapes = charts(app)["prompts"]["layout"]["shapes"]
    for name, of in (("chance", parts), ("chance of the untrained model", twins)):
        (line,) = [shape for shape in shapes if shape.get("name") == name]
        assert line["x0"] == pytest.approx(np.mean([one.scores.mean().chance for one in of]))
    of_pair = np.mean([part.scores.chance[3, 2] for part in parts])  # of blocks 12 and 11
    assert f"chance floor {of_pair:.3f}" in words(app)


def test_other_pages_have_its_means_and_a_dot_shows_its_prompt(open_page, gallery) -> None:
    app = open_page("Layer graph", list=(name := kept(*EXAMPLES)), threshold="0.1", nth="2")
    mean = mean_scores([part.scores for part in of_examples(gallery, View())]).corrected
    edges = int((np.triu((mean + mean.T) / 2, 1) >= 0.1).sum())
    assert f"{edges} of 435 pairs are edges" in words(app)
    app.switch_page(PAGES["Tokens"]).run()
    assert app.query_params["list"] == name
    assert not [toggle for toggle in app.toggle if toggle.key == "prompts@toggle"]
    assert "tokens" in charts(app)
    app.switch_page(PAGES["Depth"]).run()
    assert f"“{EXAMPLES[1]}”" in plain_words(app)
    assert len(trace(charts(app)["prompts"], "prompts")["text"]) == 3
    press(app, "See it alone")
    assert app.query_params["prompt"] == EXAMPLES[1]
    assert "list" not in app.query_params
    assert "token 11 of 11" in words(app)


@pytest.mark.real
def test_start_and_depth_lead_on(open_page) -> None:
    app = press(open_page("Start"), "The same over 60 prompts, or your own")
    assert (app.query_params["list"], app.query_params["blocks"]) == ("shipped", "9-16")
    assert "60 prompts" in app.info[0].value
    listed = kept(*EXAMPLES[:2])
    app = press(open_page("Start", list=listed), "The same over your 2 prompts")
    assert app.query_params["list"] == listed


def test_a_recipe_measures_the_file_of_the_list_and_gives_the_number_of_the_page(
    tmp_path, link
) -> None:
    """Of some blocks, and not the mean over all pairs."""
    folder, listed = link["model"], tmp_path / "some.txt"
    listed.write_text("The cat sat\nOn the mat\n")
    request = Request("-", model=folder)
    told = ("depth", str(listed), "corrected", {"k": 8}, "2-3")
    has, said = ran(many(request, *told, twin=replace(request, untrained=0)))
    assert "a difference of" in said
    table = has["table"]
    for seed, name in zip((None, 0), table["model"].unique(), strict=True):
        found = [
            measure(Request(text, model=folder, k=8, untrained=seed)).scores(k=8, blocks="2-3")
            for text in ("The cat sat", "On the mat")
        ]
        expected = [one.mean().corrected for one in found]
        np.testing.assert_allclose(table[table["model"] == name].corrected, expected)
    listed, state = prompt_lists.get("shipped"), DepthState(k=20, token=2)
    shell = depth_list.recipes("depth", Request("x", token=2, k=20), state, listed, 20).shell
    assert "--prompts=sweeps/prompts.jsonl" in shell
    assert "--prompt=" not in shell


def test_a_list_is_measured_as_one_job_and_no_prompt_twice(open_page, model) -> None:
    app = pasted(open_page("Depth", **model), *LINES[:3], "", LINES[0], twin=False)
    assert app.session_state["own@list"] is False  # closed, and "Compute" in sight
    app = press(app, "Compute all 3 prompts")
    assert len(queue().active()) <= 1
    app = settled(app)
    assert not app.error
    assert "Over 3 prompts, the mean" in words(app)
    assert "1 prompt came more than once" in words(app)
    assert "pairs of these blocks" not in words(app)  # which nobody can say without the twin
    made = files()
    assert len(made) == 3
    opened = open_page("Depth", **model, list=app.query_params["list"])  # another visit
    assert "Over 3 prompts" in words(opened)
    app = pasted(app, *LINES, twin=False)
    assert "Over 3 prompts" in words(app)  # so far
    assert "1 of 4 prompts" in app.info[0].value
    app = settled(press(app, "Compute one prompt"))
    assert "Over 4 prompts" in words(app)
    later = files()
    assert later | made == later  # not one was measured again
    assert len(later) == 4


def test_a_list_is_judged_once_the_twin_has_every_prompt(open_page, model) -> None:
    app = pasted(open_page("Depth", **model), *LINES[:2])
    app = settled(settled(press(app, "Compute all 2 prompts")))  # of both models, in one click
    assert not app.error
    assert not app.info
    assert "(2 prompts, 95\u00a0% interval " in words(app)
    assert "pairs of these blocks" in words(app)
    assert len(files()) == 4
    app = settled(press(pasted(app, *LINES, twin=False), "Compute the other 2 prompts"))
    assert "pairs of these blocks" not in words(app)
    assert "a difference of" not in words(app)
    assert "2 of 4 prompts" in app.info[0].value
    app.toggle(key="untrained@sidebar").set_value(True).run()
    assert "2 of 4 prompts" in app.info[0].value
    assert "pairs of these blocks" in words(app)  # the two that both have, in either view
    app.toggle(key="untrained@sidebar").set_value(False).run()
    app = settled(press(app, "Measure the untrained twin too"))
    assert "pairs of these blocks" in words(app)


def test_paths_of_a_list_without_a_prompt_that_cannot_be_measured(open_page, model) -> None:
    app = pasted(open_page("Trajectories", **model), *LINES[:2], "word " * 99)
    app = settled(press(app, "Compute all 3 prompts"))
    assert [one for one in app.warning if "Prompt 3 (“word " in one.value]
    assert list(charts(app)) == ["prompts", "line-shape-by-depth"]
    assert "chance" not in words(app)  # paths have none
    app.segmented_control(key="along@trajectories-list").set_value("growth").run()
    assert list(charts(app)) == ["prompts", "growth"]
    assert "expodistance" in words(app)


def test_a_list_comes_from_a_switch_or_a_table_and_is_not_too_long(open_page, model) -> None:
    app = open_page("Depth", **model)
    app.toggle(key="prompts@toggle").set_value(True).run()
    assert app.query_params["list"] == "shipped"
    assert "Compute all 60 prompts" in labels(app)
    table = "category,prompt\npets,The cat sat\npets,The dog sat\n"
    for text, boxes, told in (
        (table, "info", "2 prompts"),
        ("text\nno prompt\n", "error", "'prompt' in line 1"),
    ):
        app.file_uploader[0].set_value(("own.csv", text.encode(), "text/csv"))
        app.run()
        assert told in getattr(app, boxes)[0].value.replace("\\", "")
    app.toggle(key="prompts@toggle").set_value(False).run()
    assert "list" not in app.query_params
    app = pasted(app, *(f"Prompt number {n}" for n in range(201)))
    assert "201 prompts" in app.error[0].value
    assert app.query_params["list"] == "shipped"


def test_a_strangers_list_stays_with_the_visit_and_within_the_limits(open_page, demo) -> None:
    app = pasted(open_page("Depth", **MINI), *LINES)
    assert "4 prompts" in app.info[0].value
    assert not (Store().root / prompt_lists.FOLDER).exists()
    other = open_page("Depth", **MINI, list=app.query_params["list"])
    assert "not here" in other.warning[0].value
    demo.setenv("COUPLING_LONGEST_PROMPT", "8")
    app = pasted(open_page("Depth", **MINI), "The cat", "word " * 20)
    assert "Prompt 2" in app.error[0].value
    assert not [label for label in labels(app) if label.startswith("Compute")]
    demo.delenv("COUPLING_LONGEST_PROMPT")
    demo.setenv("COUPLING_LONGEST_SECONDS", "1")
    (label,) = (one for one in labels(open_page("Depth", **MINI, list="shipped")) if "first" in one)
    assert 1 <= int(label.split()[3]) < 60  # of "Compute the first 7 prompts"
