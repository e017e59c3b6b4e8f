"""Stored results by what people type: a key, its first letters, or a file."""

from pathlib import Path

from coupling_core.base.errors import InputError
from coupling_core.base.results import Result
from coupling_core.store.archive import SUFFIX, load
from coupling_core.store.disk import Store


def open_result(store: Store, text: str) -> Result:
    """A result by its key, by the first letters of its key, or by its file.

    Raises:
        InputError: where there is none, the letters begin several keys, or the file is damaged.
    """
    if text.endswith(SUFFIX):
        from coupling_core.store.soundness import require_sound  # pydantic

        result = load(Path(text))
        try:
            require_sound(result)
        except InputError as error:
            raise InputError(f"{text} {error}") from error
        return result
    return store.get(resolve(store, text))


def resolve(store: Store, text: str) -> str:
    """The one key that begins so.

    Raises:
        InputError: where there is none, or several.
    """
    found = [entry.key for entry in store.entries() if entry.key.startswith(text)]
    if text in found or len(found) == 1:
        return text if text in found else found[0]
    if not found:
        raise InputError(f"there is no stored result {text!r}: see coupling runs list")
    raise InputError(f"{text!r} begins {len(found)} keys: give more letters")
