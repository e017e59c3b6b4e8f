"""What a stored header may say: the type of every field, checked before anything relies on it."""

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from functools import cache
from itertools import repeat
from typing import Annotated, Any, get_args, get_origin

from jaxtyping import AbstractArray
from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, TypeAdapter, ValidationError

from coupling_core.base.records import Certificate

_STRICT = ConfigDict(strict=True)
_Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Tensor(BaseModel):
    """What a safetensors file says of one of its tensors."""

    model_config = _STRICT
    dtype: str
    shape: list[NonNegativeInt]
    data_offsets: Annotated[list[NonNegativeInt], Field(min_length=2, max_length=2)]


class _Timed(BaseModel):
    model_config = _STRICT
    seconds: _Amount
    load_seconds: _Amount
    peak_memory_bytes: NonNegativeInt
    date: str


class _Provenance(_Timed):
    versions: dict[str, str]


class _Named(BaseModel):
    model_config = _STRICT
    kind: str = ""
    name: str = ""
    digest: str = ""


class _Identity(BaseModel):
    model_config = _STRICT
    kind: str
    name: str
    digest: str


Parts = Mapping[str, type[BaseModel]]
LISTED: Parts = {"provenance": _Timed, "identity": _Named}
"""What lists of results rely on in the fields that are mappings."""
SOUND: Parts = {"provenance": _Provenance, "identity": _Identity}
"""What everything else does."""


def tensors(said: Any) -> dict[str, Tensor]:
    """The tensors of a safetensors header, by name."""
    found: dict[str, Tensor] = _validator(dict[str, Tensor])(said)
    return found


def typed(record: type, header: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a JSON header with the types that its lists and mappings had."""
    item: Any
    found = dict(header)
    for item in fields(record):
        has_default = item.default is not MISSING or item.default_factory is not MISSING
        if not is_array(item) and (item.name in header or not has_default):
            found[item.name] = _typed(item.type, header[item.name])
    return found


def _typed(kind: Any, value: Any) -> Any:
    """A value of JSON as a field of this type has it: a tuple for a list, and certificates."""
    if get_origin(kind) is tuple and isinstance(value, list):
        each = get_args(kind)
        of = repeat(each[0], len(value)) if each[-1] is ... else each
        return tuple(_typed(one, part) for one, part in zip(of, value, strict=True))
    if isinstance(value, dict) and Certificate in (kind, *get_args(kind)):
        return Certificate(**value)
    return value


def require_types(record: type, values: Mapping[str, Any], parts: Parts = LISTED) -> None:
    """Refuse values of other types than a record's fields have; its arrays are left alone.

    What has a default may be missing, and `parts` are the types of what is in mappings. Raises
    `ValueError`, which says of which field and what is wrong.
    """
    if missing := parts.keys() & {item.name for item in fields(record)} - values.keys():
        raise ValueError(f"{min(missing)} is missing")
    item: Any
    for item in fields(record):
        if is_array(item) or item.name not in values:
            continue
        try:
            if part := parts.get(item.name):
                part.model_validate(values[item.name])
            else:
                _validator(item.type)(values[item.name], strict=True)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, (item.name, *first["loc"])))
            raise ValueError(f"{where}: {first['msg'].lower()}") from error


def require_text(said: Any) -> None:
    """Refuse halves of characters, which JSON can spell and no screen or file takes."""
    try:
        json.dumps(said, default=vars, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise ValueError("one of its texts has half a character") from error


def is_array(item: Any) -> bool:
    """Whether a field of a record is an array."""
    return isinstance(item.type, type) and issubclass(item.type, AbstractArray)


@cache
def _validator(expected: Any) -> Callable[..., Any]:
    return TypeAdapter(expected).validate_python
