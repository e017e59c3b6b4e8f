"""All prompts of a split, kept on this disk: once they are, every sample of it needs no hub.

    <user's cache>/prompts/<dataset>-<config>-<split>-<sign of these and the revision>.jsonl

The first line says what the file holds, with a seal over the others, which are a prompt each.
"""

import hashlib
import json
import logging
from dataclasses import asdict
from pathlib import Path
from typing import Any

from coupling_core.base.folders import user_cache
from coupling_core.base.writing import write_quietly
from coupling_core.sources.prompts.prompt import Prompt

FORM = 1
"""Of the files, and of how rows become prompts: files of another form are made anew."""

_log = logging.getLogger(__name__)
_UNREADABLE = (AttributeError, KeyError, OSError, RecursionError, TypeError, ValueError)


def keep(names: tuple[str, ...], prompts: list[Prompt], revision: str) -> None:
    """Write a pool; where it cannot be written, it is made again the next time.

    The names are of data set, configuration, split, and the revision that was asked for or the
    fingerprint of files.
    """
    body = "".join(f"{json.dumps(asdict(prompt))}\n" for prompt in prompts)
    head = {"form": FORM, "names": names, "revision": revision}
    write_quietly(path_of(names), f"{json.dumps(head | {'seal': _seal(head, body)})}\n{body}")


def kept(names: tuple[str, ...]) -> tuple[list[Prompt], str] | None:
    """The prompts of a pool and their revision; None where there is none, or no sound one."""
    path = path_of(names)
    if not path.is_file():
        return None
    try:
        first, _, body = path.read_text().partition("\n")
        head = json.loads(first)
        seal = head.pop("seal")
        if seal != _seal(head, body):
            raise ValueError("its seal is broken")
        if (head["form"], head["names"]) != (FORM, list(names)):
            return None
        return [Prompt(**json.loads(line)) for line in body.splitlines()], head["revision"]
    except _UNREADABLE as error:
        _log.warning("%s is damaged (%s), and is made anew", path, error)
        return None


def path_of(names: tuple[str, ...]) -> Path:
    """The file of a pool: a revision may be too long, or too odd, to name a file."""
    sign = hashlib.sha256(json.dumps(names).encode()).hexdigest()[:16]
    return user_cache() / "prompts" / f"{'-'.join(names[:-1])}-{sign}.jsonl"


def _seal(head: dict[str, Any], body: str) -> str:
    return hashlib.sha256(f"{json.dumps(head)}\n{body}".encode()).hexdigest()
