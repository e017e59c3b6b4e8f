"""Recipes that reproduce the screen, chips, costs and units."""

import shlex
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args, get_type_hints

import numpy as np
import pandas as pd
from handling import ran
from typer.testing import CliRunner

from coupling_core.analysis.scores import score_pairs
from coupling_core.base.records import OWN, Request, View
from coupling_core.base.results import Progress
from coupling_core.base.units import with_minus
from coupling_core.cli.commands import app
from coupling_core.experiments.gallery import EXAMPLES
from coupling_core.serving.jobs import JobStatus
from coupling_core.serving.lists import Prompts
from coupling_core.store.disk import Entry
from explorer.asking import watch
from explorer.asking.compute import _stopped
from explorer.asking.watch import where
from explorer.pages import depth
from explorer.server.estimate import Estimate, earlier, estimate
from explorer.session.plain_text import plain, sentence
from explorer.session.state import State

STATE = State(
    prompt=EXAMPLES[2], untrained=0, k=20, definition="page", role="B", blocks="2-5", raw=True
)


def test_recipes_give_the_scores_on_the_screen(gallery, tmp_path) -> None:
    recipes = depth.recipes(STATE.request(), STATE.view(gallery[2, False]), STATE)
    expected = score_pairs(gallery[2, False], View(20, "page", role="B", blocks=(2, 3, 4, 5)))
    names, printed = ran(recipes.python)
    np.testing.assert_array_equal(names["found"].corrected, expected.corrected)
    assert f"{expected.corrected}" in printed

    command = shlex.split(recipes.shell.replace("\\\n", ""))
    assert command[:4] == ["python", "-m", "coupling_core", "depth"]
    out = tmp_path / "out.csv"
    asked = CliRunner().invoke(app, [*command[3:], f"--out={out}"])
    assert asked.exit_code == 0, asked.output
    rows = pd.read_csv(out)
    assert set(rows["role"]) == {"B"}
    np.testing.assert_allclose(rows["coupling"], expected.coupling.ravel(), rtol=1e-6)


def test_a_module_of_ones_own_is_brought_by_whoever_runs_the_recipe() -> None:
    asked = Request("Hello", k=8, model=f"{OWN}LlamaForCausalLM")
    program = depth.recipes(asked, View(8), STATE).python
    assert "measure(request, Store(), model=model, tokenizer=tokenizer)" in program
    assert "request = Request(prompt='Hello', k=8)" in program
    assert depth.recipes(asked, View(8), STATE).shell.startswith("#")


def test_a_command_keeps_any_prompt_whole() -> None:
    prompt = "--k '9'; rm -rf \"$HOME\"\n`x`"
    state = State(prompt=prompt)
    words = shlex.split(depth.recipes(state.request(), state.view(), state).shell)
    assert f"--prompt={prompt}" in words


def entry(seconds: float, *, gallery: bool = False, digest: str = "this", **more: Any) -> Entry:
    fields = {
        "request": Request("text"),
        "identity": {"digest": digest},
        "provenance": {"seconds": seconds, "load_seconds": 1.0},
    }
    return Entry("key", Path("unused"), 1, gallery, 0.0, **(fields | more))


def test_earlier_runs_are_those_of_the_same_sort_and_model() -> None:
    entries = [
        entry(2.0),
        entry(10.0),
        entry(1000.0, gallery=True),
        entry(2000.0, digest="another"),
        entry(3000.0, problem="damaged"),
        entry(4000.0, request=Request("text", kind="self")),
    ]
    asked = Request("text")
    assert earlier("this", asked, entries) == entries[:2]
    assert earlier("this", asked, entries[2:]) == entries[2:3]  # where there is nothing else
    assert earlier("this", asked, entries[3:]) == []


def test_a_cost_is_that_of_the_shape_or_of_what_was_measured_if_that_is_more() -> None:
    assert estimate([], 3.0, [], in_seconds=True) == Estimate(3.0)
    assert estimate([], 3.0, [], in_seconds=False) is None
    slow, disturbed = entry(2.0), entry(50.0)
    for found in ([slow, disturbed], [entry(1.0), slow, disturbed]):
        shapes = [0.5] * len(found)  # four times as long as its shape says: so will this one be
        expected = Estimate(12.0, 1.0, len(found), here=True)
        assert estimate(found, 3.0, shapes, in_seconds=True) == expected
    assert estimate([slow], 3.0, [4.0], in_seconds=True) == Estimate(3.0, 1.0, 1, here=True)
    assert estimate([slow], 3.0, [4.0], in_seconds=False) == Estimate(1.5, 1.0, 1, here=True)
    for in_seconds in (True, False):  # of another machine's times alone nothing is refused
        found = estimate([entry(2.0, gallery=True)], 3.0, [4.0], in_seconds=in_seconds)
        assert (found.here, found.is_known) == (False, in_seconds)


def test_a_text_of_others_is_no_markdown() -> None:
    assert sentence("no *such* file_name $x$ [a](b)") == (r"No \*such\* file\_name \$x\$ \[a\](b).")
    assert plain("a\n# b &lt; | c") == r"a \# b \&lt; \| c"
    for text in (":material/home:", ":red[x]", ":+1:", "https://evil.example", "www.evil.example"):
        seen = plain(text).replace("\\", "")
        assert seen != text
        assert seen.replace("\u2060", "") == text
    for text in ("prompt: a text", "at 15:31", "https://huggingface.co/owner/name"):
        assert plain(text) == text


def test_a_negative_number_has_a_minus_and_nothing_else_has() -> None:
    minus = "from \u22120.005 (\u2212.5 to 2), **\u22123**"
    assert with_minus("from -0.005 (-.5 to 2), **-3**") == minus
    others = "blocks 9-16, 1e-05, mini-64, x^-1, x^{-1}, A - B, “at -5 degrees”"
    assert with_minus(others) == others


def test_where_a_job_stands_and_how_it_was_stopped(snapshot, monkeypatch) -> None:
    running = JobStatus("key", Request("text"), "running", seconds=3)
    stages = get_args(get_type_hints(Progress)["stage"])
    at = {stage: replace(running, progress=Progress(stage, 1, 4)) for stage in stages}
    shares = {stage: where(status)[0] for stage, status in at.items()}
    assert shares == dict.fromkeys(stages, 0.25) | {
        "converting": 0, "loading": 0, "tracing": 0, "saving": 1
    }  # fmt: skip
    third = replace(running, prompts=Prompts(2, 4, left=60), progress=Progress("blocks", 1, 2))
    assert where(third)[0] == 2.5 / 4
    assert "3 of 4" in where(third)[1]
    shown, second = [], JobStatus("second", Request("text"), "queued", place=1)
    jobs = SimpleNamespace(status={"key": at["blocks"], "second": second}.get)
    monkeypatch.setattr(watch, "queue", lambda: jobs)
    monkeypatch.setattr(watch.st, "progress", lambda *bar: shown.append(bar))
    watch.show_progress(("second", "key"), 3, "Untrained twin")  # one has ended
    assert shown == [(1.25 / 3, f"Untrained twin: 1 of 3 measured: {where(at['blocks'])[1]}")]
    stopped = {
        "by an error": replace(running, state="cancelled", error="it went away"),
        "others wait": replace(running, owners=1),
        "loading": at["loading"],
        "downloading": replace(at["downloading"], state="cancelled"),
        "before it began": replace(running, state="cancelled"),
        "after one of four": replace(at["blocks"], state="cancelled"),
    }
    assert {how: _stopped(status) for how, status in stopped.items()} == snapshot
