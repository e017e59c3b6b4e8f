"""Running one stack of a model, and what kind of a stack it turns out to be."""

import inspect
import itertools
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from coupling_core.calls import Call, capturing, is_same
from coupling_core.errors import ComputeError, InputError
from coupling_core.models import READS, find_blocks, measured_stack, start_token
from coupling_core.products import FastLinear
from coupling_core.records import Stack

Reads = Int[Tensor, "sequence token"] | Float[Tensor, "1 channel height width"]
"""What a stack reads: token ids, or an image."""

PROBE_TOKENS = 4
"""Length of the prefix on which causality and the final norm are found out."""
SCALE_TOLERANCE = 0.1
"""How far doubling its input may change what a norm gives; its epsilon leaves a trace."""


@dataclass(frozen=True)
class Kind:
    """What a stack of blocks turned out to be, whatever the prompt.

    Args:
        causal: whether no block's output depends on later tokens.
        final_norm: the norm that the model applies to the last block's output, if it has one.
    """

    causal: bool
    final_norm: nn.Module | None


@dataclass(frozen=True)
class Runner:
    """Runs one stack of a model.

    Args:
        model: the module to call.
        blocks: of the stack.
        name: of the argument that takes the stack's token ids, or its image.
        given: arguments of every call: what the encoder said, for a decoder.
    """

    model: nn.Module
    blocks: nn.ModuleList
    name: str
    given: dict[str, Any]

    def __call__(self, ids: Reads, **options: Any) -> Any:
        """The model's own output for these token ids, or this image, for which none is cached."""
        with FastLinear():
            return self.model(
                **{self.name: ids}, **self.given, **(options if self.reads_tokens else {})
            )

    @property
    def reads_tokens(self) -> bool:
        """Whether the stack reads token ids; else it reads an image."""
        return self.name != READS

    def run(self, ids: Reads, **options: Any) -> tuple[list[Call], Any]:
        """Capture a run: each block's call in order, and the model's own output."""
        with capturing(self.blocks) as calls:
            output = self(ids, **options)
        check_run(self.model, self.blocks, calls)
        return calls, output

    def prefill(self, ids: Int[Tensor, "1 token"]) -> Any:
        """The cache that holds these tokens; None where the model keeps none."""
        return cache_of(self(ids, use_cache=True, **self.few_logits))

    @property
    def few_logits(self) -> dict[str, int]:
        """The option that spares the logits of all tokens but the last, where the model has it."""
        has_it = "logits_to_keep" in inspect.signature(self.model.forward).parameters
        return {"logits_to_keep": 1} if has_it else {}


def cache_of(output: Any) -> Any:
    """The cache that a model gives back; None where it keeps none."""
    return getattr(output, "past_key_values", None)


def runner_of(
    model: nn.Module,
    reads: list[int] | Float[Tensor, "1 channel height width"],
    stack: Stack | None,
    device: torch.device | None,
) -> tuple[Runner, Reads]:
    """What runs a stack, and what this stack reads; arguments as of `trace.trace`."""
    place = device or next(model.parameters()).device
    blocks, stack = find_blocks(model, stack), measured_stack(model, stack)
    name, kind = getattr(model, "main_input_name", "input_ids"), type(model).__name__
    if isinstance(reads, Tensor):
        if stack or name != READS:
            raise InputError(f"{kind} reads text, and the prompt is an image: give a text")
        is_double = next(model.parameters()).dtype == torch.float64
        image = reads.to(place, torch.float64 if is_double else torch.float32)
        return Runner(model, blocks, READS, {}), image
    ids = torch.tensor([reads], device=place)
    if stack is None:
        if name == READS:
            raise InputError(f"{kind} reads images, and the prompt is a text: give an image")
        if name != "input_ids":
            raise InputError(f"{kind} reads {name}: expected a model that reads tokens or images")
        return Runner(model, blocks, "input_ids", {}), ids
    encoder: Any = model.get_encoder()  # type: ignore[operator]
    if stack == "encoder":
        return Runner(encoder, blocks, "input_ids", {}), ids
    with torch.no_grad():
        given = {"encoder_outputs": encoder(input_ids=ids)}
    shifted = torch.cat([ids.new_tensor([[start_token(model)]]), ids[:, :-1]], 1)
    return Runner(model, blocks, "decoder_input_ids", given), shifted


