"""`coupling sweep`, run as people run it, on checkpoints whose measurements are stored already."""

import json
import os
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from command_line import printed
from documents import first_cells

from coupling_core import Question, Store, find
from coupling_core.base.folders import SHIPPED
from coupling_core.experiments import sweeps
from coupling_core.experiments.gallery import EXAMPLES

STEPS = (0, 256, 1000, 4000)
SWEEP = f"""
name = "few"
title = "A few [bold]checkpoints[/bold]"
k = [4, 8]
[[models]]
suite = "mini-64"
steps = {list(STEPS)}
[[prompts]]
text = "{EXAMPLES[0]}"
[[prompts]]
text = "{EXAMPLES[1]}"
"""
MORE = f'{SWEEP}[[prompts]]\ntext = "Water boils when it is hot"\n'
LOST = SWEEP + '[[models]]\nmodel = "nobody/nothing"\n'
MODELS = [f"coupling-explorer/mini-64@step{step}" for step in STEPS]


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    """Offline, and without a cluster."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    for place in ("local", "running", "slurm"):
        where = f"coupling_core.experiments.sweeps.clusters.{place}"
        monkeypatch.setattr(where, lambda *_: pytest.fail("a cluster was started"))


@pytest.fixture
def lay(tmp_path):
    def lay(text: str = SWEEP) -> Path:
        path = tmp_path / "few.toml"
        path.write_text(text)
        return path

    return lay


def plan_of(path):
    return sweeps.make(sweeps.read(path))


def one_line(text):
    return " ".join(text.split())


# ---- what would be measured


@pytest.mark.real
def test_a_new_sweep_can_be_run_and_says_of_each_key_that_it_knows_what_it_is(run, tmp_path):
    path = tmp_path / "my first.toml"
    assert run("sweep", "new", path)[0] == 0
    plan = sweeps.make(sweeps.read(path))
    assert (len(plan), len(plan.weights)) == (4, 2)
    assert [weights.request.untrained for weights in plan.weights] == [None, 0]
    # What stands in comments too, but for what only a hub model has.
    whole = re.sub(r"(?m)^# (?!revisions)(?=\S+ = |\[\[)", "", path.read_text())
    whole = whole.replace('"prompts.txt"', f'"{path}"')
    path.with_name("whole.toml").write_text(whole)
    assert len(sweeps.make(sweeps.read(path.with_name("whole.toml"))).weights) == 5


def test_a_dry_run_tells_what_is_stored_and_touches_nothing(run, lay, tmp_path):
    status, out, err = run("sweep", "run", lay(MORE), "--dry-run")
    assert (status, err) == (0, "")
    lines = [one_line(line) for line in out.splitlines()]
    assert f"A few [bold]checkpoints[/bold] ({plan_of(tmp_path / 'few.toml').id})" in lines[0]
    assert "stored 8 of 12" in lines
    assert [f"{model} 3 2" for model in MODELS] == [
        line for line in lines if line.startswith("coupling-explorer")
    ]
    assert not (tmp_path / "store").exists()


def test_a_dry_run_as_json_warns_of_what_would_fail(run, lay, tmp_path):
    status, out, err = run("sweep", "run", lay(LOST), "--dry-run", "--json")
    said = json.loads(out)
    assert (status, "1 of 5 models" in one_line(err)) == (0, True)
    assert (said["total"], said["stored"], said["missing"]) == (10, 8, 2)
    assert said["id"] == plan_of(tmp_path / "few.toml").id
    first, *_, last = said["models"]
    assert first == {"model": MODELS[0], "total": 2, "stored": 2, "problem": ""}
    assert (last["model"], bool(last["problem"])) == ("nobody/nothing", True)


# ---- running it


def test_a_sweep_that_is_stored_needs_no_cluster_and_gets_its_table(run, lay, tmp_path):
    status, out, _ = run("sweep", "run", lay(), "--out", "scores.csv")
    plan, store = plan_of(tmp_path / "few.toml"), Store()
    journal = sweeps.Journal.of(store, plan.id)
    assert status == 0
    assert "all 8 were stored" in one_line(out)
    assert "16 rows" in one_line(out)
    expected, _ = sweeps.make_table(plan, store)
    found = sweeps.read_table(journal.table)
    pd.testing.assert_frame_equal(found, expected, check_dtype=False, rtol=1e-5)
    assert (tmp_path / "scores.csv").read_bytes() == journal.table.read_bytes()
    assert journal.folder in [each.folder for each in sweeps.journals(store)]
    assert journal.state().ended == "done"


def test_what_is_out_of_reach_is_a_failure_and_the_others_have_their_rows(run, lay):
    path = lay(LOST)
    status, out, err = run("sweep", "run", path)
    assert status == 1
    assert "8 stored before, 0 measured" in out
    assert "2 failed, 0 left" in out
    assert (err.startswith("error: 2 of 10 "), err.count("\n")) == (True, 1)
    said = printed(run("sweep", "run", path, "--json"), status=1)
    assert [failure["model"] for failure in said["failed"]] == ["nobody/nothing"] * 2
    assert (said["rows"], said["stored"], said["total"]) == (16, 8, 10)


def test_a_damaged_result_is_named_with_what_to_do(run, lay):
    plan, store = plan_of(lay()), Store()
    key = plan.stored(store)[2]
    (shipped,) = SHIPPED.rglob(f"{key}.safetensors")
    store.root.mkdir(parents=True)
    shutil.copy(shipped, store.root)
    os.truncate(store.root / shipped.name, 5000)
    status, out, err = run("sweep", "run", "few.toml")
    assert (status, "14 rows" in out) == (1, True)
    assert f"`coupling runs rm {key}`" in err
    assert err.splitlines()[-1].startswith("error: 1 of 8 ")
    assert run("runs", "rm", key)[0] == run("sweep", "run", "few.toml")[0] == 0


# ---- how it stands


def test_the_status_of_what_was_never_run(run, lay):
    status, out, _ = run("sweep", "status", lay())
    assert (status, "8 of 8" in out, "last run" in out) == (0, True, False)
    assert "4 of 12 " in run("sweep", "status", lay(MORE))[2]
    lay()
    said = printed(run("sweep", "status", "few.toml", "--json"))
    assert (said["state"], said["runs"], said["stored"], said["failed"]) == (None, False, 8, [])


def test_the_status_tells_of_the_last_run_and_of_its_failures(run, lay):
    plan, store = plan_of(lay()), Store()
    journal = sweeps.Journal.of(store, plan.id)
    journal.begin(plan.described)
    of = (MODELS[1], EXAMPLES[0], "depth")
    failure = sweeps.Failure(*of, "memory ran out", "Traceback: deep\n", 3)
    rare = [replace(failure, error=f"reason {n}") for n in range(6)]
    journal.note_failures([*(replace(failure, prompt=f"{i}") for i in range(7)), *rare])
    state = sweeps.State(plan.id, "few", 8, 1, 0, 13, started=100.0, updated=170.0, ended="stopped")
    journal.note(state, now=True)
    out = run("sweep", "status", "few.toml")[1]
    assert "stopped, after 70 s; 13 failed\n" in out
    assert out.index("and 6 more: memory ran out") < out.index("reason 0")  # most frequent first
    assert "reason 4" not in out
    assert out.count("Traceback: deep") < 6
    said = printed(run("sweep", "status", "few.toml", "--json"))
    assert (len(said["failed"]), said["failed"][0]["attempts"]) == (13, 3)
    assert (said["state"]["ended"], said["runs"]) == ("stopped", False)
    keys = {"status": said.keys(), "run": printed(run("sweep", "run", "few.toml", "--json")).keys()}
    assert printed(run("sweep", "status", "few.toml", "--json"))["failed"] == []
    documented = first_cells("json.md")
    assert {name: set(documented[f"sweep {name}"]) for name in keys} == keys


# ---- what it says


def test_a_report_says_what_the_findings_do(run, lay, tmp_path):
    status, out, err = run("sweep", "report", lay(), "--out", "r.html", "--k", 8)
    table, _ = sweeps.make_table(plan_of(tmp_path / "few.toml"), Store())
    found = find(table, Question(8))
    assert (status, err) == (0, "")
    assert all(line in out for line in (*found.shows, *found.does_not_show))
    page = (tmp_path / "r.html").read_text()
    assert "A few [bold]checkpoints[/bold]" in page
    assert f"r = {found.correlations['pearson'].estimate:.2f}" in page


def test_a_report_as_json_and_csv(run, lay, tmp_path):
    path = lay(MORE)
    question = {"measure": "alignment", "subset": "last", "method": "spearman"}
    options = [word for name, value in question.items() for word in (f"--{name}", value)]
    status, out, err = run("sweep", "report", path, "--out", "r.csv", *options, "--json")
    assert (status, "4 of 12 " in err) == (0, True)
    said = json.loads(out)
    assert said["question"] == question | {"k": 4, "against": "loss"}
    assert [model["model"] for model in said["models"]] == [MODELS[-1]]
    assert (said["missing"], said["n"]) == (4, 1)
    assert said["correlations"]["pearson"]["estimate"] is None
    assert "Nothing" in said["shows"][0]  # is claimed of one model
    assert len(sweeps.read_table(tmp_path / "r.csv")) == 16
    run("sweep", "report", path, "--out", "one.parquet", "--k", 8)
    assert set(sweeps.read_table(tmp_path / "one.parquet")["k"]) == {8}


def test_a_sweep_without_depth_has_a_table_and_no_report(run, lay, tmp_path):
    path = lay(SWEEP.replace("k = [4, 8]", 'k = [4, 8]\nkinds = ["trajectory"]'))
    status, out, err = run("sweep", "report", path, "--out", "t.csv")
    assert (status, one_line(out)) == (0, "written t.csv"), err
    assert set(sweeps.read_table(tmp_path / "t.csv")["kind"]) <= {"trajectory"}
    status, out, err = run("sweep", "report", path)
    assert (status, out, err.splitlines()[-1][:7]) == (2, "", "error: ")
