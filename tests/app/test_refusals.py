"""What the app does not take, each in one table with what it says of it."""

import base64
import json
import random
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import pytest
import tiny
from handling import boxes
from refused import said
from screen import Open, charts
from syrupy.assertion import SnapshotAssertion

from coupling_core.base.records import Request
from coupling_core.base.settings import settings
from coupling_core.serving import jobs
from coupling_core.sources.resolved import Resolved
from explorer.frame.contents import LINKS
from explorer.pages.depth import DepthState
from explorer.server import admission, backend
from explorer.session.lesson import (
    LONGEST,
    MOST_FIGURES,
    MOST_TASKS,
    Lesson,
    from_file,
    packed,
    unpacked,
)
from explorer.session.link import Flag, Links, Parameter
from explorer.session.state import State

# ---- lessons


def as_address(found: object) -> str:
    said = found if isinstance(found, bytes) else json.dumps(found).encode()
    return base64.urlsafe_b64encode(zlib.compress(said)).decode().rstrip("=")


BOMB = zlib.compress(b"[" + b"0," * 50_000_000 + b"0]")
ADDRESSES = {
    "nothing": "",
    "no base64": "!!!",
    "no zlib": "AAAA",
    "cut off": packed(Lesson(title="A title")).rstrip("=")[:-4],
    "too long": "A" * (LONGEST + 1),
    "a bomb": base64.urlsafe_b64encode(BOMB[:4000]).decode(),
    "deep": as_address(b"[" * 90_000),
    "a list": as_address([1]),
    "a number": as_address(b"1e999"),
    "long digits": as_address(b"1" * 20_000),
    "half a character": as_address({"title": "\ud800"}),
    "no text": as_address({"title": 5}),
    "an unknown entry": as_address({"script": "alert(1)"}),
    "too many tasks": as_address({"tasks": [{}] * (MOST_TASKS + 1)}),
    "too many figures": as_address({"tasks": [{"figures": MOST_FIGURES + 1}]}),
    "a figure too few": as_address({"tasks": [{"figures": -1}]}),
    "half a figure": as_address({"tasks": [{"figures": 1.5}]}),
    "a long title": as_address({"title": "x" * 101}),
    "an empty prompt": as_address({"prompts": [""]}),
    "a task of text": as_address({"tasks": ["x"]}),
}
FILES = {
    "nothing": b" \n",
    "no text": b"\xff\xfe",
    "half": b"title = ",
    "deep": b"a = " + b"[" * 5000,
    "large": b"x" * 200_000,
    "no text for a title": b"title = 5",
}


def long_lesson() -> Lesson:
    """One that no address can carry."""
    noise = random.Random(0)
    prompts = ["".join(chr(noise.randrange(33, 0x2FFF)) for _ in range(500)) for _ in range(12)]
    return Lesson(prompts=prompts)


def test_lessons_that_are_none(snapshot: SnapshotAssertion) -> None:
    told = {
        **{
            f"address: {name}": said(lambda t=text: unpacked(t)) for name, text in ADDRESSES.items()
        },
        **{
            f"file: {name}": said(lambda t=text: from_file(t)).partition(" none: ")[0]
            for name, text in FILES.items()
        },
        "a lesson that is too long": said(lambda: packed(long_lesson())),
    }
    assert [name for name, text in told.items() if not text.startswith("InputError")] == []
    assert [name for name, text in told.items() if len(text) > 250] == []
    assert told == snapshot


# ---- links


@dataclass(frozen=True)
class Other(State):
    figure_3: Flag = False


@dataclass(frozen=True)
class Short(State):
    other: Annotated[Flag, Parameter("fig3")] = False


BAD = {
    "k": ("many", "0", "-3", "1e9"),
    "p": ("0.5", "many"),
    "token": ("0",),
    "def": ("mine",),
    "colour": ("red",),
    "suites": ("mini-1", "mini-64,mini-64-sd,mini-128,pythia-70m"),
    "step": ("-1",),
    "role": ("C",),
    "threshold": ("1.5",),
    "seed": ("-1",),
    "fig3": ("true", "2", ""),
    "list": ("../../etc/passwd", "SHIPPED", "0123", "shipped "),
    "gk": ("0", "-1", "7.5", "nan", "inf", "-inf", "1e400", "1e7", "many"),
    "sweep": ("../x", "a/b", "", ".x", "a\n", "x" * 82),
    **dict.fromkeys(("measure", "against", "subset", "method", "size", "number"), ("money",)),
    "of": (" ",),
    "own_blocks": ("99",),
    "own_width": ("33",),
    "own_rate": ("5",),
}
"""Values of fields that no link should have."""


