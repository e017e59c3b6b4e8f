"""Every page, opened once by its link alone, and all that is asked of every page."""

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from handling import boxes, plain_words
from screen import PAGES, charts
from streamlit.testing.v1 import AppTest

from explorer.asking.queue import queue
from explorer.frame import contents

ROOT = Path(__file__).parents[2]
SHOWN = {
    "Start": ("Do a transformer's blocks share one basis?", "Blocks 9-16: mean chance-corrected"),
    "Depth": ("Coupling across depth", "Block 12 in the basis of block 11"),
    "Tokens": ("Coupling between tokens", "in blocks 12 and 11, each token with itself"),
    "Trajectories": ("Paths through depth", "SmolLM2-135M-Instruct"),
    "Layer graph": ("The blocks as a graph", "79 of 435 pairs are edges, at 0.1"),
    "Training": ("Coupling through training", "Step 0: mean"),
    "Generalization": ("Coupling and performance", "Pearson's"),
    "Vision": ("Stochastic depth in vision transformers", "12 runs, 4 rates, 3 seeds"),
    "Compare": ("Two results side by side", "B is Gemma-3-270M"),
    "Runs": ("Runs", "Nothing is being measured."),
    "Method": ("Method", "79 of 435 possible edges on the first example prompt"),
    "What if": ("What if blocks ran elsewhere?", "What it does not show"),
    "Directions": ("What do a block's directions say?", "Direction 1 of block 12"),
    "Spectrum": ("What does a block do to a state?", "depart from normal ones"),
    "Perturbation": ("How far does noise get?", "the product of the linear blocks is off"),
    "Train one": ("Train one yourself", "Raising coupling made these models worse"),
    "Tour": ("Transformer block coupling in ten minutes", "a table of 576 times 576 numbers"),
    "Classroom": ("A lesson of your own", "Write a question"),
}
"""Of each page its title, and some words that say what ships."""
MADE = {
    **dict.fromkeys(("Start", "Depth", "Tokens", "Layer graph", "Compare"), "K-50"),
    "Training": "K-8",
}
"""Pages whose figures' files have K in their names."""


@pytest.mark.full
@pytest.mark.real
@pytest.mark.parametrize("title", PAGES)
def test_a_page_shows_what_ships(open_page, title) -> None:
    app = open_page(title)
    name, known = SHOWN[title]
    assert app.title[0].value == name
    assert known in plain_words(app)
    assert [text for text in boxes(app) if not text.startswith("info")] == []
    assert not queue().active()
    links = Counter(one.proto.label for one in app.get("page_link"))
    assert [page for page in contents.PAGES if links[page] < 2] == []  # aside, and on a phone
    assert begins_otherwise(app) == []
    if drawn := charts(app):
        check_figures(app, title)
    if title in MADE:
        assert charts(app.run()) == drawn


def check_figures(app: AppTest, title: str) -> None:
    """Each has words for who does not see it, its numbers, its origin, and a place in the file."""
    found, whole = app.get("plotly_chart"), app.session_state["_whole"].file().decode()
    assert all(len(figure.proto.alt) > 40 for figure in found)
    folds = [fold.label for fold in app.main.expander]
    assert folds.count("Table and files") == len(found)
    assert whole.count('role="img"') == whole.count("Plotly.newPlot(") == len(found)
    assert f"<h1>{title}</h1>" in whole
    assert re.findall(r"<(?:script|link|img)[^>]+(?:src|href)=", whole) == []
    if title in MADE:
        for name, figure in charts(app).items():
            models = ("mini-64",) if title == "Training" else ("SmolLM2", "Gemma")
            assert any(model in figure["layout"]["title"]["text"] for model in models), name
            assert "K = " in figure["layout"]["title"]["text"] or name == "paths", name
        files = [re.search(r'"filename": "([^"]+)"', one.proto.config)[1] for one in found]
        assert all(MADE[title] in one or "paths" in one for one in files)


def begins_otherwise(app: AppTest) -> list[str]:
    """The labels of widgets that begin with something else than what they show.

    A reader who clicks at once sends back what all widgets began with; were that not what they
    show, the click would undo what was chosen.
    """
    protos = [getattr(node, "proto", None) for node in app._tree]
    told = [proto for proto in protos if getattr(proto, "set_value", False)]
    return [proto.label for proto in told if shown_by(proto) != begun_with(proto)]


def shown_by(proto: Any) -> list[object]:
    """What a widget is told to show."""
    given = (getattr(proto, one, "") for one in ("raw_values", "raw_value", "value"))
    return next(filter(None, map(listed, given)), [])


def begun_with(proto: Any) -> list[object]:
    """What it begins with; where it has options, their names and not their numbers."""
    default = listed(proto.default)
    if "options" not in proto.DESCRIPTOR.fields_by_name or not proto.options:
        return default
    names = [getattr(option, "content", option) for option in proto.options]
    if proto.DESCRIPTOR.fields_by_name["default"].has_presence and not proto.HasField("default"):
        return []
    return [names[int(n)] for n in default]


def listed(given: Any) -> list[object]:
    """One value or several, but for an empty text."""
    several = [given] if isinstance(given, str | bool | int | float) else list(given)
    return [one for one in several if one != ""]


LINKS = {
    "Depth": {
        "model": "some-org/some-model", "rev": "side", "prompt": "Something of my own", "k": "40",
        "blocks": "9-16", "threshold": "0.3", "layout": "circle", "def": "directions",
    },
    "Training": {
        "model": "mini-64", "rev": "step64", "k": "8", "step": "64", "list": "shipped", "nth": "3",
        "raw": "1", "fit": "each", "role": "B",
    },
}  # fmt: skip


def test_every_widget_begins_with_what_a_link_chose(open_page) -> None:
    for page, of_page in (("Depth", "Depth"), ("Layer graph", "Depth"), ("Training", "Training")):
        assert begins_otherwise(open_page(page, **LINKS[of_page])) == []


PROGRAM = """
import sys, time
from streamlit.testing.v1 import AppTest
from explorer.frame.contents import PAGES
from explorer.server.engine import worker
from explorer.asking.queue import queue

def press(label):
    next(button for button in app.button if button.label == label).click().run()

app = AppTest.from_file("app.py", default_timeout=150)
if sys.argv[1:]:
    app.query_params.update(model=sys.argv[1], prompt="The cat sat", k="4")
app.run()
if sys.argv[1:]:
    press("Probe")
    assert "dl" in str([html.proto.body for html in app.get("html")])
    app.switch_page(PAGES["Depth"].file).run()
    press("Compute")
    while queue().active():
        time.sleep(0.05)
    app.run()
    assert app.get("plotly_chart")
for title in PAGES if sys.argv[1:] else ("Depth",):
    app.switch_page(PAGES[title].file).run()
    assert not app.exception and not app.error, (title, [one.value for one in app.error])
if sys.argv[1:]:
    worker.forget("none", "none")
ours = {"torch", "transformers", "tokenizers", "accelerate", "bitsandbytes"}
print(sorted(ours & set(sys.modules)))
"""


def imported(*arguments: str) -> str:
    """What a process has imported that looks at pages: at all, and computes, with a model."""
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        cwd=ROOT, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


@pytest.mark.full
def test_looking_at_pages_does_not_import_torch() -> None:
    assert imported() == "[]"


@pytest.mark.slow
def test_neither_looking_at_all_pages_nor_computing_imports_torch(link) -> None:
    assert imported(link["model"]) == "[]"
