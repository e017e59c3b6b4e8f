"""The Runs page: results are listed, searched, compared and added; sweeps are told."""

import io
import os
import pickle
import shutil
import zipfile
from dataclasses import replace
from typing import Any

import numpy as np
import psutil
import pytest
from cases import content, random_result
from handling import button, labels, numbers, press
from screen import PAGES, charts, heat, sent
from streamlit.testing.v1 import AppTest
from toy.page import PAGE as TOY
from waiting import PATIENCE, until

from coupling_core.base import kinds
from coupling_core.experiments.gallery import EXAMPLES, every_request
from coupling_core.experiments.sweeps import Failure, Journal, State
from coupling_core.store.archive import encode
from coupling_core.store.disk import Store
from coupling_core.store.packs import pack
from explorer.frame import contents
from explorer.server.backend import entries

pytestmark = pytest.mark.full

RESULT = random_result(seed=5)
FILE = f"{RESULT.key}.safetensors"
SECRET = "nobody-else-should-read-this"


def listed(app: AppTest) -> str:
    return app.dataframe[0].value.to_string()


def select_rows(app: AppTest, rows: list[int]) -> AppTest:
    """Tick rows of the list of results."""
    key = app.dataframe[0].proto.id.split("-", 2)[2]
    app.session_state[key] = {"selection": {"rows": rows, "columns": [], "cells": []}}
    return app.run()


def rows_of(app: AppTest, kind: str) -> list[int]:
    return [at for at, found in enumerate(app.dataframe[0].value["Kind"]) if found == kind]


def test_it_lists_and_searches_what_ships_and_what_was_measured_here(open_page) -> None:
    app = open_page("Runs")
    shipped = app.dataframe[0].value
    assert len(shipped) == len(every_request())
    Store().put(RESULT)
    app.run()  # a new result is noticed
    assert {entry.read_only for entry in entries()} == {True, False}
    app.segmented_control(key="from@runs").set_value("Measured here").run()
    assert list(app.dataframe[0].value["Key"]) == [RESULT.key]
    app.segmented_control(key="from@runs").set_value("Came with the program").run()
    assert set(app.dataframe[0].value["Key"]) == set(shipped["Key"])
    app.text_input(key="search@runs").set_value("FACTORIAL untrained smol").run()
    rows = app.dataframe[0].value
    assert (list(rows["Prompt"]), list(rows["From"])) == ([EXAMPLES[2]], ["gallery"])


def test_two_results_of_one_kind_can_be_compared(open_page) -> None:
    app = open_page("Runs")
    keys = list(app.dataframe[0].value["Key"])
    first, second, third = rows_of(app, "depth")[:3]
    assert "Compare these two" not in labels(select_rows(app, [first, second, third]))
    app = select_rows(app, [first, rows_of(app, "trajectory")[0]])
    assert button(app, "Compare these two").disabled
    app = press(select_rows(app, [first, second]), "Compare these two")
    assert app.title[0].value == "Two results side by side"
    assert (app.query_params["a"], app.query_params["b"]) == (keys[first], keys[second])


def test_a_result_is_rechecked_unless_it_is_damaged(open_page, in_this_process, measured) -> None:
    path = Store().root / f"{measured(k=8).key}.safetensors"
    app = open_page("Runs")
    app.segmented_control(key="from@runs").set_value("Measured here").run()
    press(select_rows(app, [0]), "Recheck")
    until(lambda: app.run().success)
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    press(app, "Recheck")
    until(lambda: app.run().info)
    assert not app.success


NORMS = """
import streamlit as st
from toy import page as toy
from explorer.asking.compute import answer
from explorer.frame.shell import page

with page("Toy") as state:
    st.title("Norms of states", anchor=False)
    if (result := answer(state.toy_request(), lambda _: None)) is not None:
        toy.show(result)
"""


def test_one_more_kind_has_its_page(open_page, monkeypatch, tmp_path, measured) -> None:
    monkeypatch.setattr(kinds, "FOLDERS", (*kinds.FOLDERS, "toy"))
    monkeypatch.setitem(contents.PAGES, TOY.title, TOY)
    monkeypatch.setitem(contents.PAGE_OF_KIND, "toy", TOY)
    shutil.copytree("pages", tmp_path / "app" / "pages")
    shutil.copy("app.py", tmp_path / "app")
    (tmp_path / "app" / TOY.file).write_text(NORMS)
    result = measured("toy", token=2)
    app = AppTest.from_file(str(tmp_path / "app" / "app.py"), default_timeout=PATIENCE)
    app.switch_page(PAGES["Runs"]).run()
    press(select_rows(app, rows_of(app, "toy")), "Open on Toy")
    assert not app.error
    assert app.title[0].value == "Norms of states"
    drawn = numbers(charts(app)["norms"]["data"][0]["y"])
    np.testing.assert_allclose(drawn, result.norms, rtol=1e-6)
    assert app.query_params["token"] == "2"


