"""Where this program keeps things on a disk."""

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from coupling_core.base.errors import InputError

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
        return expanded(home)
    if caches := os.environ.get("XDG_CACHE_HOME"):
        return expanded(caches) / "coupling-explorer"
    try:
        return Path.home() / ".cache" / "coupling-explorer"
    except RuntimeError:
        return _of_nobody()


def expanded(path: str | os.PathLike[str]) -> Path:
    """A path, with the home that its `~` stands for; raises `InputError` where nobody knows it."""
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise InputError(
            f"{os.fspath(path)} begins with a home that is not known: give the whole path"
        ) from error


def give_home() -> None:
    """Give a user without a home one, for what libraries keep there."""
    try:
        Path.home()
    except RuntimeError:
        os.environ["HOME"] = folder = str(_of_nobody())
        if not os.environ.get("XDG_CACHE_HOME"):
            os.environ.setdefault("COUPLING_HOME", folder)


def _of_nobody() -> Path:
    """The cache of a user without a home, as containers have them, unless another laid it out."""
    folder = Path(tempfile.gettempdir()) / f"coupling-explorer-{os.getuid()}"
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    if folder.lstat().st_uid != os.getuid():
        raise InputError(
            f"{folder} belongs to another user: set COUPLING_HOME to a folder of yours"
        )
    return folder


def free_bytes(folder: Path) -> int:
    """Bytes free on the disk of a folder, which need not be there yet."""
    folder = folder.absolute()
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free
