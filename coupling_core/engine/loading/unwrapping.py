"""Models that other libraries have wrapped round another one, which is the one that is measured.

A wrapper is known by its class and its library by name: none of these libraries is imported. What
PEFT wraps is measured as it is, for its adapters are inside.
"""

from collections.abc import Callable
from typing import Any

from coupling_core.base.errors import InputError
from coupling_core.base.units import counted

_INSIDE = {
    ("torch", "OptimizedModule"): "_orig_mod",
    ("torch", "DataParallel"): "module",
    ("torch", "DistributedDataParallel"): "module",
    ("nnsight", "Envoy"): "_module",
    ("transformer_lens", "TransformerBridge"): "original_model",
}
"""Where a wrapper has the model, by its library and its class."""

_REFUSED = {
    ("torch", "FullyShardedDataParallel"): (
        "its weights lie in pieces: measure inside "
        "`with FullyShardedDataParallel.summon_full_params(model):`, and pass model.module"
    ),
}


def unwrapped(model: Any) -> Any:
    """The model inside of what `torch.compile`, `DataParallel`, nnsight or TransformerLens made.

    Args:
        model: a module, or what wraps one.

    Returns:
        the innermost one; a model that nothing is known to wrap, as it is.

    Raises:
        InputError: where the wrapper has no whole model to give, with what gives one, or means one
            that is not the module inside.
    """
    while (name := _attribute(model)) is not None:
        if name == _INSIDE["nnsight", "Envoy"]:
            _require_plain(model, getattr(model, "interleaver", None))
        model = getattr(model, name)
    return model


def carried_tokenizer(model: Any) -> Any:
    """The tokenizer that a wrapper has beside its model; None where it has none."""
    while (name := _attribute(model)) is not None:
        library = _library(type(model))
        found = getattr(model, "tokenizer", None) if library != "torch" else None
        if found is not None:
            return found
        model = getattr(model, name)
    return None


def carried_reading(model: Any) -> Callable[[str], list[int]] | None:
    """How a wrapper makes token ids of a text, where that is not what its tokenizer alone does.

    TransformerBridge puts the token before it with which a text begins, or takes it away, as its
    `cfg.default_prepend_bos` says.
    """
    while (name := _attribute(model)) is not None:
        if name == _INSIDE["transformer_lens", "TransformerBridge"]:
            return lambda text: list(model.to_tokens(text, truncate=False)[0].tolist())
        model = getattr(model, name)
    return None


def is_of_bridge(module: Any) -> bool:
    """Whether a module is one of those that TransformerBridge puts round the parts of a model."""
    return _library(type(module)) == "transformer_lens"


def require_untraced(module: Any) -> None:
    """Refuse a module that nnsight has round it, and runs just now or has edits of."""
    state = vars(module).get("__nnsight__")
    for route in getattr(state, "routes", ()):
        _require_plain(None, route[0]())


def _require_plain(envoy: Any, interleaver: Any) -> None:
    """Refuse what nnsight does to a model as it runs by nnsight, which no measurement does.

    Inside a trace, and where edits were made for every trace, it raises.
    """
    if getattr(interleaver, "interleaving", False):
        raise InputError(
            "this stands inside a trace of nnsight, whose model is running just now: measure "
            "before or after `with model.trace(...)`. What a trace changes is not measured; "
            "model._module.register_forward_hook on a block makes a change that is"
        )
    others = getattr(interleaver, "envoys", {}).values()
    if n := max(len(getattr(of, "_edits", ())) for of in (envoy, *others)):
        raise InputError(
            f"nnsight has {counted(n, 'edit')} of this model, which only its own traces "
            "make, and the numbers would be those of the model without: pass the model that `edit` "
            "was called on, or after `edit(inplace=True)` call `clear_edits()`. A hook of torch, "
            "by register_forward_hook on a block of model._module, makes a change that is measured"
        )


def _attribute(model: Any) -> str | None:
    for cls in type(model).__mro__:
        known = _library(cls), cls.__name__
        if known in _REFUSED:
            raise InputError(f"the model is a {cls.__name__}: {_REFUSED[known]}")
        if known in _INSIDE:
            return _INSIDE[known]
    return None


def _library(cls: type) -> str:
    return cls.__module__.partition(".")[0]
