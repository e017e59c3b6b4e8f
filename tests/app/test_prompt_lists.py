"""Lists of prompts on Depth, Layer graph and Trajectories: one job, the mean, a dot a prompt."""

import io
import time
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tiny
from screen import PAGES, Open, charts, coloured, heat, words
from streamlit.testing.v1 import AppTest

from coupling_core import measure
from coupling_core.analysis.over_prompts import mean_scores, of_prompt
from coupling_core.analysis.scores import known_interval
from coupling_core.base.records import Request, View
from coupling_core.experiments.gallery import EXAMPLES, KINDS
from coupling_core.serving.lists import Prompts
from coupling_core.sources.prompts import Prompt
from coupling_core.store.disk import Store
from explorer.asking.queue import queue
from explorer.asking.watch import _of_list
from explorer.pages import depth_list
from explorer.pages.depth import DepthState
from explorer.panels.prompt_picker import OWN_TEXT
from explorer.panels.recipes import many
from explorer.server import prompt_lists

WITHIN = 120  # seconds
LINES = ("The cat sat on the mat", "A dog lay down", "It was tired and", "The dog sat")


def settled(app: AppTest) -> AppTest:
    """The page once the queue is empty."""
    end = time.monotonic() + WITHIN
    while queue().active() and time.monotonic() < end:
        time.sleep(0.1)
    assert not queue().active()
    return app.run()


def press(app: AppTest, label: str) -> AppTest:
    return next(button for button in app.button if button.label == label).click().run()


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


@pytest.fixture
def model(tmp_path: Path) -> dict[str, str]:
    """A model that is measured in no time."""
    return {"model": str(tiny.folder(tmp_path / "model", "llama")), "k": "4"}


# ---- what is stored


def test_the_map_is_the_mean_over_the_stored_prompts(open_page: Open, gallery) -> None:
    app = open_page("Depth", list=kept(*EXAMPLES))
    assert not app.exception
    assert not app.error
    parts = [of_prompt(gallery[n, True], View()) for n in range(3)]
    mean = mean_scores([part.scores for part in parts]).corrected
    np.testing.assert_allclose(heat(charts(app)["scores"]), coloured(mean), rtol=1e-5)
    over = known_interval(np.array([part.mean(corrected=True) for part in parts]))
    told = words(app)
    assert f"{over.mean:.3f} over 3 prompts (95\u00a0%: {over.low:.3f} to {over.high:.3f})" in told
    assert "the mean chance-corrected score" not in told  # the verdict has it
    twin = charts(app)["prompts"]["data"][0]
    assert twin["name"] == "the same prompts, untrained"
    assert app.warning[0].value.startswith("The mean of fewer than 40 prompts")
    assert (
        "Trained minus untrained, prompt by prompt: a difference of" in told
    )  # which is stored too
    assert "Measured at the last token of each prompt" in told
    assert not queue().active()


def test_each_category_has_its_mean(open_page: Open, gallery) -> None:
    app = open_page("Depth", list=kept(*EXAMPLES, kinds=("facts", "tales")))
    (table,) = [one.value for one in app.table if "Mean" in one.value.columns]
    scores = [of_prompt(gallery[n, True], View()).mean(corrected=True) for n in range(3)]
    assert table["Prompts"].to_dict() == {"facts": 2, "tales": 1}
    assert table["Mean"]["facts"].startswith(f"{np.mean([scores[0], scores[2]]):.3f} (95")
    assert table["Mean"]["tales"] == f"{scores[1]:.3f} (no interval: there is one prompt)"
    assert not open_page("Depth", list=kept(*EXAMPLES)).table


def test_the_twin_is_named_where_it_is_shown(open_page: Open, gallery) -> None:
    app = open_page("Depth", list=kept(*EXAMPLES), untrained="0")
    assert "Mean over 3 prompts, untrained twin" in words(app)
    assert "The lowest of the untrained twin is prompt" in words(app)
    assert charts(app)["prompts"]["data"][1]["name"] == "prompts, untrained"