def test_links_that_say_what_cannot_be(snapshot: SnapshotAssertion) -> None:
    read = {f"{name}={text!r}": LINKS.read({name: text}) for name in BAD for text in BAD[name]}
    assert [asked for asked, (chosen, _) in read.items() if chosen != LINKS.defaults] == []
    assert {asked: problem for asked, (_, (problem,)) in read.items()} == snapshot
    assert {
        "token ids": said(lambda: State().of_request(Request((1, 2, 3)), k_max=50)),
        "one field on two pages": said(lambda: Links([DepthState, Other])),
        "one name for two fields": said(lambda: Links([DepthState, Short])),
    } == snapshot(name="made")


# ---- a demo

PROMPT = "Nobody has measured this yet"
MINI = "coupling-explorer/mini-64"
BEYOND: dict[str, dict[str, Any]] = {
    "a file of the machine": {"model": "/etc/passwd"},
    "a folder of the machine": {"model": "../../etc"},
    "a home": {"model": "~/secrets.gguf"},
    "another hub id": {"model": "someone/else"},
    "an alias in capitals": {"model": "SmolLM2-135M"},
    "an alias with a space": {"model": "smollm2-135m "},
    "an alias with a line break": {"model": "smollm2-135m\n"},
    "an alias as a path": {"model": "./smollm2-135m"},
    "an alias with a revision": {"model": "smollm2-135m@main"},
    "an alias in other letters": {"model": "\uff53mollm2-135m"},
    "a model with its revision": {"model": f"{MINI}@step256", "revision": None},
    "a model by another way": {"model": "coupling-explorer//mini-64"},
    "the beginning of a model": {"model": "coupling-explorer/mini"},
    "a model's default revision": {"revision": None},
    "a model's default revision by its name": {"revision": "main"},
    "an empty revision": {"revision": ""},
    "a revision with a space": {"revision": "step256 "},
    "a commit": {"revision": "0" * 40},
    "another revision": {"model": MINI, "revision": "step512"},
    "a revision that leads out": {"model": MINI, "revision": "../../../step256"},
    "a long prompt": {"prompt": "word " * 31},
    "a long prompt of ids": {"prompt": tuple(range(31))},
    "a large K": {"k": 21},
    "another precision": {"dtype": "bfloat16"},
    "a quantisation": {"quantize": "nf4"},
    "a stack": {"stack": "encoder"},
    "paths of a long prompt": {"prompt": "word " * 31, "k": 50, "kind": "trajectory"},
    "tokens at a large K": {"k": 21, "kind": "self"},
    "tokens at the K of all": {"k": None, "kind": "self"},
}


