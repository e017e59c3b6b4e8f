"""The process without torch, for libraries that end theirs."""

import os
import signal
import time
from collections.abc import Iterator
from functools import partial

import pytest

from coupling_core.measuring.worker import small


@pytest.fixture(autouse=True)
def _ended() -> Iterator[None]:
    yield
    small._process.close()


def test_a_call_that_dies_gives_none_and_the_next_is_answered() -> None:
    assert small.run(partial(os.kill, 0, signal.SIGABRT)) is None
    assert small.run(os.getpid) not in (None, os.getpid())


def test_a_call_that_never_ends_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small, "SECONDS", 0.1)
    start = time.monotonic()
    assert small.run(partial(time.sleep, 60)) is None
    assert time.monotonic() - start < 30


def test_a_call_gets_no_more_memory_than_its_share() -> None:
    assert small.run(partial(bytearray, small.MEMORY // 100)) is not None
    assert small.run(partial(bytearray, small.MEMORY)) is None