def test_raw_scores_of_a_list_keep_verdict_and_chance_floor(open_page: Open, gallery) -> None:
    app = open_page("Depth", list=kept(*EXAMPLES), raw="1", blocks="9-16")
    parts = [of_prompt(gallery[n, True], View(blocks=tuple(range(9, 17)))) for n in range(3)]
    floor = np.mean([part.scores.mean().chance for part in parts])
    told = words(app)
    assert "Blocks 9-16 are coupled: c = " in told
    assert f"where chance gives {floor:.3f}; untrained " in told
    shapes = charts(app)["prompts"]["layout"]["shapes"]
    (chance,) = [shape for shape in shapes if shape.get("name") == "chance"]
    assert chance["x0"] == pytest.approx(floor)
    (other,) = [shape for shape in shapes if shape.get("name") == "other chance"]
    twins = [of_prompt(gallery[n, False], View(blocks=tuple(range(9, 17)))) for n in range(3)]
    assert other["x0"] == pytest.approx(np.mean([one.scores.mean().chance for one in twins]))
    assert "The other dotted line is chance of the untrained model" in told
    assert f"The dotted line is chance: {floor:.3f}, the mean of the prompts' floors" in told
    at = (3, 2)  # of blocks 12 and 11
    of_pair = np.mean([part.scores.chance[at] for part in parts])
    assert f"**, chance floor {of_pair:.3f}" in told


def test_a_dot_shows_its_prompt_and_a_button_shows_it_alone(open_page: Open, gallery) -> None:
    app = open_page("Depth", list=kept(*EXAMPLES), nth="2")
    assert f"**Prompt 2**: “{EXAMPLES[1]}”" in words(app).replace("\\", "")
    (dots,) = [t for t in charts(app)["prompts"]["data"] if t["name"] == "prompts"]
    assert len(dots["text"]) == 3
    press(app, "See it alone")
    assert app.query_params["prompt"] == EXAMPLES[1]
    assert "list" not in app.query_params
    assert "token 11 of 11" in words(app)


def test_views_of_a_list_measure_nothing(open_page: Open, gallery) -> None:
    app = open_page("Depth", list=kept(*EXAMPLES), blocks="9-16")
    app.number_input(key="k@sidebar").set_value(10).run()
    app.segmented_control(key="raw@depth-list").set_value(True).run()
    view = View(10, blocks=tuple(range(9, 17)))
    parts = [of_prompt(gallery[n, True], view) for n in range(3)]
    mean = mean_scores([part.scores for part in parts]).coupling
    np.testing.assert_allclose(heat(charts(app)["scores"]), coloured(mean), rtol=1e-5)
    assert "Blocks 9-16 are coupled: c = " in words(app)
    assert not queue().active()


def test_the_graph_is_that_of_the_means(open_page: Open, gallery) -> None:
    app = open_page("Layer graph", list=kept(*EXAMPLES), threshold="0.1")
    parts = [of_prompt(gallery[n, True], View()) for n in range(3)]
    mean = mean_scores([part.scores for part in parts]).corrected
    edges = int((np.triu((mean + mean.T) / 2, 1) >= 0.1).sum())
    assert f"{edges} of 435 pairs are edges" in words(app)
    assert not app.exception


def test_a_link_to_a_list_that_is_not_here_says_so(open_page: Open) -> None:
    app = open_page("Depth", list="0123456789abcdef")
    assert "the list of prompts that this link names is not here" in app.warning[0].value
    assert "mosaic" in charts(app)


@pytest.mark.parametrize("name", ["../../etc/passwd", "SHIPPED", "0123", "shipped "])
def test_nothing_else_names_a_list(open_page: Open, name: str) -> None:
    app = open_page("Depth", list=name)
    assert "the name of a list is expected" in app.warning[0].value
    assert not app.exception


def test_a_file_that_somebody_changed_is_another_list(open_page: Open) -> None:
    name = kept(*EXAMPLES)
    path = Store().root / prompt_lists.FOLDER / f"{name}.jsonl"
    path.write_text(path.read_text().replace("France", "Spain"))
    app = open_page("Depth", list=name)
    assert "is not here" in app.warning[0].value


def test_other_pages_pass_over_a_list(open_page: Open) -> None:
    app = open_page("Depth", list=kept(*EXAMPLES))
    app.switch_page(PAGES["Tokens"]).run()
    assert app.query_params["list"] == app.session_state["_chosen"]["prompts"]
    assert not [toggle for toggle in app.toggle if toggle.key == "prompts@toggle"]
    assert "tokens" in charts(app)


