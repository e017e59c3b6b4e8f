"""Workers on this machine: one thread pool each, behind a key, on no other address."""

import os
import subprocess
import sys

import tiny
from listening import watching

from coupling_core.experiments.sweeps import clusters


def test_two_workers_share_the_threads_and_only_the_key_opens_them(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)  # what somebody set by hand counts
    monkeypatch.setattr("coupling_core.engine.hardware.threads", lambda: 4)
    monkeypatch.setattr("coupling_core.engine.hardware.devices", lambda: ["cpu"])
    with watching() as watch, clusters.local(2) as client:
        workers = client.scheduler_info(n_workers=-1)["workers"]
        assert len(workers) == 2
        for address in (client.scheduler.address, *workers):
            assert address.startswith("tls://127.0.0.1:")
        assert set(client.run(lambda: os.environ.get("OMP_NUM_THREADS")).values()) == {"2"}
    assert len(watch.sockets) >= 3
    assert not watch.open_to_others
    assert not watch.answering, "HTTP servers tell of tasks, paths and source"
    for name in ("OMP_NUM_THREADS", "DASK_LOGGING__DISTRIBUTED"):
        assert name not in os.environ, "what workers are told stays with what is started next"


def test_there_is_a_worker_for_each_gpu(monkeypatch):
    monkeypatch.setattr(
        "coupling_core.engine.hardware.devices", lambda: ["cuda:0", "cuda:1", "cpu"]
    )
    with clusters.local() as client:
        found = client.run(lambda: os.environ.get("CUDA_VISIBLE_DEVICES"))
    assert sorted(found.values()) == ["0", "1"]


def test_a_script_that_starts_workers_unguarded_is_told_in_few_lines(tmp_path):
    tiny.folder(tmp_path / "model")
    script = tmp_path / "script.py"
    script.write_text(
        "from coupling_core import sweeps\n"
        'said = {"name": "n", "k": 4, "models": [{"model": "model"}]}\n'
        'plan = sweeps.make(said | {"prompts": [{"text": "The cat"}]})\n'
        'sweeps.run(plan, "store", workers=1)\n'
    )
    ran = subprocess.run(
        [sys.executable, script.name], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    *above, told = ran.stderr.strip().splitlines()
    assert ran.returncode == 1
    assert told.endswith('stands below `if __name__ == "__main__":`')
    assert len(above) < 40
