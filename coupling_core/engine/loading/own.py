"""A model of the user's own, already in memory."""

import hashlib
import json
from dataclasses import fields, replace
from typing import Any

import torch
from torch import nn

from coupling_core.base.errors import InputError
from coupling_core.base.records import OWN, Request
from coupling_core.engine.loading.content import content
from coupling_core.engine.loading.loaded import LoadedModel
from coupling_core.engine.loading.offloaded import device_of
from coupling_core.engine.loading.unwrapping import carried_reading, carried_tokenizer, unwrapped
from coupling_core.engine.loading.wrapped import class_name, has_config, measurable, not_told
from coupling_core.sources.identity_form import FORM

_OF_LOADING = ("model", "revision", "untrained", "dtype", "quantize")
"""What a request says of a model that is loaded here."""
_HOOK, _REPLACED = "a hook on ", " was replaced "
"""How places of code of one's own are told that was put on a module."""
_TOLD = 3
"""Places that are named."""


def as_loaded(model: Any, tokenizer: Any) -> LoadedModel:
    """Take a model of the user's own, in any precision, quantised by bitsandbytes or not.

    Args:
        model: a model of transformers, what `wrap` returns, or what wraps one of these.
        tokenizer: its own; None takes the one that a wrapper has beside the model, if it has one.

    Raises:
        InputError: where it is none of these.
    """
    reading = carried_reading(model) if tokenizer is None else None
    tokenizer = carried_tokenizer(model) if tokenizer is None else tokenizer
    model = measurable(model)
    if not has_config(model):
        raise not_told(model)
    dtypes = {p.dtype for p in model.parameters() if p.is_floating_point()}
    shown = ", ".join(sorted(str(dtype).removeprefix("torch.") for dtype in dtypes))
    device = device_of(model)
    return LoadedModel(model, tokenizer, device, dtype=shown, own=True, reading=reading)


def request_of(request: Request, model: Any, variant: str = "") -> Request:
    """The request as it is met by a model of the user's own, whose class it names.

    Raises `InputError` where it asks for a model that is loaded here, or for a change of one.
    """
    named = OWN + _name(unwrapped(model), variant)
    defaults = {item.name: item.default for item in fields(Request)}
    given = [
        f"{name}={value!r}"
        for name in _OF_LOADING
        if (value := getattr(request, name)) not in (defaults[name], named)
    ]
    if given:
        raise InputError(
            f"a module of one's own is measured as it is, and {', '.join(given)} asks for another "
            "model: leave that out, or leave out the module"
        )
    return replace(request, model=named)


def describe(
    loaded: LoadedModel, request: Request, variant: str = "", *, hashed: bool = True
) -> tuple[dict[str, Any], str]:
    """Identity of a model of the user's own, and why it has none that could be stored by.

    Args:
        loaded: the model with its tokenizer, as they are about to be used.
        request: whose prompt is read.
        variant: what was done to it, in the user's words, which stand for code of the user's own.
        hashed: whether all that decides its numbers is looked at.

    Returns:
        kind, name (with what was done to the module, where nobody named that), and if `hashed` what
        its content and what is read of the prompt come to; and where code of the user's own runs in
        it, "" for nowhere.
    """
    found = content(loaded.model, tensors=hashed)
    name = _name(loaded.model, variant) + ("" if variant else _changed(found.foreign))
    identity: dict[str, Any] = {"kind": "object", "name": name, "digest": "", "form": FORM}
    if not hashed:
        return identity, ""
    identity |= {"digest": found.digest, "reads": _reads(loaded, request)}
    identity |= {"variant": variant} if variant else {}
    return identity, "" if variant else _told(found.foreign)


def own_name(model: Any, variant: str = "") -> str:
    """What a module of the user's own is called: its class, and in brackets what was done to it."""
    inside = unwrapped(model)
    looked_at = isinstance(inside, nn.Module) and not variant
    foreign = content(inside, tensors=False).foreign if looked_at else ()
    return _name(inside, variant) + _changed(foreign)


def own_code(model: nn.Module) -> str:
    """Where code that no library wrote runs in a model, in words; "" for nowhere."""
    return _told(content(model, tensors=False).foreign)


def _told(foreign: tuple[str, ...]) -> str:
    """The first places of all where code of one's own runs; a wrapper's may be in every module.

    Hooks come first, which people know that they have put there.
    """
    ordered = sorted(foreign, key=lambda one: not one.startswith(_HOOK))
    more = len(foreign) - _TOLD
    return "; ".join(ordered[:_TOLD]) + f"; and {more} more" * (more > 0)


def _changed(foreign: tuple[str, ...]) -> str:
    """What of one's own was put on a module, in brackets behind its name; "" for nothing."""
    hooks = sum(one.startswith(_HOOK) for one in foreign)
    told = [_counted_hooks(hooks)] if hooks else []
    told += ["with replaced code"] if any(_REPLACED in one for one in foreign) else []
    return f" ({' and '.join(told)})" if told else ""


def _counted_hooks(n: int) -> str:
    return "with a hook" if n == 1 else f"with {n} hooks"


def _name(model: Any, variant: str) -> str:
    return class_name(model) + f" ({variant})" * bool(variant)


def _reads(loaded: LoadedModel, request: Request) -> str:
    """sha256 of what the model is given of the prompt, and of the names of all tokens."""
    reads = loaded.encode(request.prompt)
    digest = hashlib.sha256()
    if isinstance(reads, torch.Tensor):
        digest.update(str(tuple(reads.shape)).encode() + reads.contiguous().numpy().tobytes())
    else:
        digest.update(json.dumps([reads, loaded.vocabulary()]).encode())
    return digest.hexdigest()
