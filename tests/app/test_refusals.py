"""What the app does not take, each in one table with what it says of it."""

import base64
import json
import random
import re
import zlib
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

import pytest
import tiny
from handling import boxes, press
from refused import said
from screen import PAGES, charts

from coupling_core import InputError, Request
from coupling_core.base.settings import settings
from coupling_core.serving import jobs
from coupling_core.sources.resolved import Resolved
from explorer.frame.contents import LINKS
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
from explorer.session.state import State


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


def test_lessons_that_are_none(snapshot) -> None:
    noise = random.Random(0)
    prompts = ["".join(chr(noise.randrange(33, 0x2FFF)) for _ in range(500)) for _ in range(12)]
    told = {"a lesson that is too long": said(lambda: packed(Lesson(prompts=prompts)))}
    for name, text in ADDRESSES.items():
        told[f"address: {name}"] = said(lambda text=text: unpacked(text))
    for name, text in FILES.items():
        told[f"file: {name}"] = said(lambda text=text: from_file(text)).partition(" none: ")[0]
    assert [name for name, text in told.items() if not text.startswith("InputError")] == []
    assert [name for name, text in told.items() if len(text) > 250] == []
    assert told == snapshot


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


def test_links_that_say_what_cannot_be(snapshot) -> None:
    read = {f"{name}={text!r}": LINKS.read({name: text}) for name in BAD for text in BAD[name]}
    assert [asked for asked, (chosen, _) in read.items() if chosen != LINKS.defaults] == []
    assert {asked: problem for asked, (_, (problem,)) in read.items()} == snapshot
    with pytest.raises(InputError):
        State().of_request(Request((1, 2, 3)), k_max=50)  # whose text nobody has


PROMPT = "Nobody has measured this yet"
MINI = "coupling-explorer/mini-64"
MODELS = (
    *("/etc/passwd", "../../etc", "~/secrets.gguf", "someone/else", "SmolLM2-135M"),
    *("smollm2-135m ", "smollm2-135m\n", "./smollm2-135m", "smollm2-135m@main"),
    *("\uff53mollm2-135m", f"{MINI}@step256", "coupling-explorer//mini-64", MINI[:-3]),
)
REVISIONS = (None, "", "main", "step256 ", "step512", "0" * 40, "../../../step256")
BEYOND: tuple[dict[str, Any], ...] = (
    *({"model": model} for model in MODELS),
    *({"revision": revision} for revision in REVISIONS),
    {"prompt": "word " * 31},
    {"prompt": tuple(range(31))},
    {"prompt": "word " * 31, "k": 50, "kind": "trajectory"},
    {"k": 21},
    {"k": 21, "kind": "self"},
    {"k": None, "kind": "self"},
    {"dtype": "bfloat16"},
    {"quantize": "nf4"},
    {"stack": "encoder"},
)


def test_what_is_beyond_the_limits_of_a_demo(tight, snapshot) -> None:
    within = Request(PROMPT, MINI, k=20, revision="step256")
    admission.require(backend.resolved(within))
    admission.require(backend.resolved(replace(within, k=None, kind="trajectory")))
    tight.setattr(
        "coupling_core.sources.hub.naming._ask", lambda *_: pytest.fail("the hub was asked")
    )
    told = {}
    for change in BEYOND:
        asked = replace(within, **change)
        text = said(lambda asked=asked: admission.require(backend.resolved(asked)))
        # Tokens are bytes as long as the worker has not counted them.
        told[repr(change)] = re.sub(r"has \d+ tokens", "has N tokens", text)
    assert [name for name, text in told.items() if not text.startswith("InputError")] == []
    assert told == snapshot


def test_at_home_nothing_is_limited() -> None:
    settings.cache_clear()
    for change in BEYOND:
        # Whether there is such a model is another question.
        admission.require(Resolved(replace(Request(PROMPT), **change), {}, None))
    assert admission.limits() == jobs.Limits()


OPENED = f"""
Depth?model=no-such-model Depth?model=/no/such/folder Depth?model=FOLDER/empty
Depth?model=FOLDER/albert Depth?model=FOLDER/gpt2&prompt={"cat+" * 99} Depth?rev=main
Depth?block=99 Depth?blocks=9-99 Depth?blocks=nine Depth?list=0123456789abcdef
Start?quant=nf4&untrained=0 Trajectories?token=99 Layer_graph?k=577 Tokens?all=1&k=45
Training?over=mini-999 Compare?a={"f" * 32}-k50-v24 Compare?a=../../etc
Vision?picture=bag/none Generalization?sweep=gone-12345678
Classroom?draft={"eNpNj7EO" * 9} Classroom?lesson={"eNpNj7EO" * 500}
""".split()
"""One folder has no model, and one a model without blocks; `main` is no revision of an alias."""


@pytest.mark.full
@pytest.mark.timeout(900)
def test_what_pages_say_of_links_that_lead_nowhere(open_page, tmp_path, snapshot) -> None:
    (tmp_path / "empty").mkdir()
    for family in ("albert", "gpt2"):
        tiny.folder(tmp_path / family, family)
    told = {}
    for title, asked in (link.split("?") for link in OPENED):
        title, query = title.replace("_", " "), dict(parse_qsl(asked))
        link = {name: text.replace("FOLDER", str(tmp_path)) for name, text in query.items()}
        app = open_page(title, **link)
        of_page = [text.replace(str(tmp_path), "FOLDER") for text in boxes(app)]
        told[f"{title} {query}"[:80]] = [*of_page, "drawn" if charts(app) else "nothing drawn"]
    assert told == snapshot


def test_a_link_costs_only_what_is_wrong_in_it_and_that_is_told_once(open_page) -> None:
    app = open_page("Start", **{name: texts[0] for name, texts in BAD.items()}, raw="1")
    told = app.warning[0].value.replace("\\", "")
    assert [name for name in BAD if f"{name}=" not in told] == ["colour"]
    assert dict(app.query_params) == {"raw": "1"}
    app.run()
    assert not app.warning


@pytest.mark.full
@pytest.mark.real
def test_an_empty_prompt_and_a_k_that_is_not_stored_are_told_with_a_way_back(open_page) -> None:
    app = open_page("Depth", k="80")
    assert "50" in app.info[0].value
    press(app, "Use K = 50 instead")
    assert not app.info
    assert "mosaic" in charts(app)
    app = open_page("Depth", token="99", blocks="9-99", k="577")  # each is told, none costs a page
    assert [n for n in ("1..10", "1..30", "576") if n not in boxes(app)[0]] == []
    assert "mosaic" in charts(app)
    assert "1..576" in open_page("Depth", token="3", k="577").error[0].value
    (tokens,) = [box.options for box in app.selectbox if box.label == "Token"]
    assert tokens[-1].startswith("99 ")
    app = open_page("Runs", prompt="A text of one's own")
    app.text_area(key="prompt@own").set_value("  ").run()
    app.switch_page(PAGES["Depth"]).run()
    assert "prompt is empty" in app.error[0].value
