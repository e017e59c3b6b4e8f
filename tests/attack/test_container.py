"""In a container: what asks for more than its limit fails in words, and nothing else dies.

The control groups are Linux's own, of the first version; where none can be made, nothing is tested.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from waiting import until

from coupling_core import Store

GROUPS = Path("/sys/fs/cgroup/memory")
SIZES = (1.25, 3.0)
"""Gigabytes."""
ASKING = """
import json, os, sys
from pathlib import Path
(Path(sys.argv[1]) / "cgroup.procs").write_text(str(os.getpid()))
from coupling_core import CouplingError, Request, Store, measure
from coupling_core.measuring.worker import Worker
from explorer.server.admission import measure_what_fits

worker, store, told = Worker(), Store(Path(sys.argv[2])), []
for kind in ({}, {"kind": "self", "block": 15}, {"kind": "fixed-output", "block": 15}):
    for k in (8, 64, 256):
        asked = Request(tuple(range(100, 140)), "smollm2-135m", k=k, **kind)
        try:
            by = measure if sys.argv[3] == "bounded" else measure_what_fits
            told.append({"key": worker.measure(asked, store, by=by).key})
        except CouplingError as error:
            told.append({"why": str(error)})
worker.close()
print(json.dumps(told))
"""
"""Ever more, of one worker; "admitted" is where what does not fit is refused, as the app does."""


@pytest.mark.slow
@pytest.mark.real
@pytest.mark.parametrize("way", ["bounded", "admitted"])
def test_whatever_the_size_of_a_container_what_asks_lives_on(way: str, tmp_path: Path) -> None:
    counted, stored, group = {}, {}, GROUPS / f"coupling-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    try:
        for size in SIZES:
            (group / "memory.limit_in_bytes").write_text(str(int(size * 2**30)))
            store = Store(tmp_path / str(size))
            script = [sys.executable, "-c", ASKING, str(group), str(store.root), way]
            done = subprocess.run(script, capture_output=True, text=True, check=False)
            assert done.returncode == 0, (size, done.returncode, done.stderr[-2000:])
            told = json.loads(done.stdout)
            stored |= {one["key"]: store for one in told if "key" in one}
            counted[size] = Counter("done" if "key" in one else _word(one["why"]) for one in told)
    finally:
        until(lambda: _removed(group))  # the last process may still be on its way out
    assert set().union(*counted.values()) <= {"done", "memory ran out", "refused"}
    assert counted[SIZES[-1]]["done"] > counted[SIZES[0]]["done"]
    assert all(store.get(key).certified for key, store in stored.items())


def _word(why: str) -> str:
    if "may be used" in why:
        return "refused"
    return "memory ran out" if "memory" in why else why


def _removed(group: Path) -> bool:
    try:
        group.rmdir()
    except OSError:
        return False
    return True
