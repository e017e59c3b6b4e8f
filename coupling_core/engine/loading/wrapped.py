"""A module that is no model of transformers, in the form in which models are measured.

What is not known of such a module is said by whoever hands it over: which of its parts are the
blocks, and how it is run on token ids. What can be found out is found out, as of any model:
whether the blocks are those of a residual stream and run in this order, whether they are causal,
which norm comes after the last of them, and whether their Jacobians are right.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from jaxtyping import Int
from torch import Tensor, nn
from torch.jit import ScriptModule

from coupling_core.base.errors import InputError
from coupling_core.engine.loading.unwrapping import require_untraced, unwrapped

Blocks = nn.ModuleList | nn.Sequential | nn.ModuleDict | Sequence[nn.Module]
Forward = Callable[[Any, Int[Tensor, "1 token"]], Any]


_LISTS = (nn.ModuleList, nn.Sequential, nn.ModuleDict)


class _NoConfig:
    """Stands where models of transformers have a config, and says nothing."""

    is_encoder_decoder = False

    def get_text_config(self) -> "_NoConfig":
        """The part of it about texts."""
        return self


@dataclass(frozen=True)
class Output:
    """What a wrapped module gave.

    Args:
        logits: (1 token vocabulary), of the last token alone where its forward asks for no others;
            None without a head.
    """

    logits: Tensor | None


class Wrapped(nn.Module):
    """A module with what `wrap` was told of it.

    Args:
        module: the user's own.
        blocks: of the residual stream, in the order in which they run.
        final_norm: the norm after the last block; None where none is named.
        run: runs the module on token ids.
    """

    config = _NoConfig()
    main_input_name = "input_ids"

    def __init__(
        self, module: nn.Module, blocks: nn.ModuleList, final_norm: nn.Module | None, run: Forward
    ) -> None:
        super().__init__()
        self.module, self.blocks, self.final_norm = module, blocks, final_norm
        self.run = run

    @property
    def left_out(self) -> list[nn.Module]:
        """Blocks that stand in one list with those handed over, and were not.

        Of the same class, for a list may hold embeddings and norms too.
        """
        blocks, kinds = set(self.blocks), {type(block) for block in self.blocks}
        lists = (part for part in self.module.modules() if isinstance(part, _LISTS))
        members = ([unwrapped(member) for member in part.children()] for part in lists)
        shared = (each for each in members if not blocks.isdisjoint(each))
        others = [one for each in shared for one in each if one not in blocks]
        return [one for one in others if type(one) in kinds]

    def forward(self, input_ids: Int[Tensor, "sequence token"], use_cache: bool = False) -> Output:
        """Run the module; whatever it keeps of the tokens that it read is not looked at."""
        with self._watched() as seen:
            found = self.run(self.module, input_ids)
        return Output(_logits(found, input_ids.shape[1], seen))

    def __repr__(self) -> str:
        norm = type(self.final_norm).__name__ if self.final_norm else "to be found"
        n = len(self.blocks)
        blocks = f"{n} block{'s' * (n > 1)}, final norm: {norm}"
        return f"Wrapped({type(self.module).__name__}, {blocks})"

    @contextmanager
    def _watched(self) -> Iterator["_Seen"]:
        """Note what a head could be told from states by."""
        seen = _Seen()
        inside = {part for block in self.blocks for part in block.modules()}
        outside = [part for part in self.module.modules() if part not in inside]
        handles = [part.register_forward_hook(seen.head) for part in outside if _has_matrix(part)]
        handles.append(self.blocks[-1].register_forward_hook(seen.states))
        try:
            yield seen
        finally:
            for handle in handles:
                handle.remove()


def wrap(
    module: Any,
    *,
    blocks: Blocks | Any,
    final_norm: nn.Module | Any = None,
    forward: Forward | None = None,
) -> Wrapped:
    """Say of a module of your own, which is no model of transformers, how it is measured.

    What this returns is taken wherever a model is: `measure(..., model=...)`, `read`. Nothing of
    the module is changed. Block l must take x^{l-1} (1 token d) first and give x^l of the same
    shape, alone or first of a tuple, and each must take what the one before it gave: that is
    checked when they run, and so is all else that is checked of any model.

    Args:
        module: the whole model, an `nn.Module`, with whatever comes before and after its blocks;
            what `torch.compile`, `DataParallel` or nnsight made of one too.
        blocks: the blocks of its residual stream, in the order in which they run: an
            `nn.ModuleList`, `nn.Sequential`, `nn.ModuleDict`, or a list; nnsight's envoys of them
            too. They may be some of them that follow one another, such as `gpt.blocks[:4]`: without
            the last one they are measured without a final norm, and are numbered from 1.
        final_norm: the norm that it applies to the last block's output at all tokens (paper,
            Eq. 7); None finds it out, as of any model.
        forward: runs the module on token ids (1 token), int64; None calls the module with them. It
            gives the logits (1 token vocabulary), alone, first of a tuple, or as `logits`; anything
            else where the module has no head.

    Raises:
        InputError: where the blocks are no modules, or one is named twice.
    """
    module, final_norm = unwrapped(module), unwrapped(final_norm)
    return Wrapped(module, _listed(blocks), final_norm, forward or _call)


def measurable(model: Any) -> Any:
    """The model that is measured of what somebody hands over, without what is wrapped round it."""
    model = unwrapped(model)
    if not isinstance(model, nn.Module):
        raise InputError(
            f"the model is {_kind(model)}: expected its name, folder or file as a text, a model of "
            "transformers, or a torch.nn.Module that was given to wrap"
        )
    for name, module in model.named_modules():
        if isinstance(module, ScriptModule):
            raise InputError(
                f"{name or 'the model'} is TorchScript, which cannot be looked into: pass the "
                "model as it was before torch.jit.script or torch.jit.trace"
            )
    require_untraced(model.module if isinstance(model, Wrapped) else model)
    if not has_config(model) and "input_ids" not in inspect.signature(model.forward).parameters:
        raise not_told(model)
    return model


def has_config(model: nn.Module) -> bool:
    """Whether a module has a config as models of transformers do."""
    return hasattr(getattr(model, "config", None), "get_text_config")


def not_told(model: nn.Module) -> InputError:
    """What to say of a module that is no model of transformers and was not given to `wrap`."""
    return InputError(
        f"{class_name(model)} is no model of transformers, and what its blocks are is not known: "
        "pass coupling_core.wrap(model, blocks=model.blocks, forward=lambda m, ids: m(ids)), with "
        "its own names"
    )


def class_name(model: Any) -> str:
    """What a model's class is called; of a wrapped module, that of the module itself."""
    return type(model.module if isinstance(model, Wrapped) else model).__name__


