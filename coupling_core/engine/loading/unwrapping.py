"""Models that other libraries have wrapped round another one, which is the one that is measured.

A wrapper is known by its class and its library by name: none of these libraries is imported. What
PEFT wraps is measured as it is, for its adapters are inside.
"""

from typing import Any

from coupling_core.base.errors import InputError

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
        InputError: where the wrapper has no whole model to give, with what gives one.
    """
    while (name := _attribute(model)) is not None:
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
