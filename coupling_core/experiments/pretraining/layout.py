"""A checkpoint as a revision of a repository that is laid out like those of the hub's cache."""

import shutil
import tempfile
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path

from transformers import PreTrainedModel

from coupling_core.engine.loading.words import quiet
from coupling_core.sources.integrity import record


def write_checkpoint(
    repository: Path,
    model: PreTrainedModel,
    revision: str,
    save_rest: Callable[[Path], object],
) -> None:
    """Write weights in half precision, config and what goes with them, and a name for all that."""
    snapshots = repository / "snapshots"
    snapshots.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=repository) as name:
        folder = Path(name) / "files"
        with quiet():
            deepcopy(model).half().save_pretrained(folder)
            save_rest(folder)
        commit = record(repository, folder)
        shutil.rmtree(snapshots / commit, ignore_errors=True)
        folder.rename(snapshots / commit)
    ref = repository / "refs" / revision
    ref.parent.mkdir(exist_ok=True)
    ref.write_text(commit)
