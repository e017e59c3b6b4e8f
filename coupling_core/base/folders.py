"""Where this program keeps things on a disk."""

import os
import shutil
from pathlib import Path

_IN_WHEEL = Path(__file__).resolve().parents[1] / "shipped"
IN_CHECKOUT = not _IN_WHEEL.is_dir()

ROOT = Path(__file__).resolve().parents[2] if IN_CHECKOUT else _IN_WHEEL
"""The checkout; or the folder of a wheel which hatch_build.py lays out alike."""

SHIPPED = ROOT / "cache"
"""What comes with the program: the gallery of results, the suites of checkpoints."""

SWEEPS = ROOT / "sweeps"
"""What comes with it for measuring many models: the catalogue, prompts."""

STORE_BYTES = 10 * 2**30
"""Size of the store unless told: a result of a small model takes a few megabytes."""


def user_cache() -> Path:
    """Converted weights, remembered hashes, trained suites: COUPLING_HOME, or the user's cache."""
    if home := os.environ.get("COUPLING_HOME"):
        return Path(home)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "coupling-explorer"


def free_bytes(folder: Path) -> int:
    """Bytes free on the disk of a folder, which need not be there yet."""
    folder = folder.absolute()
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free