def test_what_is_beyond_the_limits_of_a_demo(
    tight: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    within = Request(PROMPT, MINI, k=20, revision="step256")
    admission.require(backend.resolved(within))
    admission.require(backend.resolved(replace(within, k=None, kind="trajectory")))
    tight.setattr(
        "coupling_core.sources.hub.naming._ask", lambda *_: pytest.fail("the hub was asked")
    )
    told = {}
    for name, change in BEYOND.items():
        asked = replace(within, **change)
        text = said(lambda asked=asked: admission.require(backend.resolved(asked)))
        # Tokens are bytes as long as the worker has not counted them.
        told[name] = re.sub(r"has \d+ tokens", "has N tokens", text)
    assert [name for name, text in told.items() if not text.startswith("InputError")] == []
    assert told == snapshot


def test_at_home_nothing_is_limited() -> None:
    settings.cache_clear()
    for change in BEYOND.values():
        # Whether there is such a model is another question.
        admission.require(Resolved(replace(Request(PROMPT), **change), {}, None))
    assert admission.limits() == jobs.Limits()


# ---- pages


def models(folder: Path) -> dict[str, str]:
    """Folders that are no models, or models that cannot be measured so."""
    (folder / "empty").mkdir()
    tiny.folder(folder / "albert", "albert")
    tiny.folder(folder / "gpt2", "gpt2")
    return {name: str(folder / name) for name in ("empty", "albert", "gpt2")}


OPENED: dict[str, Callable[[dict[str, str]], tuple[str, dict[str, str]]]] = {
    "a model of no name": lambda _: ("Depth", {"model": "no-such-model"}),
    "a folder that is not there": lambda _: ("Depth", {"model": "/no/such/folder"}),
    "a folder without a model": lambda of: ("Depth", {"model": of["empty"]}),
    "a model without blocks": lambda of: ("Depth", {"model": of["albert"]}),
    "a prompt too long": lambda of: ("Depth", {"model": of["gpt2"], "prompt": "cat " * 99}),
    "a revision of an alias": lambda _: ("Depth", {"rev": "main"}),
    "a block too many": lambda _: ("Depth", {"block": "99"}),
    "a quantised twin": lambda _: ("Start", {"quant": "nf4", "untrained": "0"}),
    "a list that is not here": lambda _: ("Depth", {"list": "0123456789abcdef"}),
    "a token too many": lambda _: ("Trajectories", {"token": "99"}),
    "a K that no mean has": lambda _: ("Tokens", {"all": "1", "k": "45"}),
    "a run of no name": lambda _: ("Training", {"over": "mini-999"}),
    "a result that is not here": lambda _: ("Compare", {"a": f"{'f' * 32}-k50-v24"}),
    "a key that is none": lambda _: ("Compare", {"a": "../../etc"}),
    "a picture that is not here": lambda _: ("Vision", {"picture": "bag/none"}),
    "a sweep that is not here": lambda _: ("Generalization", {"sweep": "gone-12345678"}),
    "a draft in pieces": lambda _: ("Classroom", {"draft": "eNpNj7EO" * 500}),
    "a lesson in pieces": lambda _: ("Classroom", {"lesson": "eNpNj7EO" * 500}),
}


@pytest.mark.full
@pytest.mark.timeout(900)
def test_what_pages_say_of_links_that_lead_nowhere(
    open_page: Open, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    folders = models(tmp_path)
    told, drawn = {}, {}
    for name, link in OPENED.items():
        title, query = link(folders)
        app = open_page(title, **query)
        told[name] = [text.replace(str(tmp_path), "FOLDER") for text in boxes(app)]
        drawn[name] = bool(charts(app))
    assert told == snapshot
    assert drawn == snapshot(name="whether anything is drawn")


def test_a_link_costs_only_what_is_wrong_in_it_and_that_is_told_once(open_page: Open) -> None:
    app = open_page("Start", **{name: texts[0] for name, texts in BAD.items()}, norm="exclude")
    told = app.warning[0].value.replace("\\", "")
    assert [name for name in BAD if f"{name}=" not in told] == ["colour"]
    assert dict(app.query_params) == {"norm": "exclude"}
    app.run()
    assert not app.warning


@pytest.mark.real
@pytest.mark.parametrize(
    ("title", "query", "told"),
    [
        ("Depth", {"blocks": "9-99"}, ("99", "1..30")),
        ("Depth", {"blocks": "nine"}, ("nine",)),
        ("Start", {"token": "99"}, ("99", "1..10")),
        ("Layer graph", {"k": "577"}, ("577", "576")),
    ],
    ids=["blocks", "no blocks", "token", "k"],
)
def test_a_value_that_this_model_has_not_costs_no_page(
    open_page: Open, title: str, query: dict[str, str], told: tuple[str, ...]
) -> None:
    app = open_page(title, **query)
    assert not app.error
    assert [one for one in told if one not in app.warning[0].value] == []
    assert dict(app.query_params).get("blocks") == query.get("blocks")  # the next may have them
    assert {"scores", "graph"} & set(charts(app))


def test_an_empty_prompt_is_told(open_page: Open) -> None:
    app = open_page("Depth", prompt="A text of one's own")
    app.text_area(key="prompt@own").set_value("  ").run()
    assert "prompt is empty" in app.error[0].value


def test_a_k_that_is_not_stored_is_told_with_a_way_back(open_page: Open) -> None:
    app = open_page("Depth", k="80")
    assert "50" in app.info[0].value
    next(one for one in app.button if one.label == "Use K = 50 instead").click().run()
    assert not app.info
    assert "mosaic" in charts(app)
