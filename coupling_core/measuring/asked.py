"""A request as people write one: a text or token ids, with what else is asked for by name."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypedDict

from coupling_core.base.errors import InputError
from coupling_core.base.folders import expanded
from coupling_core.base.images import read_image
from coupling_core.base.records import (
    Dtype,
    FinalNorm,
    Quantisation,
    Request,
    Stack,
    usual_token,
)
from coupling_core.base.token_ids import token_ids
from coupling_core.measuring.watched import Watching

if TYPE_CHECKING:  # slow to import, and only types need it
    import torch

    Prompt = str | Sequence[int] | torch.Tensor | os.PathLike[str]
else:
    Prompt = Any

DEFAULTS: Mapping[str, Any] = {
    item.name: item.default for item in fields(Request) if item.name != "prompt"
} | {"token": None}
"""What a request says where nobody does; its token goes with the kind and the prompt."""


class Options(TypedDict, total=False):
    """What may be said of a measurement beside its prompt and its kind; see `measure`."""

    model: Any
    token: int | None
    k: int | None
    k_view: int | None
    final_norm: FinalNorm
    revision: str | None
    untrained: int | None
    dtype: "Dtype | torch.dtype"
    quantize: Quantisation | None
    stack: Stack | None
    tokenizer: Any
    variant: str
    device: "str | torch.device | None"
    fast: bool
    progress: Watching


def is_named(model: Any) -> bool:
    """Whether a model is named, by an alias, a hub id or a path, or not at all."""
    return model is None or isinstance(model, str | os.PathLike)


def request_for(prompt: Prompt, model: Any, said: Mapping[str, Any]) -> Request:
    """The request that somebody wrote in parts.

    Raises `InputError` on values that no model could satisfy. A module of somebody's own is not
    named in a request, and a token of None is the usual one.
    """
    named = {"model": model} if is_named(model) and model is not None else {}
    text = prompt_of(prompt)
    if said.get("token") is None:
        said = {**said, "token": usual_token(said.get("kind", Request.kind), text)}
    return Request(text, **{**said, **named})


def require_unsaid(said: Mapping[str, Any], model: Any) -> None:
    """Refuse parts beside a request that has them already."""
    twice = [name for name, value in said.items() if value != DEFAULTS[name]]
    twice += ["model"] * (model is not None and is_named(model))
    if twice:
        raise InputError(
            f"a Request says {', '.join(twice)} itself, and it came beside one: say it in the "
            "Request, or give a text in place of the Request"
        )


def prompt_of(prompt: Prompt) -> str | tuple[int, ...]:
    """A prompt as a request has it: a text, token ids, or an image as a data URI."""
    if isinstance(prompt, str):
        return prompt
    if isinstance(prompt, os.PathLike):
        return read_image(expanded(prompt))
    return token_ids(prompt)
