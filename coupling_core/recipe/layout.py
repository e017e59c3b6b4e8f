"""A checkpoint as a revision of a repository that is laid out like those of the hub's cache."""

import hashlib
import shutil
import tempfile
from copy import deepcopy
from pathlib import Path

from transformers import GPTNeoXForCausalLM, PreTrainedTokenizerFast

from coupling_core.models.words import quiet
from coupling_core.recipe.corpus import END_OF_TEXT


def write_checkpoint(
    repository: Path, model: GPTNeoXForCausalLM, tokenizer: Path, revision: str
) -> None:
    """Write weights in half precision, config and tokenizer, and the name that leads to them.

    The commit is a hash of weights and tokenizer, so that one model has one name wherever it was
    trained.
    """
    snapshots = repository / "snapshots"
    snapshots.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=repository) as name:
        folder = Path(name) / "files"
        ends = {"bos_token": END_OF_TEXT, "eos_token": END_OF_TEXT}
        with quiet():
            deepcopy(model).half().save_pretrained(folder)
            PreTrainedTokenizerFast(tokenizer_file=str(tokenizer), **ends).save_pretrained(folder)
        commit = _commit(folder)
        shutil.rmtree(snapshots / commit, ignore_errors=True)
        folder.rename(snapshots / commit)
    ref = repository / "refs" / revision
    ref.parent.mkdir(exist_ok=True)
    ref.write_text(commit)


def _commit(folder: Path) -> str:
    found = hashlib.sha1(usedforsecurity=False)
    for name in ("model.safetensors", "tokenizer.json"):
        found.update((folder / name).read_bytes())
    return found.hexdigest()
