"""What it takes to have a model here: which files, how many bytes, how much memory.

Only config, tokenizer and safetensors are taken: never a pickle, never code.
"""

import json
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import Any

from coupling_core.base.errors import ComputeError
from coupling_core.base.folders import free_bytes
from coupling_core.base.units import counted
from coupling_core.base.units import size as in_words
from coupling_core.sources.hub import cache
from coupling_core.sources.hub.asking import TIMEOUT, asking, not_made, too_little_room

_SMALL = (
    "*config.json",
    "*token*.json",
    "vocab.json",
    "vocab.txt",
    "merges.txt",
    "tekken.json",
    "*token*.model",
    "*spiece.model",
    "sentencepiece*.model",
    "spm.model",
    "*.tiktoken",
)


@dataclass(frozen=True)
class RemoteFile:
    """A file that the model needs.

    Args:
        name: in the repository.
        size: in bytes.
        etag: its name among the cache's blobs: the sha256 of a large file, git's hash of a small
            one; empty where only the cache was asked.
        here: bytes of it on this disk.
    """

    name: str
    size: int
    etag: str
    here: int

    @property
    def is_large(self) -> bool:
        """Whether the hub keeps it outside git, as it does weights."""
        return len(self.etag) == 64


@dataclass(frozen=True)
class Download:
    """What it takes to have a model here.

    Args:
        repo: owner/name.
        commit: of its revision.
        files: all that the model needs, weights last.
        free: bytes free on the cache's disk.
        memory: bytes that the weights take in float32; 0 where that cannot be told.
    """

    repo: str
    commit: str
    files: tuple[RemoteFile, ...]
    free: int
    memory: int

    @property
    def size(self) -> int:
        """Bytes to fetch."""
        return sum(file.size - file.here for file in self.files)

    @property
    def missing(self) -> int:
        """How many files are to fetch, or to fetch the rest of."""
        return sum(file.here < file.size for file in self.files)

    def require_room(self) -> None:
        """Refuse what the disk cannot take."""
        if self.size > self.free:
            raise too_little_room(self.repo, in_words(self.size), in_words(self.free))

    def __str__(self) -> str:
        files = counted(self.missing, "file")
        needed = f"; the weights take {in_words(self.memory)} of memory in float32"
        return (
            f"{self.repo} at {self.commit[:8]}: {files}, {in_words(self.size)} to download; "
            f"{in_words(self.free)} are free on the disk" + needed * bool(self.memory)
        )


def plan(repo: str, commit: str) -> Download:
    """What fetching a model takes; without asking the hub where the cache has all of it."""
    folder = cache.snapshot(repo, commit)
    if not cache.has_weights(folder):
        return _ask(repo, commit)
    if cache.has_tokenizer(folder) or cache.is_own(repo):
        return _from_cache(repo, commit)
    try:  # the tokenizer may be missing here, or the model, one of images, has none
        return _ask(repo, commit)
    except ComputeError:
        return _from_cache(repo, commit)


def config(repo: str, commit: str) -> Path:
    """The file that says what a model is: the cache's, else fetched, and nothing else with it."""
    path = cache.snapshot(repo, commit) / cache.CONFIG
    if path.is_file():
        return path
    if cache.is_own(repo):
        raise not_made(repo, commit)
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import RemoteEntryNotFoundError

    with asking(repo, commit), suppress(RemoteEntryNotFoundError):
        return Path(hf_hub_download(repo, cache.CONFIG, revision=commit, tqdm_class=silent_bar()))
    raise ComputeError(_unfit(repo, commit, (), has_weights=True))


def silent_bar() -> Any:
    """What the hub's client takes for a progress bar, and shows nothing: progress is told by us."""
    from huggingface_hub.utils import tqdm

    return partial(tqdm, disable=True)


