"""A Slurm of one node, of this machine, with its own keys, ports and folders."""

import os
import secrets
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from waiting import until

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "sinfo")
SECONDS = 30

CONF = """\
ClusterName=tests
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={daemon}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
KillWait=5
NodeName={host} NodeAddr=127.0.0.1 CPUs={cores} RealMemory={megabytes} State=UNKNOWN
PartitionName=tests Nodes={host} Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
"""


class NoSlurm(Exception):
    """Slurm cannot be started on this machine."""


@contextmanager
def slurm(folder: Path, megabytes: int = 6000) -> Iterator[Path]:
    """Run a Slurm, and give the path of its configuration."""
    if lacking := [name for name in PROGRAMS if _program(name) is None]:
        raise NoSlurm(f"{lacking[0]} is not installed (Debian: slurm-wlm and munge)")
    if os.getuid() != 0:
        raise NoSlurm("slurmctld and slurmd are started as root here")
    folder.chmod(0o755)
    for parent in folder.parents[:-1]:
        parent.chmod(parent.stat().st_mode | 0o011)
    for name in ("state", "spool"):
        (folder / name).mkdir()
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    controller, daemon = (one.getsockname()[1] for one in sockets)
    for one in sockets:
        one.close()
    conf = folder / "slurm.conf"
    host, cores = socket.gethostname().partition(".")[0], os.cpu_count()
    said = {"folder": folder, "megabytes": megabytes, "controller": controller, "daemon": daemon}
    conf.write_text(CONF.format(host=host, cores=cores, **said))
    (folder / "key").write_bytes(secrets.token_bytes(128))
    (folder / "key").chmod(0o400)
    environ = os.environ | {"SLURM_CONF": str(conf)}
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str, *arguments: str) -> None:
        log = (folder / f"{name}.out").open("wb")
        command = [str(_program(name)), *arguments]
        started.append(subprocess.Popen(command, env=environ, stdout=log, stderr=log))

    try:
        of_munge = {"socket": "munge.socket", "pid-file": "munge.pid", "log-file": "munge.log"}
        paths = [f"--{name}={folder / file}" for name, file in of_munge.items()]
        seed = f"--seed-file={folder / 'munge.seed'}"
        start("munged", "--foreground", "--force", f"--key-file={folder / 'key'}", seed, *paths)
        _wait(lambda: (folder / "munge.socket").exists(), folder, "munged")
        start("slurmctld", "-D", "-f", str(conf))
        start("slurmd", "-D", "-f", str(conf))
        _wait(lambda: _is_idle(environ), folder, "slurmctld", "slurmd")
        yield conf
    finally:
        for process in reversed(started):
            process.terminate()
        for process in reversed(started):
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


def _program(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def _is_idle(environ: dict[str, str]) -> bool:
    command = ["sinfo", "--noheader", "--format=%t"]
    told = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    return told.stdout.strip() == "idle"


def _wait(ready, folder: Path, *names: str) -> None:
    try:
        until(ready, SECONDS)
    except AssertionError:
        logs = [file for name in names for file in folder.glob(f"{name.removesuffix('d')}*")]
        told = " ".join(file.read_text()[-300:] for file in logs if file.suffix != ".pid")
        raise NoSlurm(f"{' and '.join(names)} did not come up: {told}") from None
