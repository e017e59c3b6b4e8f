"""All that decides what a module computes: its tensors, its settings, and the code that runs.

Settings are whatever its submodules and its configuration hold: numbers, texts and lists of them,
which adapters are active and at what scale, which implementation attends. Code of installed
libraries is known by its name. Code of one's own (a hook, a patched forward, a class in a notebook)
cannot be known, and is told.
"""

import dataclasses
import hashlib
import json
import sys
from collections.abc import Mapping, Set
from enum import Enum
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules import module as hooks_of_all
from transformers import PretrainedConfig
from transformers.integrations.moe import ALL_EXPERTS_FUNCTIONS
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from coupling_core.engine.loading import code
from coupling_core.engine.loading.offloaded import MOVING, Bringing, only_moves
from coupling_core.engine.loading.unwrapping import is_of_bridge

_OF_MODULES = frozenset(vars(nn.Module()))
"""What every module has; what of it matters is looked at by name."""
_HOOKS = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")
_IDLE = frozenset(
    {
        *("name_or_path", "_name_or_path", "base_model_name_or_path", "_commit_hash"),
        *("transformers_version", "warnings_issued", "generation_config", "_is_hf_initialized"),
        *("_output_capturing_hooks_installed", "tied_params_map"),
        *("tied_pointers_to_remove", "original_devices", "_conversion_state"),
    }
)
"""What models, their configurations and hooks hold that changes no number: where they came from,
and where they lie."""
_BRIDGE = "transformer_lens.model_bridge.generalized_components."
_NOTED = frozenset(
    {
        *("_pattern", "_current_batch_size", "_suppress_next_hook_in", "_fired_hook_out"),
        *("_capture_hook_handles", "_capture_hooks_wired"),
    }
)
"""What modules of a TransformerLens bridge note as something runs through them: it changes no
number of what runs next."""
_WATCHING = ("transformers.utils.output_capturing", f"{_BRIDGE}block")
"""Leave hooks on a model that look at its states, and change none: what a bridge's own hooks do to
them stands in its hook points."""
_LENDING = "nnsight.intervention.source"
"""Replaces the forward of modules by one that lends what goes through it to an intervention."""
_LENT = "__nnsight__"
"""Where a module keeps what that one knows of it."""
_ENTRIES = ("forward", "__call__", "_call_impl", "_slow_forward")


@dataclasses.dataclass(frozen=True)
class Content:
    """What was found.

    Args:
        digest: sha256 of all that can be told.
        foreign: where code of one's own runs in it, in words; none where all is told.
    """

    digest: str
    foreign: tuple[str, ...]


def content(model: nn.Module, *, tensors: bool = True) -> Content:
    """Look at all that decides what a module computes.

    Args:
        model: as it is about to be measured.
        tensors: whether its weights are read; without them the digest tells no models apart.
    """
    found = _Reader(tensors, Bringing(model))
    found.functions(torch)
    found.functions(nn.functional)
    hooks = [getattr(hooks_of_all, f"_global{name}") for name in _HOOKS]
    told = [found.read(model), [found.hooks("all modules", each) for each in hooks]]
    digest = hashlib.sha256(json.dumps(told).encode()).hexdigest()
    return Content(digest, tuple(dict.fromkeys(found.foreign)))


