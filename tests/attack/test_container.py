"""In a container: what asks for more than its limit fails in words, and nothing else dies.

The control groups are Linux's own, of the first version; where none can be made, nothing is tested.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import contained
import pytest

from coupling_core import Store

pytestmark = [pytest.mark.slow, pytest.mark.real]

GROUPS = Path("/sys/fs/cgroup/memory")
SIZES = (1.25, 1.5, 2.0, 3.0)
"""Gigabytes."""


@pytest.fixture
def group() -> Iterator[Callable[[float], Path]]:
    """Makes a control group of a size."""
    folder = GROUPS / f"coupling-{os.getpid()}"

    def make(gigabytes: float) -> Path:
        (folder / "memory.limit_in_bytes").write_text(str(int(gigabytes * 2**30)))
        return folder

    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    yield make
    folder.rmdir()


@pytest.mark.parametrize("way", ["bounded", "admitted"])
def test_whatever_the_size_of_a_container_what_asks_lives_on(
    way: str, group: Callable[[float], Path], tmp_path: Path
) -> None:
    counted: dict[float, Counter[str]] = {}
    stored: dict[str, Store] = {}
    for size in SIZES:
        folder, store = group(size), Store(tmp_path / str(size))
        script = [sys.executable, contained.__file__, str(folder), str(store.root), way]
        done = subprocess.run(script, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (size, done.returncode, done.stderr[-2000:])
        told = json.loads(done.stdout)
        stored |= {one["key"]: store for one in told if "key" in one}
        counted[size] = Counter("done" if "key" in one else _word(one["why"]) for one in told)
    assert set().union(*counted.values()) <= {"done", "memory ran out", "refused"}
    assert counted[SIZES[-1]]["done"] > counted[SIZES[0]]["done"]
    assert all(store.get(key).certified for key, store in stored.items())


def _word(why: str) -> str:
    if "may be used" in why:
        return "refused"
    return "memory ran out" if "memory" in why else why
