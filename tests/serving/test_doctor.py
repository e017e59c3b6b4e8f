"""What `coupling doctor` finds, in order and out of order."""

import json
from collections import namedtuple
from importlib.metadata import EntryPoint, EntryPoints
from types import SimpleNamespace

import pytest
import tiny
from cases import random_result

from coupling_core.base.installed import this
from coupling_core.base.records import Request
from coupling_core.measuring import deaths
from coupling_core.serving import doctor
from coupling_core.serving.doctor import examine
from coupling_core.sources.resolved import resolve
from coupling_core.store.disk import Store


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # where no file has settings


def found(about):
    return [(f.state, f.text) for f in examine() if f.about == about]


def only(monkeypatch, about):
    """Look at one thing alone."""
    monkeypatch.setattr(doctor, "_LOOKS", {about: doctor._LOOKS[about]})
    says(monkeypatch)


def says(monkeypatch, *requires, looks=()):
    """Have the package say that it requires these, and has these entry points."""
    this = SimpleNamespace(requires=requires, entry_points=EntryPoints(looks))
    monkeypatch.setattr(doctor, "this", lambda: this)


@pytest.mark.full
def test_the_command_prints_what_it_found_and_leaves_with_its_status(run):
    status, out, err = run("doctor", "--json")
    listed = json.loads(out)
    others = {each.name for each in this().entry_points.select(group=doctor.OTHERS)}
    assert {item["about"] for item in listed} == set(doctor._LOOKS) | others
    assert [item for item in listed if item["state"] == "wrong"] == []
    assert status == 0
    assert err.count("looked at") == len({item["about"] for item in listed})


def test_a_missing_and_an_old_package_are_told(monkeypatch):
    only(monkeypatch, "packages")
    says(monkeypatch, "nonesuch>=1", "numpy>=99")
    problems = [text for state, text in found("packages") if state == "wrong"]
    for problem, install in zip(problems, ("nonesuch>=1", "numpy>=99"), strict=True):
        assert f"pip install '{install}'" in problem
    wanted = ["nonesuch>=1; extra == 'sweeps'", "numpy>=99; extra == 'sweeps'", "rich>=1"]
    says(monkeypatch, *wanted)
    (note, ok) = found("packages")
    assert (note[0], ok[0]) == ("note", "ok")
    assert note[1].endswith(": pip install 'coupling-explorer[sweeps]'")


def test_a_damaged_result_is_told_with_its_remedy(monkeypatch):
    only(monkeypatch, "store")
    store, result = Store(), random_result()
    path = store.put(result)
    assert {state for state, _ in found("store")} <= {"ok", "note"}
    path.write_bytes(path.read_bytes()[:-1])
    assert [state for state, text in found("store") if result.key in text] == ["wrong"]


def test_a_store_that_cannot_be_written_is_told(monkeypatch, tmp_path):
    only(monkeypatch, "store")
    (tmp_path / "store").write_text("a file where a folder should be")
    assert any(state == "wrong" and "cannot be written" in text for state, text in found("store"))


def test_too_little_disk_is_told(monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(
        "coupling_core.base.folders.shutil.disk_usage", lambda _: usage(10**10, 10**10, 10**6)
    )
    only(monkeypatch, "store")
    assert any(state == "wrong" and "1.0 MB free" in text for state, text in found("store"))


def test_a_model_that_ended_a_process_is_told_with_the_note_to_delete(monkeypatch, tmp_path):
    only(monkeypatch, "models")
    request = Request("x", model=str(tiny.folder(tmp_path / "tiny")))
    assert deaths.note(resolve(request), "SIGSEGV")
    (path,) = (tmp_path / "home" / "deaths").iterdir()
    (text,) = [text for state, text in found("models") if state == "note" and str(path) in text]
    assert text.startswith("LlamaForCausalLM (SIGSEGV) ended the process")


def test_a_hub_out_of_reach_is_no_fault(monkeypatch):
    from huggingface_hub import constants

    only(monkeypatch, "hub")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    ((state, text),) = found("hub")
    assert (state, "http://127.0.0.1:9 is out of reach" in text) == ("note", True)


@pytest.mark.parametrize(
    ("about", "name", "value", "told"),
    [
        ("devices", "DEVICE", "cuda:77", "cuda:77"),
        ("memory", "MEMORY_RESERVE", f"{10**15}", ""),
        ("settings", "MODE", "public", "mode = 'public'"),
    ],
)
def test_settings_that_cannot_be_used_are_told_and_are_an_exit_status(
    about, name, value, told, run, monkeypatch
):
    only(monkeypatch, about)
    monkeypatch.setenv(f"COUPLING_{name}", value)
    assert [state for state, text in found(about) if told in text] == ["wrong"]
    assert run("doctor")[0] == 1


def seen_elsewhere():
    yield "note", "seen by another package"


def test_what_another_package_looks_at_is_told_too(monkeypatch):
    only(monkeypatch, "memory")
    other = EntryPoint("elsewhere", f"{__name__}:seen_elsewhere", doctor.OTHERS)
    says(monkeypatch, looks=[other])
    assert [each.about for each in examine()] == ["memory", "elsewhere"]
    assert found("elsewhere") == [("note", "seen by another package")]
