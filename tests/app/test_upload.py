"""Results that are added on the Runs page: at home for good, in a demo for one session only."""

import io
import pickle
import re
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cases import content, random_result
from screen import Open, charts, heat
from streamlit.testing.v1 import AppTest

from coupling_core.base.results import DepthResult
from coupling_core.store.archive import encode
from coupling_core.store.disk import Store
from coupling_core.store.packs import pack

RESULT = random_result(seed=5)
FILE = f"{RESULT.key}.safetensors"


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COUPLING_MODE", "demo")


def add(app: AppTest, name: str, data: bytes) -> AppTest:
    app.file_uploader[0].set_value((name, data, "application/octet-stream"))
    return app.run()


def listed(app: AppTest) -> str:
    return app.dataframe[0].value.to_string()


def test_at_home_a_result_comes_into_the_store(open_page: Open) -> None:
    app = add(open_page("Runs"), FILE, encode(RESULT))
    assert f"Added `{RESULT.key}`" in app.success[0].value
    assert content(Store().get(RESULT.key)) == content(RESULT)
    assert RESULT.key in listed(app)
    app.run()
    assert not app.success  # told once, and not added again


def test_at_home_a_pack_comes_into_the_store(open_page: Open, tmp_path: Path) -> None:
    source = Store(tmp_path / "source")
    source.put(RESULT)
    pack(source, [RESULT.key], tmp_path / "pack.zip")
    add(open_page("Runs"), "pack.zip", (tmp_path / "pack.zip").read_bytes())
    assert (Store().root / FILE).is_file()


def test_in_a_demo_nobody_else_sees_what_was_added(open_page: Open, demo: None) -> None:
    app = add(open_page("Runs"), FILE, encode(RESULT))
    assert RESULT.key in listed(app)
    assert not Store().root.exists()
    other = open_page("Runs")
    assert RESULT.key not in listed(other)
    told = open_page("Compare", a=RESULT.key).warning[0].value
    assert "somebody else's" in told


def test_in_a_demo_what_was_added_never_stands_in_for_what_was_measured(
    open_page: Open, demo: None, gallery: dict[tuple[int, bool], DepthResult]
) -> None:
    measured = gallery[0, True]
    invented = replace(measured, diagonal=measured.diagonal * 0)
    app = add(open_page("Runs"), f"{measured.key}.safetensors", encode(invented))
    assert f"Added `{measured.key}`" in app.success[0].value
    app.switch_page("app.py").run()
    ours, others = (heat(charts(page)["scores"]) for page in (app, open_page("Start")))
    np.testing.assert_array_equal(ours, others)


def test_in_a_demo_a_pack_is_not_opened(open_page: Open, demo: None) -> None:
    packed = io.BytesIO()
    zipfile.ZipFile(packed, "w").close()
    app = add(open_page("Runs"), FILE, packed.getvalue())
    assert "one result at a time" in app.error[0].value


@pytest.mark.parametrize(
    ("name", "data", "told"),
    [
        (FILE, b"", "is no stored result, or damaged"),
        (FILE, encode(RESULT)[:-1], "is damaged"),
        (FILE, bytes(encode(RESULT))[:-1] + b"x", "do not match the hash"),
        (FILE, b"PK\3\4" + bytes(50), "one result at a time"),
        (FILE, pickle.dumps({"x": 1}), "is no stored result, or damaged"),
        (FILE, encode(replace(RESULT, token=9)), "its token is none of the prompt"),
        (FILE, encode(RESULT) * 40, r"and 100 kB are taken here"),
    ],
    ids=["empty", "short", "flipped", "zip", "pickle", "forged", "large"],
)
def test_what_is_refused_is_told(
    open_page: Open,
    demo: None,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    data: bytes,
    told: str,
) -> None:
    monkeypatch.setenv("COUPLING_UPLOAD_BYTES", "100000")
    app = add(open_page("Runs"), name, data)
    assert not app.exception
    assert re.search(told, app.error[0].value)
    assert not app.success
    assert not Store().root.exists()
