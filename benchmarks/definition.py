"""Jacobians as the definition reads, by a way that shares nothing with the engine.

The whole sequence runs once, in true float64, through the live model; each block is given its
states as a leaf, and rows are taken from the graph that its own call left.
"""

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from coupling_core.engine.jacobians import true_float64
from coupling_core.engine.loading import find_blocks, find_stacks

NORM_TOLERANCE = 0.05
"""What an epsilon beside small states leaves; a mixture leaves half of the norm and more."""


class Definition:
    """J^l_{t1 t2} of a model's blocks over a whole prompt.

    `states`: what each block is given, in place of what it would get; as `leaves` of another.
    """

    def __init__(
        self,
        model: nn.Module,
        inputs: dict[str, Tensor],
        stack: Any = None,
        *,
        dtype: torch.dtype = torch.float64,
        states: Sequence[Tensor] = (),
    ) -> None:
        self.dtype = dtype
        self.leaves: list[Tensor] = []
        self._outputs: list[Tensor] = []
        self._normed: list[Any] = []
        self._states = iter(states)
        self._gradients = cache(self._pulled_back)
        model = copy.deepcopy(model).to(dtype).requires_grad_(True)
        for module in model.modules():  # the default has no kernel in float64
            if hasattr(getattr(module, "config", None), "_experts_implementation"):
                module.config._experts_implementation = "eager"
        self._blocks = find_blocks(model, stack)
        inputs = {
            name: value.to(dtype) if torch.is_tensor(value) and value.is_floating_point() else value
            for name, value in inputs.items()
        }
        with torch.enable_grad(), self._exactly(), self._hooked(model):
            model(**inputs)
        for output in self._normed:  # from the inside to the outside
            self._take_norm(output)

    @contextmanager
    def _hooked(self, model: nn.Module) -> Iterator[None]:
        """Blocks are given leaves, and noted is what comes of them and what is made of the last."""
        inside = {part for block in self._blocks for part in block.modules()}
        handles = []
        for module in model.modules():
            holds_blocks = any(part is self._blocks for part in module.children()) or (
                len(find_stacks(module)) == 1 and find_blocks(module) is self._blocks
            )
            if holds_blocks:
                handles.append(module.register_forward_hook(self._at_the_end))
            elif module not in inside and not any(module.children()):
                handles.append(module.register_forward_hook(self._behind_the_last))
        for block in self._blocks:
            handles.append(block.register_forward_pre_hook(self._before, with_kwargs=True))
            handles.append(block.register_forward_hook(self._after))
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _before(self, module: nn.Module, args: Any, kwargs: Any) -> Any:
        given = args[0] if args else kwargs["hidden_states"]
        leaf = next(self._states, given).detach().to(self.dtype, copy=True).requires_grad_()
        self.leaves.append(leaf)
        shown = leaf.clone()
        return ((shown, *args[1:]), kwargs) if args else (args, kwargs | {"hidden_states": shown})

    def _after(self, module: nn.Module, args: Any, output: Any) -> None:
        self._outputs.append(output[0] if isinstance(output, tuple | list) else output)

    def _at_the_end(self, module: nn.Module, args: Any, output: Any) -> None:
        self._normed.append(output)

    def _behind_the_last(self, module: nn.Module, args: Any, output: Any) -> None:
        if len(self._outputs) == len(self._blocks) and args and args[0] is self._outputs[-1]:
            self._normed.append(output)

    def _take_norm(self, output: Any) -> None:
        """The last block's output as the model hands it on, where that is a state of each token."""
        found = getattr(output, "last_hidden_state", output)
        last = self._outputs[-1]
        if isinstance(found, Tensor) and found.shape == last.shape and found.requires_grad:
            if _is_norm_of(last[0].detach(), found[0].detach()):
                self._outputs[-1] = found

    @contextmanager
    def _exactly(self) -> Iterator[None]:
        """In its precision throughout, also what a model's code makes in the default one."""
        usual = torch.get_default_dtype()
        torch.set_default_dtype(self.dtype)
        try:
            with true_float64.TrueFloat64() if self.dtype == torch.float64 else nullcontext():
                yield
        finally:
            torch.set_default_dtype(usual)

    def jacobian(self, block: int, input_token: int, output_token: int) -> Tensor:
        """J^l_{t1 t2}; blocks and tokens from 1."""
        J = self._gradients(block, output_token)[:, input_token - 1]
        return J - torch.eye(len(J), dtype=J.dtype) if input_token == output_token else J

    def _pulled_back(self, block: int, output_token: int) -> Tensor:
        """Those of one output token of a block by all input tokens (d token d)."""
        x, y = self.leaves[block - 1], self._outputs[block - 1][0, output_token - 1]
        unit = torch.eye(len(y), dtype=y.dtype)
        with self._exactly():
            (rows,) = torch.autograd.grad(y, x, unit, retain_graph=True, is_grads_batched=True)
        return rows[:, 0]


def _is_norm_of(raw: Tensor, found: Tensor) -> bool:
    """Whether states are others, normed: up to a scale and a shift an entry, for all tokens alike.

    Some models hand on a mixture of what all blocks gave, of which none is the last block's own.
    Others norm the parts of a wide state one by one.
    """
    n, parts = len(raw), [2**i for i in range(6) if raw.shape[1] % 2**i == 0]
    normed = [x.reshape(n, p, -1) for x in (raw, raw - raw.mean(1, keepdim=True)) for p in parts]
    for x in normed:
        z = (x / x.square().mean(2, keepdim=True).sqrt()).reshape(n, -1)
        columns = torch.stack([z.T, torch.ones_like(z.T)], -1)  # (d, token, 2)
        fitted = columns @ torch.linalg.lstsq(columns, found.T[..., None]).solution
        if n > 2 and bool((fitted[..., 0].T - found).norm() <= NORM_TOLERANCE * found.norm()):
            return True
    return False
