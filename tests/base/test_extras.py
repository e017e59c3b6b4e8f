"""What is missing of an extra is told in one line with its remedy, and nothing else needs it."""

import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from typing import get_args

import pytest

from coupling_core import InputError
from coupling_core.base.extras import Extra
from coupling_core.engine.loading import convert, loading
from coupling_core.sources.prompts import fetching

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CLUSTERS = "coupling_core.experiments.sweeps.clusters"
NOVELS = "coupling_core.experiments.pretraining.novels"
NAME = re.compile(r"[\w-]+")
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
    ("rdata", "train", lambda: import_module(NOVELS)),
    ("gguf", "gguf", lambda: convert._rewrite(Path("a.gguf"), Path("alone"), Path("new"))),
    ("bitsandbytes", "quant", lambda: loading._quantisation("nf4")),
)


def test_a_missing_package_is_told_with_its_extra(monkeypatch):
    for package, extra, use in MISSING:
        with monkeypatch.context() as without:
            for name in [*sys.modules]:
                if name.partition(".")[0] == package or name in (CLUSTERS, NOVELS):
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
    assert set(told) == {CLUSTERS, NOVELS, "coupling_core.experiments.vision.grid"}
    assert {words.partition(" ")[0] for words in told.values()} == {"dask", "rdata"}
