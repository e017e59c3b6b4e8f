"""Results that are added on the Runs page: at home for good, in a demo for one session only."""

import io
import pickle
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cases import content, random_result
from screen import Open, charts, heat
from streamlit.testing.v1 import AppTest
from syrupy.assertion import SnapshotAssertion

from coupling_core.base.results import DepthResult
from coupling_core.store.archive import encode
from coupling_core.store.disk import Store
from coupling_core.store.packs import pack

pytestmark = pytest.mark.full

RESULT = random_result(seed=5)
FILE = f"{RESULT.key}.safetensors"


def add(app: AppTest, name: str, data: bytes) -> AppTest:
    app.file_uploader[0].set_value((name, data, "application/octet-stream"))
    app.run()
    assert not app.exception
    return app


def listed(app: AppTest) -> str:
    return app.dataframe[0].value.to_string()


def test_at_home_a_result_comes_into_the_store(open_page: Open) -> None:
    app = add(open_page("Runs"), FILE, encode(RESULT))
    assert RESULT.key in app.success[0].value
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


@pytest.mark.usefixtures("demo")
def test_in_a_demo_nobody_else_sees_what_was_added(open_page: Open) -> None:
    app = add(open_page("Runs"), FILE, encode(RESULT))
    assert RESULT.key in listed(app)
    assert not Store().root.exists()
    assert RESULT.key not in listed(open_page("Runs"))
    assert "somebody else's" in open_page("Compare", a=RESULT.key).warning[0].value


@pytest.mark.usefixtures("demo")
def test_in_a_demo_what_was_added_never_stands_in_for_what_was_measured(
    open_page: Open, gallery: dict[tuple[int, bool], DepthResult]
) -> None:
    measured = gallery[0, True]
    invented = replace(measured, diagonal=measured.diagonal * 0)
    app = add(open_page("Runs"), f"{measured.key}.safetensors", encode(invented))
    assert measured.key in app.success[0].value
    app.switch_page("app.py").run()
    ours, others = (heat(charts(page)["scores"]) for page in (app, open_page("Start")))
    np.testing.assert_array_equal(ours, others)


def test_what_is_refused_is_told_and_not_stored(
    open_page: Open, demo: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
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
