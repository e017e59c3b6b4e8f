"""What kind of a stack it is, found out by running it once, never by its name.

A few tokens tell whether a block's output depends on later tokens, whether one token (or one row)
alone gives what the whole sequence gives, its states and its derivatives, and what the model makes
of the last block's output.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from typing import Any
from weakref import WeakKeyDictionary

import torch
from jaxtyping import Float
from torch import Tensor, nn

from coupling_core.base.errors import InputError, a_type
from coupling_core.base.memory import is_out_of_memory
from coupling_core.base.records import Stack
from coupling_core.engine.jacobians.captured_block import (
    Block,
    at_one_row,
    at_one_token,
    distance,
    random_directions,
)
from coupling_core.engine.jacobians.captured_calls import Call, is_same
from coupling_core.engine.jacobians.one_row import Rows
from coupling_core.engine.jacobians.runner import Reads, Run, Runner, plain_failures
from coupling_core.engine.loading import Wrapped, class_name, is_of_bridge

PROBE_TOKENS = 4
"""Length of the prefix on which the kind of a stack is found out."""

_SAME = {torch.float32: 1e-4, torch.float64: 1e-10}
"""How far a token's states may be from those of the whole sequence, relative to their norms.
Rounding adds up to 1e-6 a block; another rule for positions, or a state that is missing, to a
tenth."""
SAME_DERIVATIVE = 1e-3
"""The same for a derivative on the probe: what is missing there is a percent and more."""

_LARGE = 1e3
"""Root mean square of states beside which no epsilon of a norm counts."""
_SCALES = 0.01
"""How far doubling large states may change what a norm gives."""


@dataclass(frozen=True)
class Kind:
    """What a stack of blocks turned out to be, whatever the prompt.

    Args:
        causal: whether no block's output depends on later tokens.
        final_norm: the norm that the model applies to the last block's output, if it has one.
        why_whole: why blocks must run over the whole sequence; "" where one token alone, over what
            the model kept of those before, or one row over the others, gives the same.
    """

    causal: bool
    final_norm: nn.Module | None
    why_whole: str = ""


_KNOWN: WeakKeyDictionary[nn.Module, dict[Stack | None, Kind]] = WeakKeyDictionary()


def known_kinds(model: nn.Module) -> dict[Stack | None, Kind]:
    """What the stacks of a model turned out to be; whoever finds out one more notes it there."""
    return _KNOWN.setdefault(model, {})


def find_kind(runner: Runner, ids: Reads) -> Kind:
    """Find out what a stack is.

    Args:
        runner: of the stack.
        ids: what it reads: two tokens at least where the model shall be found causal. The patches
            of an image are there at once, and nothing is gained where one does not see the next.

    Raises:
        InputError: where its blocks are not those of a residual stream, or it draws at random.
        ComputeError: where the model's own code fails.
    """
    ids = ids[:, :PROBE_TOKENS] if runner.reads_tokens else ids
    with _norms_of(runner) as seen:
        run = runner.whole(ids)
    with plain_failures(runner.model, "has blocks that cannot be run again"):
        ends = [_Ends.of(call) for call in run.calls]
    is_sequence = runner.reads_tokens and ids.shape[1] > 1
    causal = is_sequence and not any(end.sees_later for end in ends)
    again = runner.whole(ids)
    if (off := _apart(again, run)) > same(run):
        raise InputError(
            f"{class_name(runner.model)} draws at random, "
            + ("in training mode" if runner.model.training else "in evaluation mode too")
            + f": two passes over the same prompt differ by {off:.1e} (relative), and no number of "
            "it would hold" + ("; call its eval() first" if runner.model.training else "")
        )
    last = run.calls[-1].output
    norm = _final_norm(runner.model, [found for found in seen if is_same(found[1], last)])
    if norm is not None and _named_norm(runner.model) is None and _goes_on(runner, ids, norm):
        norm = None  # of a block that was not handed over
    return Kind(causal, norm, _why_whole(runner, ids, run, ends, causal))


@dataclass(frozen=True)
class _Ends:
    """What a block over the whole sequence does at its first and its last token.

    Args:
        sees_later: whether the first token's output depends on later tokens.
        cotangent: at the output of the last token.
        pulled: that one, at the input of the same token.
    """

    sees_later: bool
    cotangent: Float[Tensor, " d"]
    pulled: Float[Tensor, " d"]

    @classmethod
    def of(cls, call: Call) -> "_Ends":
        hidden = call.hidden.detach().clone().requires_grad_()
        with torch.enable_grad():
            output = call.replay(hidden)[0]
        (cotangent,) = random_directions(output[0], 1)
        first, last = (
            torch.autograd.grad(output[at], hidden, cotangent, retain_graph=True)[0][0]
            for at in (0, -1)
        )
        return cls(bool(first[1:].any()), cotangent, last[-1])

    def differs(self, block: Block) -> bool:
        """Whether the block alone gives another derivative."""
        x = block.state.detach().clone()[None, None].requires_grad_()
        with torch.enable_grad():
            (pulled,) = torch.autograd.grad(block.replay(x), x, self.cotangent)
        # What the skip connection hands on is the same anyway.
        size = (self.pulled - self.cotangent).norm() + 1e-2 * self.cotangent.norm()
        return not bool((pulled[0, 0] - self.pulled).norm() <= SAME_DERIVATIVE * size)


def _why_whole(runner: Runner, ids: Reads, run: Run, ends: list[_Ends], causal: bool) -> str:
    """Why one token or row alone is not enough; "" where it is."""
    n = run.calls[0].hidden.shape[1]
    if runner.reads_tokens and n == 1:
        return ""  # there is nothing that it could attend to
    if causal and isinstance(runner.model, Wrapped):
        return "a wrapped module keeps nothing of what it read"
    try:
        if causal:
            alone = runner.alone(ids, n, runner.reading(ids))
            if (off := apart_at(alone, run, n)) > same(run):
                return f"one token alone has other states, by {off:.1e}"
            blocks = [at_one_token(number, call) for number, call in enumerate(alone.calls, 1)]
        else:
            blocks = [at_one_row(at, Rows(call), n) for at, call in enumerate(run.calls, 1)]
        wrong = [b.number for b, end in zip(blocks, ends, strict=True) if end.differs(b)]
    except Exception as error:  # models refuse to run so in many ways
        if is_out_of_memory(error):
            raise
        return f"one token alone cannot be run: {type(error).__name__}"
    return f"one token alone has other derivatives, at block {wrong[0]}" if wrong else ""


def same(run: Run) -> float:
    """How far states may be apart that are the same; in low precision nothing can be told."""
    return _SAME.get(run.calls[-1].output.dtype, inf)


def apart_at(alone: Run, whole: Run, token: int) -> float:
    """How far the states of a token (1..n) that ran alone are from those of the whole sequence."""
    pairs = zip(alone.calls, whole.calls, strict=True)
    return max(distance(one.output[0, -1], all_.output[0, token - 1]) for one, all_ in pairs)


def _apart(a: Run, b: Run) -> float:
    pairs = list(zip(a.calls, b.calls, strict=True))
    if any(one.output.shape != other.output.shape for one, other in pairs):
        return inf
    return max(distance(one.output, other.output) for one, other in pairs)


@contextmanager
def _norms_of(runner: Runner) -> Iterator[list[tuple[nn.Module, Tensor, Tensor]]]:
    """Collect what modules outside the blocks are given and give, in their order."""
    seen: list[tuple[nn.Module, Tensor, Tensor]] = []
    blocks = [*runner.blocks]
    if isinstance(runner.model, Wrapped):  # the first norm of a later block is no final norm
        blocks += runner.model.left_out
    inside = {module for block in blocks for module in block.modules()}

    def note(module: nn.Module, args: tuple[object, ...], output: object) -> None:
        if args and isinstance(args[0], Tensor) and isinstance(output, Tensor):
            seen.append((module, args[0], output))

    # What has parts is told after them: a norm inside of it is found before the whole.
    watched = {module for module in runner.model.modules() if module not in inside}
    if (named := _named_norm(runner.model)) is not None:
        watched.add(named)
    handles = [module.register_forward_hook(note) for module in watched]
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()


def _final_norm(
    model: nn.Module, given: list[tuple[nn.Module, Tensor, Tensor]]
) -> nn.Module | None:
    """The norm of the last block's output among what is given it; None where there is none.

    Raises:
        InputError: where one is named and is not that, or does not norm each token by itself.
    """
    named = _named_norm(model)
    if named is None:
        norm = _with_its_hooks([m for m, x, y in given if _is_norm(m, x, y)])
    else:
        norm = next((m for m, x, y in given if m is named and _forgets_scale(m, x, y)), None)
    if named is not None and norm is None:
        came = any(m is named for m, _, _ in given)
        _require_the_last_block(model)
        raise InputError(
            f"final_norm is {a_type(named)} that "
            + ("norms nothing" if came else "is not given the last block's output of all tokens")
            + f" in {class_name(model)}: name the norm that the model applies to that, or leave it "
            "out, and it is found out"
        )
    if norm is not None and isinstance(model, Wrapped):
        _require_by_token(norm, next((x, y) for m, x, y in given if m is norm))
    return norm


def _with_its_hooks(norms: list[nn.Module]) -> nn.Module | None:
    """The first of some norms, or the one of a bridge that runs it: its hooks come after it."""
    first = next(iter(norms), None)
    rounds = (m for m in norms if is_of_bridge(m) and any(part is first for part in m.modules()))
    return next(rounds, first) if first is not None else None


def _goes_on(runner: Runner, ids: Reads, norm: nn.Module) -> bool:
    """Whether the last block's output is used otherwise than through a norm.

    Of a wrapped module alone, whose blocks may be some of those that it runs. The norm gives what
    it gave, and the block twice as much: what the module gives is then the same or not.
    """
    model = runner.model
    if not isinstance(model, Wrapped):
        return False
    gave: list[Tensor] = []

    def doubled(module: nn.Module, args: object, output: Any) -> Any:
        return (
            type(output)((2 * output[0], *output[1:])) if isinstance(output, tuple) else 2 * output
        )

    def logits(*hooks: tuple[nn.Module, Any]) -> Tensor | None:
        handles = [module.register_forward_hook(hook) for module, hook in hooks]
        try:
            with torch.no_grad():
                return model(ids).logits
        finally:
            for handle in handles:
                handle.remove()

    before = logits((norm, lambda module, args, output: gave.append(output)))
    after = logits((norm, lambda module, args, output: gave[0]), (model.blocks[-1], doubled))
    return before is not None and after is not None and not torch.equal(before, after)


def _require_the_last_block(model: nn.Module) -> None:
    """Say that a norm which is named belongs to a block that was not handed over."""
    if isinstance(model, Wrapped) and (others := model.left_out):
        n, whole = len(model.blocks), len(model.blocks) + len(others)
        raise InputError(
            f"{n} of the {whole} blocks of {class_name(model)} were handed over, and final_norm is "
            "not given what the last of them gives, for others run in between: leave final_norm "
            f"out, or hand over all {whole} and choose among them afterwards, as in "
            f'result.scores(blocks="1-{n}")'
        )


def _named_norm(model: nn.Module) -> nn.Module | None:
    return model.final_norm if isinstance(model, Wrapped) else None


def _require_by_token(norm: nn.Module, of_all: tuple[Tensor, Tensor]) -> None:
    """Refuse a norm that cannot be applied to a single state, as Eq. 7 has it."""
    x, y = of_all
    try:
        with torch.no_grad():
            off = distance(norm(x[0, -1]), y[0, -1])
    except Exception as error:  # a norm of somebody's own raises anything
        if is_out_of_memory(error):
            raise
        off = inf
    if off > _SAME.get(y.dtype, inf):
        raise InputError(
            f"the final norm, {a_type(norm)}, gives something else for one state alone "
            "than for all tokens together: expected one that norms each token by itself, over the "
            "last axis"
        )


def _is_norm(module: nn.Module, x: Tensor, y: Tensor) -> bool:
    """Whether a module that maps x to y is a norm: no matrix, and scaling x changes nothing.

    Its parameters alone do not tell: some models' norms have none, and neither has dropout.
    """
    has_matrix = any(parameter.ndim > 1 for parameter in module.parameters())
    return not has_matrix and _forgets_scale(module, x, y)


def _forgets_scale(module: nn.Module, x: Tensor, y: Tensor) -> bool:
    """Whether a module that maps x to y gives the same where x is scaled.

    States are scaled up before, for beside small ones an epsilon is large.
    """
    if x.shape != y.shape:
        return False
    with torch.no_grad():
        large = x * (_LARGE / x.square().mean().sqrt())
        once, twice = module(large), module(2 * large)
    return bool((twice - once).norm() < _SCALES * once.norm())