def find_kind(runner: Runner, ids: Reads) -> Kind:
    """Find out whether every block is causal, and what norms the last block's output.

    Args:
        runner: of the stack.
        ids: what it reads: two tokens at least where the model shall be found causal. The patches
            of an image are there at once, and nothing is gained where one does not see the next.
    """
    ids = ids[:, :PROBE_TOKENS] if runner.reads_tokens else ids
    seen: list[tuple[nn.Module, Tensor, Tensor]] = []
    inside = {module for block in runner.blocks for module in block.modules()}

    def note(module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        if args and isinstance(args[0], Tensor) and isinstance(output, Tensor):
            seen.append((module, args[0], output))

    leaves = [m for m in runner.model.modules() if m not in inside and not any(m.children())]
    handles = [leaf.register_forward_hook(note) for leaf in leaves]
    try:
        with torch.no_grad():
            calls, _ = runner.run(ids, use_cache=False)
    finally:
        for handle in handles:
            handle.remove()
    last = calls[-1].output
    norms = [m for m, x, y in seen if is_same(x, last) and _is_norm(m, x, y)]
    causal = runner.reads_tokens and ids.shape[1] > 1 and all(map(_is_causal, calls))
    return Kind(causal, norms[0] if norms else None)


def _is_causal(call: Call) -> bool:
    """Whether the first token's output is untouched by every later token."""
    hidden = call.hidden.detach().clone().requires_grad_()
    first = call.replay(hidden)[0, 0]
    generator = torch.Generator().manual_seed(0)
    cotangent = torch.randn(first.shape, generator=generator).to(first)
    (gradient,) = torch.autograd.grad(first, hidden, cotangent)
    return not gradient[0, 1:].any()


def _is_norm(module: nn.Module, x: Tensor, y: Tensor) -> bool:
    """Whether a module that maps x to y is a norm: no matrix, and scaling x changes nothing.

    Its parameters alone do not tell: some models' norms have none, and neither has dropout.
    """
    if x.shape != y.shape or any(parameter.ndim > 1 for parameter in module.parameters()):
        return False
    with torch.no_grad():
        doubled = module(2 * x)
    return bool((doubled - y).norm() < SCALE_TOLERANCE * y.norm())


def check_run(model: nn.Module, blocks: nn.ModuleList, calls: list[Call]) -> None:
    """Refuse a run whose blocks are not a residual stream's, one after the other.

    Raises:
        InputError: where blocks are shared or skipped, or something changes the state in between.
        ComputeError: where a state is not finite.
    """
    kind = type(model).__name__
    if [call.module for call in calls] != list(blocks):
        raise InputError(
            f"{kind} ran {len(calls)} blocks where it has {len(blocks)}, or in another order: "
            "a model that shares or skips blocks cannot be replayed"
        )
    for number, call in enumerate(calls, 1):
        before, after = call.hidden.shape[1], call.output.shape[1]
        if before != after:
            raise InputError(
                f"block {number} of {kind} makes {after} tokens of {before}: coupling needs blocks "
                "that keep the tokens, as those of ViT, DeiT, BEiT and DINOv2 do"
            )
        if not torch.isfinite(call.output).all():
            raise ComputeError(
                f"the state after block {number} is not finite: the weights are damaged, "
                "or too large for float32"
            )
    for number, (call, following) in enumerate(itertools.pairwise(calls), 1):
        if not torch.equal(call.output, following.hidden):
            raise InputError(
                f"{kind} changes the state between blocks {number} and {number + 1}: expected each "
                "block to take what the one before it gave, as in a residual stream"
            )
