"""Packages of registries that bring what is learned: fetched and unpacked, never installed."""

import subprocess
from pathlib import Path

from coupling_core.base.errors import ComputeError, InputError


def fetch_debian(package: str, folder: Path) -> None:
    """Fetch a package of Debian or Ubuntu, and unpack its files into a folder."""
    run(["apt-get", "download", "--quiet", package], cwd=folder)
    run(["dpkg-deb", "--extract", str(next(folder.glob(f"{package}_*.deb"))), str(folder)])


def run(command: list[str], cwd: Path | None = None) -> None:
    """Run a tool that fetches or unpacks."""
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise InputError(
            f"{command[0]} is not here: what is learned is fetched with pip, apt-get and dpkg-deb, "
            "which Debian and Ubuntu have"
        ) from error
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise ComputeError(f"`{' '.join(command)}` failed: {last}")
