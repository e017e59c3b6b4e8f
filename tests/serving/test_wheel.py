"""A wheel has all that a checkout's app and commands read, and serves the app from anywhere."""

import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest
from driving import STARTS_WITHIN, free_port, wait_until_it_answers

ROOT = Path(__file__).parents[2]
PACKAGES = ("coupling_core", "explorer")
SHIPPED = (
    *(".streamlit", "app.py", "serve.py", "pages", "sweeps"),
    *("cache/gallery", "cache/suites", "cache/effects", "cache/pushing"),
)
PAGES = """
import json
from streamlit.testing.v1 import AppTest
from coupling_core import Store
from coupling_core.base.folders import ROOT
from explorer.frame.shell import PAGES

app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
found = {}
for title, page in PAGES.items():
    app.switch_page(page.file).run()
    wrong = [element.value for element in (*app.exception, *app.error, *app.warning)]
    found[title] = [len(app.get("plotly_chart")), wrong]
print(json.dumps({"root": str(ROOT), "store": str(Store().root), "pages": found}))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
    subprocess.run([*build, "--directory", str(folder)], cwd=ROOT, check=True)
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """Of an environment with this wheel, and the packages that it needs from here."""
    folder = tmp_path_factory.mktemp("venv")
    venv.create(folder)
    there = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(there), "install", "--quiet"]
    subprocess.run([*pip, "--no-index", "--no-deps", str(wheel)], check=True)
    (packages,) = folder.glob("lib/*/site-packages")
    (packages / "needed.pth").write_text(sysconfig.get_path("purelib"))
    return there


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """An empty folder, and nothing that tells of a checkout or of the user's files."""
    for name in [name for name in os.environ if name.startswith(("COUPLING_", "PYTHON"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "empty"
    folder.mkdir()
    return folder


def files(*names):
    """Those below a checkout's folders that belong to it."""
    for place in map(ROOT.joinpath, names):
        inside = place.rglob("*") if place.is_dir() else [place]
        found = (path for path in inside if path.is_file() and "__pycache__" not in path.parts)
        yield from (path.relative_to(ROOT).as_posix() for path in found)


@pytest.mark.slow
def test_all_of_a_checkout_that_is_read_is_inside(wheel):
    with zipfile.ZipFile(wheel) as archive:
        inside = {name for name in archive.namelist() if ".dist-info/" not in name}
    shipped = {f"coupling_core/shipped/{name}" for name in files(*SHIPPED)}
    assert inside == {*files(*PACKAGES), *shipped} - {
        "coupling_core/shipped/.streamlit/secrets.toml"
    }
    assert wheel.stat().st_size < 100e6  # what PyPI takes


@pytest.mark.slow
def test_its_pages_show_what_ships(python, elsewhere):
    done = subprocess.run([python, "-c", PAGES], cwd=elsewhere, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert Path(found["root"]).is_relative_to(python.parents[1])
    assert Path(found["store"]).is_relative_to(elsewhere.parent / "cache")
    assert {title: wrong for title, (_, wrong) in found["pages"].items() if wrong} == {}
    drawn = {title for title, (charts, _) in found["pages"].items() if charts}
    assert drawn == found["pages"].keys() - {"Runs", "Method", "Train one", "Tour", "Classroom"}


@pytest.mark.slow
def test_its_command_serves_the_app(python, elsewhere):
    port, log = free_port(), elsewhere.parent / "log"
    command = [python.with_name("coupling"), "app", "--port", str(port), "--address", "127.0.0.1"]
    with log.open("w") as output:
        served = subprocess.Popen(command, cwd=elsewhere, stdout=output, stderr=output)
    try:
        wait_until_it_answers(served, f"http://127.0.0.1:{port}", log)
        health = [python.with_name("coupling"), "health", "--url", f"http://127.0.0.1:{port}"]
        assert subprocess.run(health, cwd=elsewhere, check=False).returncode == 0
    finally:
        served.terminate()
        served.wait(STARTS_WITHIN)
    assert "Network URL" not in log.read_text()  # as .streamlit/config.toml of the wheel has it
    assert not list(elsewhere.iterdir())
