"""What a fresh process spares on its way to the first measurement.

To import torch and transformers makes a million objects that stay, which the garbage collector
would go through again and again, and once more when the process ends: a third of all the time that
a fresh command takes besides measuring. And while they are imported, the disk may read weights.
"""

import gc
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from coupling_core.base.memory import free_memory
from coupling_core.sources.resolved import Resolved

_ENGINE = "coupling_core.measuring.composing"
_SHARE = 0.5
"""Of the free memory: larger weights would push themselves out of it before they are used."""
_AT_ONCE = 2**20
"""Bytes: of a longer piece Linux reads the beginning only."""


def torch_is_here() -> bool:
    """Whether this process has imported torch, or what brings it along."""
    return bool({"torch", "transformers"} & sys.modules.keys())


@contextmanager
def importing(asked: Resolved | None = None) -> Iterator[None]:
    """While the engine is imported for the first time, nothing is collected; weights are read."""
    if _ENGINE in sys.modules:
        yield
        return
    if asked is not None and asked.request.untrained is None:
        _read_ahead(asked.files.folder)
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        if was_enabled:
            gc.enable()


def _read_ahead(folder: Path) -> None:
    """Let the disk bring a model's weights into memory; nobody waits for it."""
    if not hasattr(os, "posix_fadvise"):  # macOS
        return
    files = {path: path.stat().st_size for path in folder.glob("*.safetensors")}
    if sum(files.values()) < _SHARE * free_memory():
        threading.Thread(target=_advise, args=(files,), daemon=True).start()


def _advise(files: Mapping[Path, int]) -> None:
    for path, size in files.items():
        with suppress(OSError), path.open("rb") as file:
            for start in range(0, size, _AT_ONCE):
                os.posix_fadvise(file.fileno(), start, _AT_ONCE, os.POSIX_FADV_WILLNEED)
