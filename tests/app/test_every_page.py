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
from screen import PAGES, Open, charts
from streamlit.testing.v1 import AppTest

from coupling_core.base.records import Request
from coupling_core.sources import resolved
from coupling_core.sources.identity import Source, locate
from explorer.asking.queue import queue
from explorer.frame import contents
from explorer.panels import chart
from explorer.server import backend

ROOT = Path(__file__).parents[2]
SHOWN = {
    "Start": ("Do a transformer's blocks share one basis?", "Blocks 9-16 are coupled"),
    "Depth": ("Coupling across depth", "Block 12 in the basis of block 11"),
    "Tokens": ("Coupling between tokens", "in blocks 12 and 11, each token with itself"),
    "Trajectories": ("Paths through depth", "SmolLM2-135M-Instruct"),
    "Layer graph": ("The blocks as a graph", "79 of 435 pairs are edges, at 0.1"),
    "Training": ("Coupling through training", "Step 0: mean"),
    "Generalization": ("Coupling and performance", "Pearson's"),
    "Vision": ("Stochastic depth in vision transformers", "12 runs, 4 rates, 3 seeds"),
    "Compare": ("Two results side by side", "untrained (seed 0)"),
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
OF_NO_MODEL = {"Generalization", "Vision", "Runs", "Method", "Train one", "Tour", "Classroom"}


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often a model was looked for since the page began."""
    found: Counter[str] = Counter()
    begin = backend.look_again

    def counted(request: Request) -> Source:
        found[f"{request.model}@{request.revision}"] += 1
        return locate(request)

    def began() -> None:
        found.clear()
        begin()

    for module in (resolved, backend):
        monkeypatch.setattr(module, "locate", counted)
    monkeypatch.setattr(backend, "look_again", began)
    return found


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One for each figure that was made, and not taken from what is kept."""
    found: list[int] = []
    build = chart._made
    monkeypatch.setattr(
        chart, "_made", lambda *args, **more: found.append(1) or build(*args, **more)
    )
    return found


@pytest.mark.full
@pytest.mark.real
@pytest.mark.parametrize("title", PAGES)
def test_a_page_shows_what_ships(
    open_page: Open, looked: Counter[str], built: list[int], title: str
) -> None:
    app = open_page(title)
    name, known = SHOWN[title]
    assert app.title[0].value == name
    assert known in plain_words(app)
    assert [text for text in boxes(app) if not text.startswith("info")] == []
    assert not queue().active()
    links = Counter(one.proto.label for one in app.get("page_link"))
    assert [page for page in contents.PAGES if links[page] < 2] == []  # aside, and on a phone

    assert begins_otherwise(app) == []
    if title != "Training":  # which looks for each of its steps
        assert set(looked.values()) <= {1}
        assert looked or title in OF_NO_MODEL
    if charts(app):
        check_figures(app, title)

    drawn, _ = charts(app), built.clear()
    app.run()
    assert charts(app) == drawn
    assert built == []


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
            model = "mini-64" if title == "Training" else "SmolLM2"
            assert model in figure["layout"]["title"]["text"], name
            assert "K = " in figure["layout"]["title"]["text"] or name == "paths", name
        files = [re.search(r'"filename": "([^"]+)"', one.proto.config)[1] for one in found]
        assert all(MADE[title] in one or "paths" in one for one in files)


def begins_otherwise(app: AppTest) -> list[str]:
    """The labels of widgets that begin with something else than what they show.

    A reader who clicks at once sends back what all widgets began with; were that not what they
    show, the click would undo what was chosen.
    """
    protos = [node.proto for node in app._tree if hasattr(node, "proto")]
    told = [proto for proto in protos if getattr(proto, "set_value", False)]
    return [proto.label for proto in told if shown_by(proto) != begun_with(proto)]


def shown_by(proto: Any) -> list[object]:
    """What a widget is told to show."""
    fields = proto.DESCRIPTOR.fields_by_name
    given = [getattr(proto, one) for one in ("raw_values", "raw_value", "value") if one in fields]
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


OWN = {
    "model": "some-org/some-model", "rev": "side", "prompt": "Something of my own", "k": "40",
    "blocks": "9-16", "threshold": "0.3", "layout": "circle", "def": "directions",
}  # fmt: skip
CHECKPOINT = {
    "model": "mini-64", "rev": "step64", "k": "8", "step": "64", "list": "shipped", "nth": "3",
    "raw": "1", "fit": "each", "role": "B",
}  # fmt: skip


@pytest.mark.parametrize(
    ("title", "link"),
    [("Depth", OWN), ("Layer graph", OWN), ("Depth", CHECKPOINT), ("Training", CHECKPOINT)],
    ids=["depth", "graph", "checkpoint", "training"],
)
def test_every_widget_begins_with_what_a_link_chose(
    open_page: Open, title: str, link: dict[str, str]
) -> None:
    assert begins_otherwise(open_page(title, **link)) == []


@pytest.mark.real
def test_a_click_looks_for_its_model_once(open_page: Open, looked: Counter[str]) -> None:
    app = open_page("Depth", prompt="What was never measured here")
    app.button[0].click()
    app.run()
    assert looked == {"smollm2-135m@None": 1}


# ---- what the app's process never imports: its worker does

PROGRAM = """
import sys, time
from pathlib import Path
from streamlit.testing.v1 import AppTest
from explorer.server.engine import worker
from explorer.asking.queue import queue

app = AppTest.from_file("app.py", default_timeout=150).run()
first = ["pages/1_Depth.py", "pages/13_Runs.py", "pages/14_Method.py"]
for page in (*first, *({*map(str, Path("pages").glob("*.py"))} - {*first})):
    app.switch_page(page).run()
    assert not app.exception and not app.error, page
    if page == first[-1]:
        print("scipy" in sys.modules)
print(sorted({"torch", "transformers", "tokenizers"} & set(sys.modules)))

app = AppTest.from_file("app.py", default_timeout=150)
app.query_params.update(model=sys.argv[1], prompt="The cat sat", k="4")
app.run()
next(button for button in app.button if button.label == "Probe").click().run()
assert "dl" in str([html.proto.body for html in app.get("html")])
app.switch_page("pages/1_Depth.py").run()
next(button for button in app.button if button.label == "Compute").click().run()
while queue().active():
    time.sleep(0.05)
app.run()
assert not app.exception and not app.error, [error.value for error in app.error]
assert app.get("plotly_chart")
worker.forget("none", "none")
ours = {"torch", "transformers", "tokenizers", "accelerate", "bitsandbytes"}
print(sorted(ours & set(sys.modules)))
"""


@pytest.mark.full
def test_neither_looking_nor_probing_nor_computing_imports_torch(tmp_path: Path) -> None:
    import tiny

    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tiny.folder(tmp_path / "tiny"))],
        cwd=ROOT, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split() == ["False", "[]", "[]"]
