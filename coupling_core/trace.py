"""One forward pass: the states of the residual stream, and each block ready to be replayed.

A causal block is captured while the model decodes the measured token alone, over a cache of the
tokens before it: replaying it is then a function of that one token's state, and far cheaper than
the whole sequence. A bidirectional block is captured over the whole sequence and replayed with one
row replaced. Which of the two holds is decided by a gradient, never by the model's name.
"""

import copy
import inspect
import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from coupling_core.errors import ComputeError, InputError
from coupling_core.models import find_blocks, measured_stack, start_token
from coupling_core.records import Stack

PROBE_TOKENS = 4
"""Length of the prefix on which causality and the final norm are found out."""
SCALE_TOLERANCE = 0.1
"""How far doubling its input may change what a norm gives; its epsilon leaves a trace."""


@dataclass(frozen=True)
class Block:
    """One captured block as a function of the measured token.

    Args:
        number: 1..L.
        state: x^{l-1}_t, the token's state before the block.
        output: F^l(X^{l-1})_t as the model itself computed it.
        module: the block itself.
        replay: maps a state (1 1 d) to the block's output at the token (d).
    """

    number: int
    state: Float[Tensor, " d"]
    output: Float[Tensor, " d_out"]
    module: nn.Module
    replay: Callable[[Float[Tensor, "1 1 d"]], Float[Tensor, " d_out"]]


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
class Trace:
    """The forward pass at one token.

    Args:
        token_ids: what the measured stack reads.
        blocks: every block, in order.
        logits: next-token logits at the measured token, or None for a model without a head.
        kind: of the stack.
    """

    token_ids: list[int]
    blocks: list[Block]
    logits: Float[Tensor, " vocabulary"] | None
    kind: Kind


@dataclass(frozen=True)
class Call:
    """One call of a block.

    Args:
        module: the block.
        args: of the call, caches frozen as the block met them.
        kwargs: likewise.
        output: the states that it returned (1 token d_out).
    """

    module: nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    output: Tensor

    @property
    def hidden(self) -> Float[Tensor, "1 token d"]:
        """The states that the block was given."""
        return self.args[0] if self.args else self.kwargs["hidden_states"]

    def replay(self, hidden: Float[Tensor, "1 token d"]) -> Float[Tensor, "1 token d_out"]:
        """What the block gives for other states, all else as it was."""
        # The call's own caches were frozen before it ran; each replay needs fresh copies again.
        args, kwargs = frozen(self.args), frozen(self.kwargs)
        if args:
            args = (hidden, *args[1:])
        else:
            kwargs["hidden_states"] = hidden
        return tensor_of(self.module(*args, **kwargs))


def trace(
    model: nn.Module,
    token_ids: list[int],
    token: int,
    *,
    stack: Stack | None = None,
    device: torch.device | None = None,
    kind: Kind | None = None,
) -> Trace:
    """Run the model and capture every block at one token.

    Args:
        model: a transformers model (or one that wraps it), in evaluation mode.
        token_ids: the prompt.
        token: the measured token, 1..n.
        stack: which stack of an encoder-decoder model; None is the decoder there. The encoder
            reads the prompt, and the decoder the prompt shifted right by its start token.
        device: where the model computes; None is where its weights are.
        kind: what an earlier trace of this very stack found; None finds it out.

    Raises:
        InputError: where the model has no blocks, or blocks that cannot be replayed.
        ComputeError: where a state is not finite.
    """
    ids = torch.tensor([token_ids], device=device or next(model.parameters()).device)
    with torch.no_grad():
        runner, ids = runner_of(model, find_blocks(model, stack), ids, measured_stack(model, stack))
    kind = kind or find_kind(runner, ids[:, :PROBE_TOKENS])
    seen = ids[:, :token] if kind.causal else ids
    with torch.no_grad():
        cache = runner.prefill(seen[:, :-1]) if kind.causal and token > 1 else None
        if cache is not None:
            calls, logits = runner.run(seen[:, -1:], use_cache=True, past_key_values=cache)
            captured = [at_one_token(number, call) for number, call in enumerate(calls, 1)]
        else:
            calls, logits = runner.run(seen, use_cache=False)
            captured = [at_one_row(number, call, token) for number, call in enumerate(calls, 1)]
    shown = None if logits is None else logits[0, -1 if cache is not None else token - 1]
    return Trace(ids[0].tolist(), captured, shown, kind)


def resolve_token(token: int, n: int) -> int:
    """Turn a token number, perhaps counted from the end, into 1..n.

    Raises:
        InputError: where the prompt has no such token.
    """
    resolved = token + n + 1 if token < 0 else token
    if not 1 <= resolved <= n:
        raise InputError(
            f"token {token} is out of range: this prompt has tokens 1..{n} (-1 is the last)"
        )
    return resolved


