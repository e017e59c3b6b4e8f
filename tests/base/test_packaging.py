"""What is installed: extras, lock files and licences."""

import re
import runpy
import subprocess
import sys
import tomllib
from email.message import Message
from importlib import import_module
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import get_args

import numpy as np
import pandas as pd
import pytest

from coupling_core import InputError
from coupling_core.analysis.exports import to_netcdf, to_parquet
from coupling_core.base.extras import Extra
from coupling_core.engine.loading import gguf_reading, loading
from coupling_core.sources.prompts import fetching

ROOT = Path(__file__).parents[2]
TOLD = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = TOLD["project"]
CLUSTERS = "coupling_core.experiments.sweeps.clusters"
DRAWING = "coupling_core.figures.drawing"
NAME = re.compile(r"[\w.-]+")
WITHOUT = """
import pkgutil, sys
from importlib import import_module

sys.modules |= dict.fromkeys(sys.argv[1:])
import coupling_core
for module in pkgutil.walk_packages(coupling_core.__path__, "coupling_core."):
    try:
        if not module.name.endswith("__main__"):
            import_module(module.name)
    except coupling_core.InputError as error:
        print(module.name, error, sep=": ")
"""


def packages(extra):
    """By the names under which they are imported."""
    listed = map(NAME.match, PROJECT["optional-dependencies"][extra])
    return [found[0].replace("-", "_") for found in listed]


MISSING = (
    ("dask", "sweeps", lambda: import_module(CLUSTERS)),
    ("dask_jobqueue", "sweeps", lambda: import_module(CLUSTERS)),
    ("datasets", "sweeps", lambda: fetching.quiet().__enter__()),
    ("pyarrow", "files", lambda: to_parquet(pd.DataFrame({"a": [1]}))),
    ("h5netcdf", "files", lambda: to_netcdf({"a": (("b",), np.zeros(1))})),
    ("gguf", "gguf", lambda: gguf_reading.read_fast().__enter__()),
    ("bitsandbytes", "quant", lambda: loading._quantisation("nf4")),
)


def test_a_missing_package_is_told_with_its_extra(monkeypatch):
    for package, extra, use in MISSING:
        with monkeypatch.context() as without:
            for name in [*sys.modules]:
                if name.partition(".")[0] == package or name == CLUSTERS:
                    without.delitem(sys.modules, name)
            without.setitem(sys.modules, package, None)
            with pytest.raises(InputError) as refused:
                use()
        assert str(refused.value).startswith(package)
        assert f"'coupling-explorer[{extra}]'" in str(refused.value)
        assert package in packages(extra)


def test_the_app_without_streamlit_is_one_line(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "streamlit", None)
    status, out, err = run("app")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "'coupling-explorer[app]'" in err


def test_every_extra_is_known_and_part_of_all():
    known, extras = sorted(get_args(Extra)), PROJECT["optional-dependencies"]
    assert sorted(extras) == sorted([*known, "all"])
    assert extras["all"] == [f"coupling-explorer[{','.join(known)}]"]


@pytest.mark.slow
def test_the_core_does_without_the_extras():
    missing = {name for extra in get_args(Extra) for name in packages(extra)}
    blocked = sorted(missing - {"cryptography", "coupling_explorer"})
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, *blocked], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    told = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    assert set(told) == {CLUSTERS, DRAWING}
    assert {words.partition(" ")[0] for words in told.values()} == {"dask", "matplotlib"}


# ---- lock files: hashes, and nothing that tells where it comes from

FILES = sorted((ROOT / "requirements").glob("*.txt"))
HASHES = r"(?: +--hash=sha256:[0-9a-f]{64}(?: \\)?\n)+"
ENTRY = re.compile(rf"^([\w.-]+)==[^\n]*\\\n({HASHES})", re.MULTILINE)


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
    asked = [*PROJECT["dependencies"], *chain(*PROJECT["optional-dependencies"].values())]
    names = {plain(NAME.match(one)[0]) for one in asked} - {"coupling-explorer"}
    assert names <= locked("app").keys()
    assert set(TOLD["dependency-groups"]["dev"]) <= locked("dev").keys() | locked("app").keys()
    built_with = {NAME.match(one)[0] for one in TOLD["build-system"]["requires"]}
    assert {"pip", *built_with} <= locked("installer").keys()


def test_the_ranges_of_any_pip_are_those_of_the_project():
    lock = runpy.run_path(str(ROOT / "requirements" / "lock.py"))
    told = (ROOT / "requirements.txt").read_text().splitlines()
    assert told == [lock["HEAD"], *lock["ranges"]()]
    assert len(told) > 30


def test_torch_comes_from_pypi_or_without_cuda():
    of_pypi, without_cuda = locked("app")["torch"], locked("torch-cpu")["torch"]
    # A file of that name without a known hash would be left for PyPI's, were both in one place.
    assert not set(of_pypi) & set(without_cuda) - {"\\"}
    assert not {name for name in locked("app") if name.startswith(("nvidia-", "cuda-", "triton"))}
    assert {"nvidia-cublas", "triton"} <= locked("cuda").keys()


# ---- licences, as `make audit` looks at them

AUDIT = runpy.run_path(str(ROOT / "requirements" / "audit.py"))


def package(files: dict[str, str] | None = None, **fields: str) -> SimpleNamespace:
    metadata = Message()
    for name, value in fields.items():
        metadata[name.replace("_", "-")] = value
    return SimpleNamespace(metadata=metadata, version="1.0", read_text=(files or {}).get)


def test_a_licence_that_binds_others_is_found_and_so_is_none():
    found = {
        "free": package(License_Expression="MIT OR Apache-2.0"),
        "old": package(Classifier="License :: OSI Approved :: BSD License"),
        "text": package(License="MIT License\n\nnot the GPL"),
        "bound": package(License_Expression="AGPL-3.0-only"),
        "file": package({"licenses/LICENSE": "MIT License\n\nnot the GPL"}, License_File="LICENSE"),
        "bound file": package({"licenses/C": "GNU GENERAL PUBLIC LICENSE\n"}, License_File="C"),
        "mute": package(),
    }
    told = list(AUDIT["licences"](found))
    assert [line.partition(" 1.0: ")[0] for line in told] == ["bound", "bound file", "mute"]
    assert "AGPL-3.0-only" in told[0]
