"""Hashes of a model's files: of one, and of all in a folder that may determine a number.

A file that is counted in vain costs a measurement that was not needed; one that is left out, a
wrong number. So every file of a folder counts but those that loading never reads, and those that it
reads and that change nothing.
"""

import hashlib
import json
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from coupling_core.base.errors import ComputeError, InputError
from coupling_core.base.folders import user_cache
from coupling_core.base.reading import opened
from coupling_core.base.writing import write_quietly
from coupling_core.sources import hub
from coupling_core.sources.refusals import reading

_SEAL = "converted.sha256"
_FRESH = 2 * 10**9
"""Nanoseconds within which a file may be written again without its time telling."""

_WEIGHTS = "[!.]*.safetensors"
_UNREAD = frozenset(
    {
        *(".bin", ".ckpt", ".gguf", ".h5", ".msgpack", ".onnx", ".ot", ".pb", ".pt", ".pth"),
        *(".pkl", ".pickle", ".tflite"),  # the weights again, in forms that are never loaded
        *(".md", ".rst", ".pdf", ".html", ".gif", ".jpeg", ".jpg", ".png", ".svg", ".webp"),
        *(".py", ".ipynb", ".sh"),  # a model's own code, which is never run
        *(".log", ".lock", ".tmp"),
    }
)
"""Ends of files that loading never opens."""
_IDLE = frozenset({"generation_config.json", "chat_template.jinja", "chat_template.json", _SEAL})
"""Files that are read and decide nothing here: nothing is generated, and no chat is laid out."""


def folder_digest(folder: Path) -> str:
    """sha256 of a folder's config, weights, tokenizer, and whatever else loading may read."""
    weights = sorted(folder.glob(_WEIGHTS))
    if not (folder / "config.json").is_file() or not weights:
        lacks = "no *.safetensors" if (folder / "config.json").is_file() else "no config.json"
        raise InputError(
            f"folder {folder} has {lacks}: expected config.json and weights in safetensors, as "
            "save_pretrained writes them (pickled .bin weights are never loaded; an adapter is "
            "loaded on its base model by peft, and that module measured)"
        )
    _require_inside(folder, weights)
    listing = [(file.name, file_digest(file)) for file in counted(folder)]
    return _sha256_of(listing)


def counted(folder: Path) -> list[Path]:
    """The files of a folder that count: weights, then all others in the order of their names."""
    with reading(folder):
        beside = (
            path
            for path in folder.iterdir()
            if path.is_file()
            and not path.name.startswith(".")
            and path.name not in _IDLE
            and path.suffix.lower() not in _UNREAD | {".safetensors"}
        )
        return [*sorted(folder.glob(_WEIGHTS)), *sorted(beside)]


def _require_inside(folder: Path, weights: list[Path]) -> None:
    """Refuse an index that leads to weights outside the folder: their hash would not be known."""
    if strange := [file for file in weights if not file.is_file()]:
        raise InputError(f"{strange[0]} is no file, but a pipe, a device or a link to nothing")
    names = [file.name for file in weights]
    index = folder / hub.cache.INDEX
    try:
        hub.cache.weights([*names, index.name] if index.is_file() else names, index.read_text)
    except (ComputeError, OSError) as error:
        raise InputError(f"folder {folder}: {error}") from error


def seal(folder: Path) -> None:
    """Note what a folder holds, so that weights that were damaged or replaced are never read."""
    (folder / _SEAL).write_text(folder_digest(folder))


def is_sealed(folder: Path) -> bool:
    """Whether a folder holds what it held when it was sealed."""
    try:
        return (folder / _SEAL).read_text() == folder_digest(folder)
    except (OSError, ValueError, InputError):
        return False


def break_seal(folder: Path) -> None:
    """Have a folder that was sealed taken for damaged, as it is found to be."""
    with suppress(OSError):
        (folder / _SEAL).unlink()


def file_digest(path: Path) -> str:
    """sha256 of a file, remembered by path, size and times, since weights take seconds to read.

    The time of the last change of a file's entry is one of them: unlike that of its content, it
    cannot be set, so that no other file passes for this one.
    """
    memory = user_cache() / "hashes.json"
    known = _recall(memory)
    with reading(path):
        stat = path.stat()
        stamp = [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns]
        if (entry := known.get(str(path))) and entry[:-1] == stamp:
            return str(entry[-1])
        digest = hash_of(path)
    if abs(time.time_ns() - max(stamp[1:])) > _FRESH:
        files = known | {str(path): [*stamp, digest]}
        write_quietly(memory, json.dumps({"files": files, "sha256": _sha256_of(files)}))
    return digest


def hash_of(path: Path) -> str:
    """sha256 of a file as it is now."""
    with opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _recall(memory: Path) -> dict[str, list[Any]]:
    """The remembered hashes; none where a byte of them has changed, for each may be a model's."""
    try:
        found = json.loads(memory.read_text())
        files: dict[str, list[Any]] = found["files"]
        return files if found["sha256"] == _sha256_of(files) else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _sha256_of(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()
