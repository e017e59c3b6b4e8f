"""Lists of prompts that pages measure as a whole: the one that ships, and those that visitors give.

A list of a visitor's is named by the hash of its texts. At home it is kept beside the results, so
that a link finds it; where strangers use the app it stays with the session that gave it.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from pathlib import Path

import streamlit as st

from coupling_core.base.errors import InputError
from coupling_core.base.folders import SWEEPS
from coupling_core.base.textfiles import decoded
from coupling_core.base.units import counted
from coupling_core.base.writing import write_quietly
from coupling_core.sources.prompts import Prompt, read_content, read_file
from explorer.server import admission, backend

SHIPPED = "shipped"
"""Name of the list that comes with the program."""
FILE = SWEEPS / "prompts.jsonl"
"""Where it is."""
FOLDER = "prompts"
"""Of the store: where visitors' lists are kept at home."""
LETTERS = 200_000
"""Letters of a list in all."""
KEPT = 8
"""Lists of a session, the latest."""

SHORT = 24
"""Letters of its first prompt, by which a list is known among others."""

_LISTS = "_prompt_lists"
_DIGITS = 16


@dataclass(frozen=True)
class PromptList:
    """Prompts that are measured as a whole.

    Args:
        name: in a link.
        prompts: each once, in their order.
        repeated: how many were left out, because the same text came before.
        file: which one it came in; "" of one that was pasted, or that a link found again.
    """

    name: str
    prompts: tuple[Prompt, ...]
    repeated: int = 0
    file: str = ""

    @property
    def title(self) -> str:
        """What people call it."""
        if self.name == SHIPPED:
            return "the list that comes with the program"
        return self.file or f"your list {self._beginning()}"

    @property
    def called(self) -> str:
        """The same among others that can be chosen."""
        n = len(self.prompts)
        if self.name == SHIPPED:
            return f"{counted(n, 'prompt')} that come with this program"
        return f"{self.file}: {counted(n, 'prompt')}" if self.file else self._beginning()

    def _beginning(self) -> str:
        """Its first prompt and how many more there are."""
        first, more = self.prompts[0].words, len(self.prompts) - 1
        short = (
            first
            if len(first) <= SHORT
            else (first[:SHORT].rpartition(" ")[0] or first[:SHORT]) + " …"
        )
        return f"“{short}”" + f" and {more} more" * (more > 0)


def pasted(text: str) -> PromptList:
    """The list of what was typed, a prompt a line."""
    return _keep(read_content(Path("what you pasted"), text))


def uploaded(name: str, content: bytes) -> PromptList:
    """The list of a file that came through the door for uploads."""
    path = Path(Path(name).name)
    return _keep(read_content(path, decoded(content, f"the file {path.name}")), path.name)


def get(name: str) -> PromptList | None:
    """A list by its name; None where it is not here."""
    if name == SHIPPED:
        return _shipped()
    if name in _own():
        return _own()[name]
    if not admission.may_change_store():
        return None
    try:
        prompts = read_file(_path(name))
    except InputError:
        return None
    found = _listed(prompts)
    return found if found.name == name else None  # a file that somebody changed is another list


def known() -> list[str]:
    """Names of the lists that a session can choose from."""
    return [SHIPPED, *_own()]


def has_link(name: str) -> bool:
    """Whether a link finds a list again."""
    return name == SHIPPED or (admission.may_change_store() and _path(name).is_file())


def to_jsonl(prompts: Iterable[Prompt]) -> str:
    """Prompts as a file that this program reads again."""
    return "".join(json.dumps(_row(prompt)) + "\n" for prompt in prompts)


def _row(prompt: Prompt) -> Mapping[str, object]:
    told = {"prompt": prompt.text, "category": prompt.category, "difficulty": prompt.difficulty}
    return {name: value for name, value in told.items() if value not in ("", None)}


def _keep(prompts: Sequence[Prompt], file: str = "") -> PromptList:
    """Take in a list: for this session, and at home on the disk."""
    found = replace(_listed(prompts), file=file)
    letters = sum(len(prompt.text) for prompt in found.prompts)
    if letters > LETTERS or len(found.prompts) > admission.MOST_PROMPTS:
        raise InputError(
            f"this list has {len(found.prompts):,} prompts of {letters:,} letters, and at most "
            f"{admission.MOST_PROMPTS} of {LETTERS:,} are measured at a time: "
            "`coupling depth --prompts` takes any number"
        )
    own = _own()
    own.pop(found.name, None)
    own[found.name] = found
    while len(own) > KEPT:
        del own[next(iter(own))]
    if admission.may_change_store():
        write_quietly(_path(found.name), to_jsonl(found.prompts))
    return found


def _listed(prompts: Sequence[Prompt]) -> PromptList:
    once: dict[str, Prompt] = {}
    for prompt in prompts:
        once.setdefault(prompt.text, prompt)
    name = sha256(json.dumps(list(once)).encode()).hexdigest()[:_DIGITS]
    return PromptList(name, tuple(once.values()), len(prompts) - len(once))


def _own() -> dict[str, PromptList]:
    return st.session_state.setdefault(_LISTS, {})


def _path(name: str) -> Path:
    return backend.store().root / FOLDER / f"{name}.jsonl"


@cache
def _shipped() -> PromptList:
    return PromptList(SHIPPED, tuple(read_file(FILE)))