def test_a_recipe_of_some_blocks_has_their_number(tmp_path) -> None:
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
    assert "None of these 60 prompts is measured yet" in app.info[0].value
    assert "of computing with the untrained twin." in app.info[0].value
    assert "Compute all 60 prompts" in [button.label for button in app.button]
    app.toggle(key="prompts@toggle").set_value(False).run()
    assert "list" not in app.query_params


def test_the_cost_is_that_of_what_is_chosen(open_page: Open, model: dict[str, str]) -> None:
    def seconds(told: str) -> float:
        return float(told.partition("about ")[2].partition(" s of")[0])

    app = pasted(open_page("Depth", **model), *LINES)
    both = app.info[0].value
    one = alone(app).info[0].value
    assert both.endswith("with the untrained twin.")
    assert "twin" not in one
    assert seconds(both) == pytest.approx(2 * seconds(one), abs=0.15)


def test_what_is_measured_so_far_shows_while_the_rest_is(
    open_page: Open, model: dict[str, str]
) -> None:
    texts = [f"Number {n} sat" for n in range(12)]
    app = pasted(open_page("Depth", **model), *texts[:3])
    app = settled(press(alone(app), "Compute all 3 prompts"))
    app = alone(pasted(app, *texts))
    assert "Over 3 prompts, the mean" in words(app)
    assert "9 of 12 prompts are not measured yet:" in app.info[0].value


def test_it_is_told_which_list_is_under_way() -> None:
    listed = Prompts(done=1, total=40, left=95.0)
    assert _of_list(listed, None) == (1 / 40, "Prompt 2 of 40, about 2 minutes left")
    assert _of_list(replace(listed, left=9.7), None)[1] == "Prompt 2 of 40, less than a minute left"


def alone(app: AppTest) -> AppTest:
    """The list is to be measured without the twin."""
    return app.checkbox(key="twin@list").set_value(False).run()


def test_one_click_measures_the_twin_too(open_page: Open, model: dict[str, str]) -> None:
    app = settled(press(pasted(open_page("Depth", **model), *LINES[:2]), "Compute all 2 prompts"))
    app = settled(app.run())
    assert not app.error
    assert not app.info
    assert "over 2 prompts (95\u00a0%: " in words(app)
    stored = [entry.request for entry in Store().entries() if not entry.read_only]
    assert {one.prompt for one in stored} == set(LINES[:2])
    assert len({one.untrained for one in stored}) == 2
    assert len(stored) == 4


def test_a_pasted_list_is_measured_as_one_job(open_page: Open, model: dict[str, str]) -> None:
    app = pasted(open_page("Depth", **model), *LINES, "", LINES[0])
    assert "1 prompt came more than once" not in words(app)  # said with the numbers
    assert app.session_state["own@list"] is False  # closed, and "Compute" in sight
    app = press(alone(app), "Compute all 4 prompts")
    assert len(queue().active()) <= 1
    app = settled(app)
    assert not app.error
    assert "Over 4 prompts, the mean chance-corrected score" in words(app)
    assert "coupled: " not in words(app)  # which nobody can say without the twin
    (told,) = [one.value for one in app.info]
    assert "None of these 4 prompts is measured yet in the untrained twin" in told
    assert "1 prompt came more than once, and count" in words(app)
    stored = [entry for entry in Store().entries() if not entry.read_only]
    assert {entry.request.prompt for entry in stored} == set(LINES)
    opened = open_page("Depth", **model, list=app.query_params["list"])  # another visit
    assert "Over 4 prompts" in words(opened)


def test_a_list_is_judged_once_the_twin_has_every_prompt(
    open_page: Open, model: dict[str, str]
) -> None:
    app = pasted(open_page("Depth", **model), *LINES[:2])
    app = settled(press(alone(app), "Compute all 2 prompts"))
    app = settled(press(app, "Measure the untrained twin too"))
    assert not app.info
    assert "coupled: " in words(app)
    assert "over 2 prompts (95\u00a0%: " in words(app)
    app = settled(press(alone(pasted(app, *LINES)), "Compute the other 2 prompts"))
    assert "coupled: " not in words(app)
    assert "a difference of" not in words(app)
    assert "2 of 4 prompts are not measured yet in the untrained twin" in app.info[0].value
    app.toggle(key="untrained@sidebar").set_value(True).run()
    assert "2 of 4 prompts are not measured yet in the untrained twin" in app.info[0].value
    assert "coupled: " in words(app)  # of the two that both have, whichever is looked at


