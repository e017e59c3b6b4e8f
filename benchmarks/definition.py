"""Jacobians as the definition reads, by a way that shares nothing with the engine.

The whole sequence runs once, in true float64, through the live model; each block is given its
states as a leaf, and rows are taken from the graph that its own call left.
"""

import copy
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from coupling_core.engine.jacobians import true_float64
from coupling_core.engine.loading import find_blocks, find_stacks

NORM_TOLERANCE = 0.05
"""What an epsilon beside small states leaves; a mixture leaves half of the norm and more."""


class Definition:
    """J^l_{t1 t2} of a model's blocks over a whole prompt.

    Args:
        model: in evaluation mode.
        inputs: what it is called with.
        stack: of an encoder-decoder model.
        dtype: to compute in.
        states: what each block is given, in place of what it would get; as `leaves` of another.
        final_norm: whether what the model does to the last block's output belongs to that block.
    """

    def __init__(
        self,
        model: nn.Module,
        inputs: dict[str, Tensor],
        stack: Any = None,
        *,
        dtype: torch.dtype = torch.float64,
        states: list[Tensor] | None = None,
        final_norm: bool = True,
    ) -> None:
        self.dtype = dtype
        self.model = copy.deepcopy(model).to(dtype).requires_grad_(True)
        for module in self.model.modules():  # the default has no kernel in float64
            if hasattr(getattr(module, "config", None), "_experts_implementation"):
                module.config._experts_implementation = "eager"
        self.blocks = find_blocks(self.model, stack)
        holding = [
            module
            for module in self.model.modules()
            if any(part is self.blocks for part in module.children())
            or (len(find_stacks(module)) == 1 and find_blocks(module) is self.blocks)
        ]
        self.leaves: list[Tensor] = []
        self.states = iter(states or ())
        self.outputs: list[Tensor] = []
        normed: list[Any] = []
        inputs = {
            name: value.to(dtype) if torch.is_tensor(value) and value.is_floating_point() else value
            for name, value in inputs.items()
        }
        handles = [
            module.register_forward_hook(lambda m, a, output: normed.append(output))
            for module in holding
        ]
        for block in self.blocks:
            handles.append(block.register_forward_pre_hook(self._before, with_kwargs=True))
            handles.append(block.register_forward_hook(self._after))
        try:
            with torch.enable_grad(), self._exactly():
                self.model(**inputs)
        finally:
            for handle in handles:
                handle.remove()
        if final_norm:
            for output in normed:  # from the inside to the outside
                self._take_norm(output)

    def _before(self, module: nn.Module, args: Any, kwargs: Any) -> Any:
        given = args[0] if args else kwargs["hidden_states"]
        leaf = next(self.states, given).detach().to(self.dtype, copy=True).requires_grad_()
        self.leaves.append(leaf)
        shown = leaf.clone()
        return ((shown, *args[1:]), kwargs) if args else (args, kwargs | {"hidden_states": shown})

    def _after(self, module: nn.Module, args: Any, output: Any) -> None:
        self.outputs.append(output[0] if isinstance(output, tuple | list) else output)

    def _take_norm(self, output: Any) -> None:
        """The last block's output as the model hands it on, where that is a state of each token."""
        found = getattr(output, "last_hidden_state", None)
        last = self.outputs[-1]
        if not (isinstance(found, Tensor) and found.shape == last.shape and found.requires_grad):
            return
        if _is_norm_of(last[0].detach(), found[0].detach()):
            self.outputs[-1] = found

    def _exactly(self) -> Any:
        return true_float64.TrueFloat64() if self.dtype == torch.float64 else nullcontext()

    def jacobian(self, block: int, input_token: int, output_token: int) -> Tensor:
        """J^l_{t1 t2}; blocks and tokens from 1."""
        x, y = self.leaves[block - 1], self.outputs[block - 1][0, output_token - 1]
        unit = torch.eye(len(y), dtype=y.dtype)
        with self._exactly():
            (rows,) = torch.autograd.grad(y, x, unit, retain_graph=True, is_grads_batched=True)
        J = rows[:, 0, input_token - 1]
        return J - unit if input_token == output_token else J


def _is_norm_of(raw: Tensor, found: Tensor) -> bool:
    """Whether states are others, normed: up to a scale and a shift an entry, for all tokens alike.

    Some models hand on a mixture of what all blocks gave, of which none is the last block's own.
    """
    n = len(raw)
    for x in (raw, raw - raw.mean(1, keepdim=True)):
        z = x / x.square().mean(1, keepdim=True).sqrt()
        columns = torch.stack([z.T, torch.ones_like(z.T)], -1)  # (d, token, 2)
        fitted = columns @ torch.linalg.lstsq(columns, found.T[..., None]).solution
        if n > 2 and bool((fitted[..., 0].T - found).norm() <= NORM_TOLERANCE * found.norm()):
            return True
    return False
