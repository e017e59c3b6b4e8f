"""A checkpoint as a revision of a repository that is laid out like those of the hub's cache."""

import hashlib
import shutil
import tempfile
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path

from transformers import PreTrainedModel

from coupling_core.engine.loading.words import quiet
from coupling_core.sources.hub.cache import SINGLE


def write_checkpoint(
    repository: Path,
    model: PreTrainedModel,
    revision: str,
    save_rest: Callable[[Path], object],
    rest: str,
) -> None:
    """Write weights in half precision, config and what goes with them, and a name for all that.

    The commit is a hash of the weights and of one other file, so that one model has one name
    wherever it was trained.

    Args:
        repository: its folder.
        model: as it is now.
        revision: the name that leads to it.
        save_rest: writes into a folder what turns an input into numbers.
        rest: the file of that which tells it from others.
    """
    snapshots = repository / "snapshots"
    snapshots.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=repository) as name:
        folder = Path(name) / "files"
        with quiet():
            deepcopy(model).half().save_pretrained(folder)
            save_rest(folder)
        commit = _commit(folder, rest)
        shutil.rmtree(snapshots / commit, ignore_errors=True)
        folder.rename(snapshots / commit)
    ref = repository / "refs" / revision
    ref.parent.mkdir(exist_ok=True)
    ref.write_text(commit)


def _commit(folder: Path, rest: str) -> str:
    found = hashlib.sha1(usedforsecurity=False)
    for name in (SINGLE, rest):
        found.update((folder / name).read_bytes())
    return found.hexdigest()