def test_the_blocks_are_chosen_beside_the_map(open_page: Open, gallery) -> None:
    app = open_page("Depth", list=kept(*EXAMPLES))
    app.segmented_control(key="blocks@depth-list").set_value("9-16").run()
    assert app.query_params["blocks"] == "9-16"
    assert "Blocks 9-16 are coupled: " in words(app)
    app.text_input(key="blocks@sidebar").set_value("3,7,9").run()
    assert list(app.segmented_control(key="blocks@depth-list").options) == ["All", "9-16", "3,7,9"]


def test_depth_leads_to_the_directions_of_the_basis(open_page: Open, gallery) -> None:
    app = open_page("Depth", block="12", basis="20")
    app = press(app, "What the directions of block 20 read, write and do")
    assert app.query_params["block"] == "20"
    assert not app.exception


def test_start_leads_to_the_list(open_page: Open, gallery) -> None:
    app = open_page("Start")
    app = press(app, "The same over 60 prompts, or your own")
    assert app.query_params["list"] == "shipped"
    assert app.query_params["blocks"] == "9-16"
    assert "None of these 60 prompts is measured yet" in app.info[0].value


def test_start_keeps_the_list_that_was_chosen(open_page: Open, gallery) -> None:
    app = open_page("Start", list=kept(*EXAMPLES[:2]))
    app = press(app, "The same over your 2 prompts")
    assert app.query_params["list"] == kept(*EXAMPLES[:2])


@pytest.mark.parametrize("page", ["Start", "Depth", "Layer graph", "What if", "Compare"])
def test_a_narrowed_map_says_so_and_opens_again(open_page: Open, gallery, page: str) -> None:
    app = open_page(page, blocks="9-16")
    assert "Coupling is shown for blocks 9-16 of 30." in [caption.value for caption in app.caption]
    app = press(app, "Show all 30")
    assert "blocks" not in app.query_params
    assert not any(caption.value.startswith("Coupling is shown") for caption in app.caption)


def test_what_is_measured_of_a_list_is_not_measured_again(
    open_page: Open, model: dict[str, str]
) -> None:
    app = pasted(open_page("Depth", **model), *LINES[:2])
    app = settled(press(alone(app), "Compute all 2 prompts"))
    before = {e.key: e.path.stat().st_mtime_ns for e in Store().entries() if not e.read_only}
    app = pasted(app, *LINES)
    assert "2 of 4 prompts are not measured yet" in app.info[0].value
    app = settled(press(alone(app), "Compute the other 2 prompts"))
    assert "Over 4 prompts" in words(app)
    made = {e.provenance["date"] for e in Store().entries() if e.key in before}
    assert len(before) == 2
    assert made


def test_paths_of_a_list(open_page: Open, model: dict[str, str]) -> None:
    app = pasted(open_page("Trajectories", **model), *LINES)
    app = settled(press(app, "Compute all 4 prompts"))
    assert not app.exception
    assert list(charts(app)) == ["prompts", "line-shape-by-depth"]
    told = words(app)
    assert ", where a straight path would have 1.000. The lowest is prompt" in told
    assert "The dotted line is a straight path: 1.000." in told
    assert "chance" not in told
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
    (told,) = [w.value for w in app.warning if "could not be measured" in w.value]
    assert "Prompt 1 (“The cat sat on the mat”)" in told
    assert not app.exception


def test_a_table_is_taken_by_its_column(open_page: Open, model: dict[str, str]) -> None:
    app = open_page("Depth", **model)
    app.toggle(key="prompts@toggle").set_value(True).run()
    table = "category,prompt\npets,The cat sat\npets,The dog sat\n"
    app.file_uploader[0].set_value(("own.csv", table.encode(), "text/csv"))
    app.run()
    assert "None of these 2 prompts is measured yet" in app.info[0].value
    app.file_uploader[0].set_value(("own.csv", b"text\nno prompt\n", "text/csv"))
    app.run()
    assert "expected a column 'prompt' in line 1" in app.error[0].value.replace("\\", "")


