"""Every field of a model's config changed, one at a time, and what a store would say to it."""

import copy
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import tiny

from coupling_core import Request, measure
from coupling_core.engine.loading.content import content

FAMILIES = (
    "llama", "gemma3", "bert", "gpt2", "gpt_neox", "mistral", "mixtral", "falcon_rw", "phi3",
    "granite", "cohere", "t5", "opt", "llama3",
)  # fmt: skip
WAYS = ("rebuilt", "restored", "live")
"""A model built from the changed config with the same weights; the same, with the config put back
as it was, so that only its modules tell; the config changed under a model that is there."""

REQUEST = Request((5, 17, 42, 8), k=4, k_view=4)
_HIDDEN = ("_attn_implementation", "_experts_implementation")


def mutated(value: Any) -> Any:
    """Another value of the same kind."""
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case float():
            return value * 1.5 + 0.25
        case str():
            others = {"silu": "relu", "gelu": "relu", "gelu_new": "relu", "sdpa": "eager"}
            return others.get(value, f"{value}x")
        case list() if value:
            return [*value[:-1], mutated(value[-1])]
        case dict() if value:
            return {name: mutated(each) for name, each in value.items()}
    return 1


def outcomes(family: str, way: str) -> Counter[str]:
    """How often a changed field gave a new key, the same numbers, or no model; or wrong numbers."""
    model = tiny.model(family)
    key, found = content(model).digest, Counter[str]()
    expected: Any = None
    for name, other in _models(model, way):
        if other is None:
            found["no such model"] += 1
        elif content(other).digest != key:
            found["new key"] += 1
        else:
            expected = _numbers(model) if expected is None else expected
            same = np.allclose(_numbers(other), expected, rtol=0, atol=1e-6)
            found["same numbers" if same else f"WRONG: {name}"] += 1
    return found


def _models(model: Any, way: str) -> Iterator[tuple[str, Any]]:
    for name in (*model.config.to_dict(), *_HIDDEN):
        before = getattr(model.config, name, None)
        halves = [2 * before, before // 2] if type(before) is int else []
        built = (_model(model, way, name, value) for value in (mutated(before), *halves))
        yield name, next((each for each in built if each is not None), None)


def _model(model: Any, way: str, name: str, value: Any) -> Any:
    """The model with a field of its config changed; None where its weights fit none such."""
    before = getattr(model.config, name, None)
    other = copy.deepcopy(model)
    try:
        setattr(other.config, name, value)
        if way != "live":
            other = type(model)._from_config(copy.deepcopy(other.config), dtype=model.dtype).eval()
            other.load_state_dict(model.state_dict())
        if way == "restored":
            setattr(other.config, name, before)
    except Exception:  # of any kind: the library says in many ways that a config is none
        return None
    return other.requires_grad_(False)


def _numbers(model: Any) -> Any:
    found = measure(REQUEST, model=model)
    return np.concatenate([found.singular_values[:, :8].ravel(), found.jacobian_norm.ravel()])