class _Seen:
    """What was met on the way to a module's output."""

    def __init__(self) -> None:
        self.width = 0
        self.of_heads: list[Tensor] = []

    def states(self, module: nn.Module, args: Any, output: Any) -> None:
        first = _first(output)
        self.width = first.shape[-1] if isinstance(first, Tensor) and first.ndim else 0

    def head(self, module: nn.Module, args: Any, output: Any) -> None:
        if isinstance(output, Tensor):
            self.of_heads.append(output)


def _call(module: Any, ids: Int[Tensor, "1 token"]) -> Any:
    return module(ids)


def _listed(blocks: Any) -> nn.ModuleList:
    blocks = unwrapped(blocks)
    if isinstance(blocks, Mapping | nn.ModuleDict):
        blocks = blocks.values()
    found = [unwrapped(block) for block in blocks]
    are_blocks = all(
        isinstance(block, nn.Module) and not isinstance(block, nn.ModuleList | nn.ModuleDict)
        for block in found
    )
    if not are_blocks or not 0 < len({*map(id, found)}) == len(found):
        raise InputError(
            "blocks are the modules of the residual stream themselves, each once, in one list and "
            "in order, as in wrap(model, blocks=model.layers); blocks that share their weights "
            "cannot be told apart"
        )
    return nn.ModuleList(found)


def _logits(found: Any, n: int, seen: _Seen) -> Tensor | None:
    """What a head gave; states as such, and anything else, are none."""
    logits = getattr(found, "logits", None)
    if isinstance(found, Mapping):
        logits = found.get("logits")
    elif isinstance(found, Tensor | tuple | list):
        logits = _first(found)
        if isinstance(logits, Tensor) and logits.shape[-1:] == (seen.width,):
            # As wide as a state: logits only if a matrix outside the blocks made them.
            logits = logits if any(logits is each for each in seen.of_heads) else None
    if not (isinstance(logits, Tensor) and logits.ndim == 3 and logits.shape[1] in (1, n)):
        return None
    return logits if logits.is_floating_point() else None


def _first(output: Any) -> Any:
    return output[0] if isinstance(output, tuple | list) and output else output


def _has_matrix(module: nn.Module) -> bool:
    return any(p is not None and p.ndim > 1 for p in module._parameters.values())


def _kind(value: Any) -> str:
    """What a value is, with its article."""
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"