class _Reader:
    """Turns values into lists and texts, each object once."""

    def __init__(self, tensors: bool, bring: Bringing) -> None:
        self.tensors, self.bring = tensors, bring
        self.foreign: list[str] = []
        self._seen: dict[int, tuple[int, Any]] = {}  # holds what it saw, lest a number come again
        self._classes: set[type] = set()
        self._files: set[str] = set()
        self._path: list[str] = []

    def read(self, value: Any) -> Any:
        """A value as JSON can hold it."""
        match value:
            case None | bool() | int() | str():
                return [type(value).__name__, value]
            case float() | complex() | bytes() | range() | slice() | np.generic() | torch.dtype():
                return [type(value).__name__, repr(value)]
            case ModuleType():
                return value.__name__
            case torch.device():
                return None  # where something is computed decides nothing
        if id(value) in self._seen:
            return ["seen", self._seen[id(value)][0]]
        self._seen[id(value)] = len(self._seen), value
        match value:
            case Tensor() | np.ndarray():
                return self._tensor(value)
            case nn.Module():
                return self._module(value)
            case Mapping():
                pairs = [[self.read(key), self._at(key, each)] for key, each in value.items()]
                return [type(value).__name__, pairs]
            case list() | tuple():
                return [type(value).__name__, [self._at(i, each) for i, each in enumerate(value)]]
            case Set():
                return ["set", sorted(json.dumps(self.read(each)) for each in value)]
            case PretrainedConfig():
                return self._config(value)
        return self._code(value) if callable(value) else self._object(value)

    def hooks(self, where: str, hooks: Mapping[int, Any]) -> list[Any]:
        """What runs before or after a module; what only watches is left out."""
        told = []
        for hook in hooks.values():
            if name := code.foreign(hook):
                self.foreign.append(f"a hook on {where} ({name})")
            elif code.home(hook) not in _WATCHING:
                told.append(self._code(hook))
        return told

    def functions(self, module: ModuleType | None) -> None:
        """Look for functions of a file that are not as they were written."""
        if module is not None and module.__name__ not in self._files:
            self._files.add(module.__name__)
            for part, value in code.replaced(module):
                self.foreign.append(f"{part} was replaced ({code.foreign(value)})")

    def _at(self, name: Any, value: Any) -> Any:
        self._path.append(str(name))
        try:
            return self.read(value)
        finally:
            self._path.pop()

    def _where(self) -> str:
        return ".".join(self._path) or "the model"

    def _module(self, module: nn.Module) -> Any:
        own = vars(module)
        hooked = [self.hooks(self._where(), own[name]) for name in _HOOKS]
        held = {name: each for name, each in own.items() if name not in _OF_MODULES | _IDLE}
        if is_of_bridge(module):
            # What is set anew, as hooks are that come and go, has another place among the others.
            held = {name: held[name] for name in sorted(held) if name not in _NOTED}
        if only_moves(module, held.get("forward")):
            held = {name: held[name] for name in held if name not in ("forward", *MOVING)}
        if _only_watches(module, held.get("forward")):
            del held["forward"], held[_LENT]
        patched = [self._patch(module, name, held.pop(name)) for name in _patches(module, held)]
        parts = [
            {name: self._at(name, each) for name, each in part.items()}
            for part in (own["_parameters"], own["_buffers"], held, own["_modules"])
        ]
        return [self._class(type(module)), hooked, patched, parts]

    def _patch(self, module: nn.Module, name: str, value: Any) -> Any:
        """An attribute that stands in the way of a method of the module's class."""
        if name in _ENTRIES or code.foreign(value):
            told = code.foreign(value) or f"{_name(value)}, put there later"
            self.foreign.append(f"{self._where()}.{name} was replaced ({told})")
            return [name, told]
        return [name, self._code(value)]

    def _class(self, cls: type) -> Any:
        """A class by its name, and by what of it, or of its file, is not as it was written."""
        name = f"{cls.__module__}.{cls.__qualname__}"
        if cls in self._classes:
            return name
        self._classes.add(cls)
        if not code.is_installed(cls.__module__):
            self.foreign.append(f"{self._where()} is of a class of one's own ({name})")
            return name
        told = []
        for base in cls.__mro__[:-1]:
            self.functions(sys.modules.get(base.__module__))
        for part, value in code.changed(cls):
            if other := code.foreign(value):
                self.foreign.append(f"{part} was replaced ({other})")
            told.append([part, [_name(each) for each in code.layers(value)]])
        return [name, told]

    def _config(self, config: Any) -> Any:
        held = {name: each for name, each in vars(config).items() if name not in _IDLE}
        for name, known in (
            ("_attn_implementation", ALL_ATTENTION_FUNCTIONS),
            ("_experts_implementation", ALL_EXPERTS_FUNCTIONS),
        ):
            chosen = getattr(config, name, None)
            function = known.get(chosen) if isinstance(chosen, str) and chosen in known else None
            if function is not None and (own := code.foreign(function)):
                self.foreign.append(f"the implementation {chosen!r} is one's own ({own})")
        return [type(config).__qualname__, {name: self._at(name, x) for name, x in held.items()}]

    def _code(self, value: Any) -> Any:
        """Something that can be called: its name, and the settings that it carries."""
        if name := code.foreign(value):
            self.foreign.append(f"{self._where()} runs {name}")
            return name
        parts = []
        for each in code.layers(value):
            bound = getattr(each, "__self__", None)
            settings = [*getattr(each, "args", ()), *getattr(each, "keywords", {}).items()]
            parts.append([_name(each), self.read(bound), self.read(settings)])
        plain = hasattr(value, "__qualname__") or not hasattr(value, "__dict__")
        return parts if plain else [parts, self.read(vars(value))]

    def _object(self, value: Any) -> Any:
        cls = type(value)
        name = f"{cls.__module__}.{cls.__qualname__}"
        if not code.is_installed(cls.__module__):
            self.foreign.append(f"{self._where()} is of a class of one's own ({name})")
        if isinstance(value, Enum):
            return [name, value.name]
        if not hasattr(value, "__dict__"):
            shown = repr(value)
            return [name, "" if " at 0x" in shown else shown]
        held = {n: each for n, each in vars(value).items() if n not in _IDLE}
        return [name, {n: self._at(n, each) for n, each in held.items()}]

    def _tensor(self, value: Any) -> Any:
        told = [str(value.dtype), list(value.shape)]
        if not self.tensors:
            return told
        if isinstance(value, np.ndarray):
            return [*told, hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()]
        extra = {} if type(value) in (Tensor, nn.Parameter, nn.Buffer) else vars(value)
        return [*told, self._bytes(value), {n: self._at(n, each) for n, each in extra.items()}]

    def _bytes(self, tensor: Tensor) -> str:
        try:
            flat = self.bring(tensor).detach().cpu().contiguous().flatten().view(torch.uint8)
            return hashlib.sha256(flat.numpy().data).hexdigest()
        except (NotImplementedError, RuntimeError, TypeError):
            self.foreign.append(f"{self._where()} is a tensor whose content cannot be read")
            return ""


def _patches(module: nn.Module, held: Mapping[str, Any]) -> list[str]:
    """Attributes of a module under names that its class has methods of."""
    cls = type(module)
    return [name for name, value in held.items() if callable(value) and hasattr(cls, name)]


def _only_watches(module: nn.Module, forward: Any) -> bool:
    """Whether nnsight has put its own forward before the module's, and edits nothing in it.

    Its interventions are of its own calls; a module that is called by itself computes as before,
    also where nnsight has made what runs anew of the module's own, to lend what is inside.
    """
    state = vars(module).get(_LENT)
    if not type(forward).__module__ == type(state).__module__ == _LENDING:
        return False
    own = type(module).forward
    runs, before = (getattr(state, name, None) for name in ("body", "original"))
    return runs is own or (getattr(state, "sourced", False) and before is own)


def _name(function: Any) -> str:
    return f"{code.home(function)}.{getattr(function, '__qualname__', type(function).__qualname__)}"