def _from_cache(repo: str, commit: str) -> Download:
    folder = cache.snapshot(repo, commit)
    names = sorted(path.name for path in folder.iterdir() if path.is_file())
    weights = cache.weights(names, (folder / cache.INDEX).read_text)
    small = [name for name in names if _is_small(name)]
    sizes = [(folder / name).stat().st_size for name in small + weights]
    files = [
        RemoteFile(name, size, "", size) for name, size in zip(small + weights, sizes, strict=True)
    ]
    with (folder / weights[0]).open("rb") as file:
        counted = _parameters(file.read(8), file.read)
    memory = _memory(counted, sizes[len(small)], sum(sizes[len(small) :]))
    return Download(repo, commit, tuple(files), free_bytes(cache.root()), memory)


def _ask(repo: str, commit: str) -> Download:
    if cache.is_own(repo):
        raise not_made(repo, commit)
    from huggingface_hub import HfApi, hf_hub_download

    with asking(repo, commit):
        info = HfApi().model_info(repo, revision=commit, files_metadata=True, timeout=TIMEOUT)
    listed = {file.rfilename: _remote(repo, commit, file) for file in info.siblings or ()}
    names = [name for name in listed if "/" not in name]

    def read_index() -> str:
        with asking(repo, commit):
            path = hf_hub_download(repo, cache.INDEX, revision=commit, tqdm_class=silent_bar())
            return Path(path).read_text()

    weights = cache.weights(names, read_index)
    if not weights or cache.CONFIG not in names:
        raise ComputeError(_unfit(repo, commit, names, has_weights=bool(weights)))
    files = [listed[name] for name in sorted(names) if _is_small(name)]
    files += [listed[name] for name in weights]
    total = sum(listed[name].size for name in weights)
    memory = _memory(_ask_parameters(repo, commit, weights[0]), listed[weights[0]].size, total)
    return Download(repo, commit, tuple(files), free_bytes(cache.root()), memory)


def _remote(repo: str, commit: str, file: Any) -> RemoteFile:
    name, size = file.rfilename, file.size or 0
    etag = file.lfs.sha256 if file.lfs else file.blob_id or ""
    return RemoteFile(name, size, etag, cache.here(repo, commit, name, etag, size))


def _is_small(name: str) -> bool:
    return name == cache.INDEX or any(fnmatch(name, pattern) for pattern in _SMALL)


def _unfit(repo: str, commit: str, names: Sequence[str], *, has_weights: bool) -> str:
    lead = f"hub model {repo} at {commit[:8]} has no"
    if has_weights:
        return f"{lead} {cache.CONFIG}, without which its blocks are not known: choose another"
    if any(name.endswith(".gguf") for name in names):
        return f"{lead} {cache.SINGLE}: download one of its .gguf files, and give that file"
    return (
        f"{lead} {cache.SINGLE}, and pickled weights are never loaded: look for a revision of it "
        "with safetensors, or convert it elsewhere (save_pretrained) and give the folder"
    )


def _ask_parameters(repo: str, commit: str, name: str) -> int:
    """How many numbers a file of weights holds; also tells a gated model before it is fetched."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import SafetensorsParsingError

    try:
        with asking(repo, commit):
            found = HfApi().parse_safetensors_file_metadata(
                repo, name, revision=commit, timeout=TIMEOUT
            )
    except SafetensorsParsingError:
        return 0
    return sum(found.parameter_count.values())


def _parameters(length: bytes, read: Callable[[int], bytes]) -> int:
    """How many numbers a file of weights holds, by its header; 0 where that cannot be read."""
    try:
        header = json.loads(read(min(int.from_bytes(length, "little"), 10**8)))
        tensors = (header[name] for name in header if name != "__metadata__")
        return sum(math.prod(tensor["shape"]) for tensor in tensors)
    except (ValueError, TypeError, KeyError, RecursionError):
        return 0


def _memory(parameters: int, size: int, total: int) -> int:
    """Bytes in float32 of all weights, from one file's numbers; its fellows hold as many a byte."""
    return 4 * parameters * total // max(size, 1)
