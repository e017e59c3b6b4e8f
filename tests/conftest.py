"""What every test shares: annotations checked at run time, and folders that are not the user's."""

import gc
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from runpy import run_module
from typing import Any

import annotations
import pytest
from hypothesis import settings

# Before torch is imported: servers and browsers that tests start compete for the cores.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
if "PYTEST_XDIST_WORKER" in os.environ:  # one core a worker
    os.environ.setdefault("OMP_NUM_THREADS", "1")

# What tests start in the background of a shell would else be deaf to Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("fuzz", max_examples=10_000, print_blob=True)  # `make fuzz`
settings.register_profile("tests", deadline=None, derandomize=True)  # the same on every machine
settings.load_profile("tests")

annotations.install("coupling_core", "studies")  # before anything of them is imported


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what needs CUDA where there is none, in place of skipping hundreds of cases."""
    on_gpu = [item for item in items if item.get_closest_marker("gpu")]
    if on_gpu:
        import torch

        if not torch.cuda.is_available():
            items[:] = [item for item in items if item not in set(on_gpu)]
            config.hook.pytest_deselected(items=on_gpu)


def pytest_collection_finish() -> None:
    """Leave out of every later garbage collection what the imports made: some million objects."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _own_folders(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keep the tests out of the user's store and cache; real models need the converted weights."""
    from coupling_core.base.settings import settings

    settings.cache_clear()  # a test before may have set some
    logging.getLogger("coupling_core").setLevel(logging.NOTSET)  # and a command been --quiet
    monkeypatch.setenv("COUPLING_STORE", str(tmp_path / "store"))
    if request.node.get_closest_marker("real") is None:
        monkeypatch.setenv("COUPLING_HOME", str(tmp_path / "home"))


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., tuple[object, str, str]]:
    """Run a command line, or that of a study: (exit status, stdout, stderr)."""
    from coupling_core.cli import main

    def run(*args: object, study: str = "") -> tuple[object, str, str]:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["coupling", *map(str, args)])
        with pytest.raises(SystemExit) as left:
            run_module(f"studies.{study}", run_name="__main__") if study else main()
        return left.value.code, *capsys.readouterr()

    return run


@pytest.fixture
def store(tmp_path: Path) -> Any:
    """An empty store, without the results that ship."""
    from coupling_core import Store

    return Store(tmp_path / "results", layers=(), gallery=tmp_path / "none")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny Llama on the disk."""
    import tiny

    return tiny.folder(tmp_path_factory.mktemp("model") / "tiny-llama")


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """For oracles that take thousands of small steps, in which a second thread only waits."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def loaded(request: pytest.FixtureRequest) -> Any:
    """The model of the file's `REQUEST`."""
    from coupling_core.engine.loading import load
    from coupling_core.sources.resolved import resolve

    return load(resolve(request.module.REQUEST), "cpu")


@pytest.fixture(scope="module")
def trained(request: pytest.FixtureRequest) -> Any:
    """The measurement that the file's `REQUEST` asks for."""
    from coupling_core import measure

    return measure(request.module.REQUEST, device="cpu")


@pytest.fixture(scope="module")
def untrained(request: pytest.FixtureRequest) -> Any:
    """The same of the untrained twin."""
    from coupling_core import measure

    return measure(replace(request.module.REQUEST, untrained=0), device="cpu")
