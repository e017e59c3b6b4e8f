"""Stored results by what people type: a key, its first letters, or a file."""

from coupling_core.base.errors import InputError
from coupling_core.base.folders import expanded
from coupling_core.base.results import Result
from coupling_core.store.archive import SUFFIX
from coupling_core.store.disk import Store
from coupling_core.store.result_file import load


def open_result(store: Store, text: str) -> Result:
    """A result by its key, by the first letters of its key, or by its file."""
    if text.endswith(SUFFIX):
        return load(text)
    if expanded(text).is_file():
        raise InputError(
            f"{text} is not a stored result: expected a key, its first letters, or a {SUFFIX} file"
        )
    return store.get(text)