# ---- results that are added: at home for good, in a demo for one session only


def add(app: AppTest, name: str, data: bytes) -> AppTest:
    app.file_uploader[0].set_value((name, data, "application/octet-stream"))
    app.run()
    assert not app.exception
    return app


def test_at_home_a_result_or_a_pack_comes_into_the_store(open_page, tmp_path) -> None:
    app = add(open_page("Runs"), FILE, encode(RESULT))
    assert RESULT.key in app.success[0].value
    assert content(Store().get(RESULT.key)) == content(RESULT)
    assert RESULT.key in listed(app)
    app.run()
    assert not app.success  # told once, and not added again
    pack(Store(), [RESULT.key], tmp_path / "pack.zip")
    Store().root.joinpath(FILE).unlink()
    add(open_page("Runs"), "pack.zip", (tmp_path / "pack.zip").read_bytes())
    assert (Store().root / FILE).is_file()


def test_in_a_demo_nobody_else_sees_what_was_added(open_page, demo) -> None:
    app = add(open_page("Runs"), FILE, encode(RESULT))
    assert RESULT.key in listed(app)
    assert not Store().root.exists()
    assert RESULT.key not in listed(open_page("Runs"))
    assert "somebody else's" in open_page("Compare", a=RESULT.key).warning[0].value


def test_in_a_demo_what_was_added_is_never_taken_for_measured(open_page, demo, gallery) -> None:
    measured = gallery[0, True]
    invented = replace(measured, diagonal=measured.diagonal * 0)
    app = add(open_page("Runs"), f"{measured.key}.safetensors", encode(invented))
    assert measured.key in app.success[0].value
    app.switch_page("app.py").run()
    ours, others = (heat(charts(page)["scores"]) for page in (app, open_page("Start")))
    np.testing.assert_array_equal(ours, others)


def test_what_cannot_be_added_is_told_and_not_stored(open_page, demo, snapshot) -> None:
    demo.setenv("COUPLING_UPLOAD_BYTES", "100000")
    packed = io.BytesIO()
    zipfile.ZipFile(packed, "w").close()
    told = {}
    for name, data in {
        "empty": b"",
        "short": encode(RESULT)[:-1],
        "flipped": bytes(encode(RESULT))[:-1] + b"x",
        "zip": b"PK\3\4" + bytes(50),
        "pack": packed.getvalue(),
        "pickle": pickle.dumps({"x": 1}),
        "forged": encode(replace(RESULT, token=9)),
        "large": encode(RESULT) * 40,
    }.items():
        app = add(open_page("Runs"), FILE, data)
        assert not app.success
        told[name] = app.error[0].value.replace(RESULT.key, "KEY")
    assert not Store().root.exists()
    assert told == snapshot


# ---- sweeps


def note(name: str, failures: int = 0, **state: Any) -> None:
    journal = Journal.of(Store(), name)
    journal.begin({"name": name})
    about = {"title": f"Sweep *{name}*", "total": 10, "stored": 2, "pid": 2**30}
    journal.note(State(name, **about | state), now=True)
    why = f"/home/me/{SECRET} is full"
    journal.note_failures([Failure("a model", SECRET, "depth", why)] * failures)


def note_one_of_each_kind() -> None:
    born = psutil.Process().create_time()
    running = {"pid": os.getpid(), "working": ("a_model_", "b*"), "workers": 2}
    note("running", done=3, started=born, updated=born + 30, **running)
    note("done", done=8, started=500.0, updated=560.0, ended="done")
    note("stopped", done=1, started=400.0, updated=460.0, ended="stopped")
    note("killed", done=1, started=300.0, updated=360.0)
    note("broken", done=1, started=200.0, updated=260.0, ended=f"/home/me/{SECRET} is gone")
    note("failed", 2, done=6, failed=2, started=100.0, updated=160.0, ended="done")


def captions(app: AppTest) -> list[str]:
    found = [caption.value for caption in app.caption]
    return [text for text in found if " after " in text or " for " in text]


def test_sweeps_are_listed_and_in_a_demo_no_secret(open_page, monkeypatch, snapshot) -> None:
    assert "Sweeps" not in [header.value for header in open_page("Runs").header]
    note_one_of_each_kind()
    app = open_page("Runs")
    told = captions(app)
    assert told == snapshot
    bars = [node.proto for node in app.get("progress")]
    assert [bar.value for bar in bars] == [50, 100, 30, 30, 30, 100]
    assert bars[0].text == r"**Sweep \*running\***: 5 of 10"
    assert [fold.label for fold in app.main.expander] == ["2 failed"]
    failed = app.main.expander[0].dataframe[0].value
    assert list(failed["Why"]) == [f"/home/me/{SECRET} is full"] * 2

    monkeypatch.setenv("COUPLING_MODE", "demo")
    app = open_page("Runs")
    assert SECRET not in sent(app)
    assert captions(app) == [text.replace(f" (/home/me/{SECRET} is gone)", "") for text in told]
