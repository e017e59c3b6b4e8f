"""The page of one more kind of result: opened by a link, and from the list of runs."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import tiny
from screen import charts
from streamlit.testing.v1 import AppTest
from toy.page import PAGE

from coupling_core import Request, Store, measure
from coupling_core.base import kinds
from explorer.frame import contents

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[2]
SECONDS = 60
FILE = """
import streamlit as st
from toy import page as toy
from explorer.asking.compute import answer
from explorer.frame.shell import page

with page("Toy") as state:
    st.title("Norms of states", anchor=False)
    if (result := answer(state.toy_request(), toy.partial_norms)) is not None:
        toy.show(result)
"""


@pytest.fixture
def app(monkeypatch, tmp_path, open_page) -> AppTest:
    """The app with one more page."""
    monkeypatch.setattr(kinds, "FOLDERS", (*kinds.FOLDERS, "toy"))
    monkeypatch.setitem(contents.PAGES, PAGE.title, PAGE)
    monkeypatch.setitem(contents.PAGE_OF_KIND, "toy", PAGE)
    shutil.copytree(ROOT / "pages", tmp_path / "app" / "pages")
    shutil.copy(ROOT / "app.py", tmp_path / "app")
    (tmp_path / "app" / PAGE.file).write_text(FILE)
    return AppTest.from_file(str(tmp_path / "app" / "app.py"), default_timeout=SECONDS)


@pytest.fixture
def result(app, tmp_path):
    folder = str(tiny.folder(tmp_path / "tiny"))
    return measure(Request("The cat sat", model=folder, token=2, kind="toy"), Store())


def drawn(app: AppTest) -> np.ndarray:
    assert not app.exception
    assert not app.error
    assert app.title[0].value == "Norms of states"
    return np.array(charts(app)["norms"]["data"][0]["y"])


def test_the_list_of_runs_leads_to_it(app, result) -> None:
    app.switch_page("pages/13_Runs.py").run()
    listed = app.dataframe[0].value
    row = list(listed["Kind"]).index("toy")
    assert listed["Key"][row] == result.key
    key = app.dataframe[0].proto.id.split("-", 2)[2]
    app.session_state[key] = {"selection": {"rows": [row], "columns": [], "cells": []}}
    app.run()
    (there,) = [button for button in app.button if button.label == "Open on Toy"]
    there.click().run()
    np.testing.assert_allclose(drawn(app), result.norms, rtol=1e-6)
    assert app.query_params["token"] == "2"