@dataclass(frozen=True)
class Runner:
    """Runs one stack of a model.

    Args:
        model: the module to call.
        blocks: of the stack.
        name: of the argument that takes the stack's token ids.
        given: arguments of every call: what the encoder said, for a decoder.
    """

    model: nn.Module
    blocks: nn.ModuleList
    name: str
    given: dict[str, Any]

    def __call__(self, ids: Int[Tensor, "1 token"], **options: Any) -> Any:
        """The model's own output for these token ids."""
        return self.model(**{self.name: ids}, **self.given, **options)

    def run(
        self, ids: Int[Tensor, "1 token"], **options: Any
    ) -> tuple[list[Call], Float[Tensor, "1 position vocabulary"] | None]:
        """Capture a run: each block's call in order, and the logits where there is a head."""
        with capturing(self.blocks) as calls:
            output = self(ids, **options)
        check_run(self.model, self.blocks, calls)
        return calls, getattr(output, "logits", None)

    def prefill(self, ids: Int[Tensor, "1 token"]) -> Any:
        """The cache that holds these tokens; None where the model keeps none."""
        few = {"logits_to_keep": 1} if takes(self.model, "logits_to_keep") else {}
        return getattr(self(ids, use_cache=True, **few), "past_key_values", None)


def runner_of(
    model: nn.Module, blocks: nn.ModuleList, ids: Int[Tensor, "1 token"], stack: Stack | None
) -> tuple[Runner, Int[Tensor, "1 token"]]:
    """What runs a stack, and the token ids that this stack reads."""
    if stack is None:
        if (name := getattr(model, "main_input_name", "input_ids")) != "input_ids":
            raise InputError(
                f"{type(model).__name__} reads {name}: expected a model that reads tokens"
            )
        return Runner(model, blocks, "input_ids", {}), ids
    encoder: Any = model.get_encoder()  # type: ignore[operator]
    if stack == "encoder":
        return Runner(encoder, blocks, "input_ids", {}), ids
    given = {"encoder_outputs": encoder(input_ids=ids)}
    shifted = torch.cat([ids.new_tensor([[start_token(model)]]), ids[:, :-1]], 1)
    return Runner(model, blocks, "decoder_input_ids", given), shifted


def find_kind(runner: Runner, ids: Int[Tensor, "1 token"]) -> Kind:
    """Find out whether every block is causal, and what norms the last block's output.

    Args:
        runner: of the stack.
        ids: a few tokens, two at least where the model shall be found causal.
    """
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
    norms = [m for m, x, y in seen if _same(x, last) and _is_norm(m, x, y)]
    causal = ids.shape[1] > 1 and all(_is_causal(call) for call in calls)
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


def _same(a: Tensor, b: Tensor) -> bool:
    return a.data_ptr() == b.data_ptr() and a.numel() == b.numel()


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


def takes(model: nn.Module, name: str) -> bool:
    """Whether a model's forward pass has an argument of this name."""
    return name in inspect.signature(model.forward).parameters


@contextmanager
def capturing(blocks: nn.ModuleList) -> Iterator[list[Call]]:
    """Collect each block's call, with any cache in its arguments frozen as the block met it."""
    calls: list[Call] = []
    pending: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def before(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        pending.append((frozen(args), frozen(kwargs)))

    def after(module: nn.Module, args: Any, output: Any) -> None:
        calls.append(Call(module, *pending.pop(), tensor_of(output)))

    handles = [block.register_forward_pre_hook(before, with_kwargs=True) for block in blocks]
    handles += [block.register_forward_hook(after) for block in blocks]
    try:
        yield calls
    finally:
        for handle in handles:
            handle.remove()


def at_one_token(number: int, call: Call) -> Block:
    """A block from its call with the measured token alone, over a cache of the tokens before."""
    return Block(
        number, call.hidden[0, 0], call.output[0, 0], call.module, lambda x: call.replay(x)[0, 0]
    )


def at_one_row(number: int, call: Call, token: int) -> Block:
    """A block from its call with the whole sequence, of which the token (1..n) is one row."""
    row, full = token - 1, call.hidden

    def replay(x: Tensor) -> Tensor:
        return call.replay(torch.cat([full[:, :row], x, full[:, row + 1 :]], 1))[0, row]

    return Block(number, full[0, row], call.output[0, row], call.module, replay)


def frozen(value: Any) -> Any:
    """Copy containers and caches but share tensors: a live cache would poison the replay."""
    if isinstance(value, tuple | list):
        return type(value)(frozen(item) for item in value)
    if isinstance(value, dict):
        return {name: frozen(item) for name, item in value.items()}
    if hasattr(value, "get_seq_length"):  # every cache of transformers
        clone = copy.copy(value)
        for name, item in vars(value).items():
            setattr(clone, name, _frozen_part(item))
        return clone
    return value


def _frozen_part(value: Any) -> Any:
    if isinstance(value, list):
        return [copy.copy(layer) for layer in value]
    return frozen(value)


def tensor_of(output: Any) -> Tensor:
    """The states, where a block returns them alone or first of several things."""
    return output[0] if isinstance(output, tuple | list) else output
