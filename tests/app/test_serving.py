"""What begins with the server: the worker, with the model that the first visitor sees."""

import asyncio
from pathlib import Path

import mortal
import psutil
import pytest
import tiny
from waiting import until

from coupling_core.base.settings import settings
from coupling_core.measuring.worker import Worker
from explorer.server import serving


def set_up(monkeypatch: pytest.MonkeyPatch, **environment: str) -> Worker:
    """A worker of this test's own, under these settings."""
    for name, value in environment.items():
        monkeypatch.setenv(f"COUPLING_{name.upper()}", value)
    settings.cache_clear()
    monkeypatch.setattr(serving, "worker", made := Worker(modules=()))
    return made


def test_the_first_model_of_a_demo_is_ready_and_the_worker_ends_with_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = str(tiny.folder(tmp_path / "tiny"))
    worker = set_up(monkeypatch, mode="demo", models=f"{folder},smollm2-135m", device="cpu")

    async def life() -> int:
        async with serving.begin(None):
            assert await asyncio.to_thread(until, lambda: worker.call(mortal.kept)) == [folder]
            assert worker.pid
            return worker.pid

    pid = asyncio.run(life())
    until(lambda: not psutil.pid_exists(pid))


@pytest.mark.parametrize("change", [{"read_only": "true"}, {"largest_k": "many"}])
def test_where_nothing_is_computed_or_the_settings_are_wrong_none_starts(
    monkeypatch: pytest.MonkeyPatch, change: dict[str, str]
) -> None:
    worker = set_up(monkeypatch, **change)

    async def life() -> None:
        async with serving.begin(None):
            await asyncio.sleep(0.3)

    asyncio.run(life())
    assert worker.pid is None
