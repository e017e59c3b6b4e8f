"""The lock files: everything in them has hashes, and nothing tells where it comes from."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "requirements").glob("*.txt"))
HASHES = r"(?: +--hash=sha256:[0-9a-f]{64}(?: \\)?\n)+"
ENTRY = re.compile(rf"^([\w.-]+)==[^\n]*\\\n({HASHES})", re.MULTILINE)
NAME = re.compile(r"[\w.-]+")


def locked(file):
    """Every package of a lock file, with its hashes."""
    text = (ROOT / "requirements" / f"{file}.txt").read_text()
    return {plain(found[1]): found[2].split() for found in ENTRY.finditer(text)}


def plain(name):
    """A package's name as the indexes write it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def test_all_is_pinned_with_hashes_and_no_index_is_named():
    known = {"# Written by `make lock`; see lock.py.", "-c cuda.txt", "-r app.txt"}
    rest = {line for file in FILES for line in ENTRY.sub("", file.read_text()).splitlines()}
    assert len(FILES) > 3
    assert rest <= known
    assert not [file for file in FILES if "://" in file.read_text()]


def test_all_that_the_project_names_is_locked():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"].values()
    asked = [*project["project"]["dependencies"], *(one for extra in extras for one in extra)]
    names = {plain(NAME.match(one)[0]) for one in asked} - {"coupling-explorer"}
    assert names <= locked("app").keys()
    assert set(project["dependency-groups"]["dev"]) <= locked("dev").keys() | locked("app").keys()
    built_with = {NAME.match(one)[0] for one in project["build-system"]["requires"]}
    assert {"pip", *built_with} <= locked("installer").keys()


def test_torch_comes_from_pypi_or_without_cuda():
    of_pypi, without_cuda = locked("app")["torch"], locked("torch-cpu")["torch"]
    # A file of that name without a known hash would be left for PyPI's, were both in one place.
    assert not set(of_pypi) & set(without_cuda) - {"\\"}
    assert not {name for name in locked("app") if name.startswith(("nvidia-", "cuda-", "triton"))}
    assert {"nvidia-cublas", "triton"} <= locked("cuda").keys()