def test_too_long_a_list_is_refused(open_page: Open, model: dict[str, str]) -> None:
    app = pasted(open_page("Depth", **model), *(f"Prompt number {n}" for n in range(201)))
    assert "this list has 201 prompts" in app.error[0].value.lower()
    assert app.query_params["list"] == "shipped"


# ---- a demo


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setenv("COUPLING_MODE", "demo")
    return monkeypatch


MINI = {"model": "coupling-explorer/mini-64", "rev": "step256", "k": "8"}


def test_the_estimate_of_a_list_is_the_sum(open_page: Open, demo: pytest.MonkeyPatch) -> None:
    demo.setenv("COUPLING_LONGEST_SECONDS", "1")
    app = open_page("Depth", **MINI, list="shipped")
    (told,) = [one.value for one in app.info]
    assert "None of these 60 prompts is measured yet" in told
    assert "are taken on at a time" in told
    taken = int(told.split("yet. ")[1].split()[0])
    assert 1 <= taken < 60
    assert f"Compute the first {taken} prompts" in [button.label for button in app.button]


def test_a_strangers_list_stays_with_the_visit(open_page: Open, demo: pytest.MonkeyPatch) -> None:
    app = pasted(open_page("Depth", **MINI), *LINES)
    assert "None of these 4 prompts is measured yet" in app.info[0].value
    assert not (Store().root / prompt_lists.FOLDER).exists()
    other = open_page("Depth", **MINI, list=app.query_params["list"])
    assert "is not here" in other.warning[0].value


def test_a_prompt_beyond_the_limits_is_named(open_page: Open, demo: pytest.MonkeyPatch) -> None:
    demo.setenv("COUPLING_LONGEST_PROMPT", "8")
    app = pasted(open_page("Depth", **MINI), "The cat", "word " * 20)
    assert "Prompt 2 of the list: the prompt has" in app.error[0].value
    assert not [button for button in app.button if button.label.startswith("Compute")]


# ---- the gallery of prompts


def test_the_gallery_has_six_kinds_of_four() -> None:
    assert [len(of) for of in KINDS.values()] == [4] * 6
    texts = [text for of in KINDS.values() for text in of]
    assert len({*texts}) == 24
    assert {*EXAMPLES} <= {*texts}


def test_a_prompt_is_chosen_by_its_kind(open_page: Open) -> None:
    app = open_page("Depth")
    assert app.selectbox(key="kind@sidebar").value == "Examples"
    app.selectbox(key="kind@sidebar").set_value("Code").run()
    assert app.query_params["prompt"] == KINDS["Code"][0]
    options = app.selectbox(key="prompt@list").options
    assert len(options) == 5
    assert options[-1] == OWN_TEXT
    app.selectbox(key="prompt@list").set_value(KINDS["Code"][2]).run()
    assert app.query_params["prompt"] == KINDS["Code"][2]
    assert app.selectbox(key="kind@sidebar").value == "Code"


def test_a_link_to_a_prompt_of_the_gallery_shows_its_kind(open_page: Open) -> None:
    app = open_page("Depth", prompt=KINDS["Arithmetic"][1])
    assert app.selectbox(key="kind@sidebar").value == "Arithmetic"


def test_where_nothing_is_computed_only_stored_prompts_are_offered(
    open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COUPLING_READ_ONLY", "true")
    app = open_page("Start")
    assert list(app.selectbox(key="kind@start").options) == ["Examples"]


@pytest.mark.real
def test_start_offers_to_measure_a_prompt_with_its_twin(open_page: Open) -> None:
    app = open_page("Start")
    app.selectbox(key="kind@start").set_value("Facts").run()
    app.pills(key="prompt@start-Facts").set_value(KINDS["Facts"][1]).run()
    assert "of computing" in app.info[0].value
    assert "Compute all 2" in [button.label for button in app.button]


def test_prompts_of_the_gallery_stay_in_a_demos_address(
    open_page: Open, demo: pytest.MonkeyPatch
) -> None:
    app = open_page("Depth")
    app.selectbox(key="kind@sidebar").set_value("Stories").run()
    app.selectbox(key="prompt@list").set_value(KINDS["Stories"][1]).run()
    assert app.query_params["prompt"] == KINDS["Stories"][1]
