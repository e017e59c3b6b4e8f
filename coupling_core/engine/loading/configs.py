"""A model's config, read once its numbers are bounded: by some of them a program is built.

Sizes of weights need no bound here, since a model is built without any first. What is counted is
made one by one, and a file of a hundred bytes can ask for a million.
"""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from transformers import AutoConfig

from coupling_core.base.errors import InputError
from coupling_core.base.reading import TEXT, read_bytes

_MOST = {
    re.compile(r"(layers?|blocks?|depths?|stages?)$"): 1000,
    re.compile(r"(experts?|heads?)$"): 10**5,
    re.compile(r"(labels|classes)$"): 10**6,
}
"""Of what is counted by a field whose name ends so. The deepest model in use has 126 layers, the
widest a few thousand experts, the finest classifier twenty thousand classes."""


def read_config(where: Path, options: dict[str, Any]) -> Any:
    """The config of a model, as transformers has it.

    Args:
        where: its folder.
        options: of `from_pretrained`.

    Raises:
        InputError: where one of its numbers is that of no model.
        Exception: where transformers cannot read it.
    """
    said: Any = None
    with suppress(FileNotFoundError, ValueError, RecursionError):  # transformers says what is wrong
        said = json.loads(read_bytes(where / "config.json", TEXT))
    require_bounded(said)
    config = AutoConfig.from_pretrained(where, trust_remote_code=False, **options)  # nosec B615
    require_bounded(config.to_dict())  # a GGUF file has it among its own
    return config


def require_bounded(said: Any) -> None:
    """Refuse a config by which more would be built than any model has.

    Raises:
        InputError: names the field.
    """
    for name, number in _numbers("", said):
        for ending, most in _MOST.items():
            if ending.search(name) and number > most:
                raise InputError(
                    f"config.json says {name} = {number:g}, and at most {most:,} are built: is it "
                    "the config of a model?"
                )


def _numbers(name: str, said: Any) -> Iterator[tuple[str, float]]:
    """Every number of a config, with the name of the field that it stands in."""
    if isinstance(said, dict):
        for inner, value in said.items():
            yield from _numbers(str(inner), value)
    elif isinstance(said, list | tuple):
        for value in said:
            yield from _numbers(name, value)
    elif isinstance(said, int | float) and not isinstance(said, bool):
        yield name, said
