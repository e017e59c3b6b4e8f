"""One result in a file of its own, to be kept beside a paper or handed to somebody else.

It is the form of the store: what the commands write to an `--out` that ends in `.safetensors`, and
what the page Runs downloads and opens.
"""

import os
from pathlib import Path

from coupling_core.base.errors import refuse
from coupling_core.base.folders import expanded
from coupling_core.base.results import Result
from coupling_core.store import archive


def save(result: Result, path: str | os.PathLike[str]) -> Path:
    """Write a result, whole or not at all."""
    path = expanded(path)
    refuse(
        (
            path.suffix != archive.SUFFIX,
            f"a result is saved as {archive.SUFFIX}, and {path.name!r} came: give it that ending; "
            "tables are written by to_pandas(), named arrays by to_xarray(), figures by "
            "plot().save(...)",
        ),
        (not result.complete, "a result that is not measured to its end cannot be saved"),
    )
    archive.save(result, path)
    return path


def load(path: str | os.PathLike[str]) -> Result:
    """Read a result from a file: one that `save` wrote, or the page Runs, or `--out` of a command.

        result.save("paris.safetensors")
        assert cc.load("paris.safetensors") == result

    A file that differs in any byte from what was written is refused, and so is one that no
    measurement could have given. A pack of several results goes into the store, with
    `coupling runs import`.

    Args:
        path: of the file.

    Returns:
        the result, of the class that it had.

    Raises:
        InputError: where the file cannot be read, is damaged or unsound, or is of another schema.
    """
    from coupling_core.store.soundness import require_sound  # pydantic

    result = archive.load(expanded(path))
    with archive.naming(path):
        require_sound(result)
    return result
