"""Running one stack of a model: over a whole sequence, or on one token over those before it."""

import inspect
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from coupling_core.base.errors import ComputeError, CouplingError, InputError
from coupling_core.base.memory import is_out_of_memory
from coupling_core.base.records import Stack
from coupling_core.base.token_ids import TokenIds, token_ids
from coupling_core.engine.jacobians.captured_calls import Call, capturing, frozen
from coupling_core.engine.loading import (
    READS,
    class_name,
    find_blocks,
    measurable,
    measured_stack,
    own_code,
    start_token,
)
from coupling_core.engine.matrix_products import FastLinear

Prompt = TokenIds | Float[Tensor, "1 channel height width"]
"""What is handed over to be read: token ids of one prompt in any form, or an image."""

Reads = Int[Tensor, "sequence token"] | Float[Tensor, "1 channel height width"]
"""What a stack reads: token ids, or an image."""


@dataclass(frozen=True)
class Run:
    """A run of a stack.

    Args:
        calls: of its blocks, in order.
        output: the model's own.
    """

    calls: list[Call]
    output: Any

    @property
    def cache(self) -> Any:
        """What the model keeps of the tokens that it read; None where it keeps nothing."""
        return getattr(self.output, "past_key_values", None)

    @property
    def logits(self) -> Tensor | None:
        """Of the model's head, whatever it tells apart; None where it has none."""
        return getattr(self.output, "logits", None)


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
        with FastLinear(), plain_failures(self.model, "does not run on this prompt"):
            return self.model(
                **{self.name: ids}, **self.given, **(options if self.reads_tokens else {})
            )

    @property
    def reads_tokens(self) -> bool:
        """Whether the stack reads token ids; else it reads an image."""
        return self.name != READS

    def run(self, ids: Reads, **options: Any) -> Run:
        """Capture a run."""
        with torch.no_grad(), capturing(self.blocks) as calls:
            output = self(ids, **options)
        check_run(self.model, self.blocks, calls)
        if self.reads_tokens:
            _require_rows(self.model, calls, ids)
        return Run(calls, output)

    def whole(self, ids: Reads) -> Run:
        """Run over a whole sequence, as the definition says: nothing is cached."""
        return self.run(ids, use_cache=False)

    def reading(self, ids: Int[Tensor, "1 token"]) -> Run:
        """The same, and the model keeps what it read."""
        return self.run(ids, use_cache=True, **self.few_logits)

    def alone(self, ids: Int[Tensor, "1 token"], token: int, read: Run) -> Run:
        """Run one token (1..n) alone, over what the model kept of those before it."""
        given = {}
        if token > 1:
            before = cut(read.cache, ids.shape[1] - token + 1)
            if before is None:  # a window has gone past some, or the cache cannot be cut
                before = self.reading(ids[:, : token - 1]).cache
            if before is None:
                raise InputError(f"{class_name(self.model)} keeps nothing of what it read")
            given["past_key_values"] = before
        return self.run(ids[:, token - 1 : token], use_cache=True, **given, **self.few_logits)

    def next_token(self, output: Any) -> Float[Tensor, "1 token vocabulary"] | None:
        """What the model's head says comes after each token.

        Args:
            output: the model's own.

        Returns:
            None without a head, or where it says something else: of a text's or a token's class.
        """
        found = getattr(output, "logits", None)
        if not (isinstance(found, Tensor) and found.ndim == 3):
            return None
        config = getattr(self.model, "config", None)
        if config is None or config.is_encoder_decoder:
            return found
        vocabulary = getattr(config.get_text_config(), "vocab_size", None) or 0
        return found if found.shape[-1] >= vocabulary else None

    @property
    def few_logits(self) -> dict[str, int]:
        """The option that spares the logits of all tokens but the last, where the model has it."""
        has_it = "logits_to_keep" in inspect.signature(self.model.forward).parameters
        return {"logits_to_keep": 1} if has_it else {}


def cut(cache: Any, count: int) -> Any:
    """A cache without its last tokens; None where it cannot be cut."""
    try:
        shorter, length = frozen(cache), cache.get_seq_length()
        shorter.crop(-count)
        return shorter if shorter.get_seq_length() == length - count else None
    except Exception as error:  # caches of many kinds refuse in many ways
        if is_out_of_memory(error):
            raise
        return None


def runner_of(
    model: Any, reads: Prompt, stack: Stack | None, device: torch.device | None
) -> tuple[Runner, Reads]:
    """What runs a stack, and what this stack reads; arguments as of `trace.trace`."""
    model = measurable(model)
    place = device or next(model.parameters()).device
    blocks, stack = find_blocks(model, stack), measured_stack(model, stack)
    name, kind = getattr(model, "main_input_name", "input_ids"), class_name(model)
    if isinstance(reads, Tensor) and reads.is_floating_point():
        if stack or name != READS or reads.ndim != 4 or len(reads) != 1:
            raise InputError(
                f"a tensor of {_precision(reads)} and shape {tuple(reads.shape)} came: expected "
                "token ids, which are whole numbers, or an image (1, channel, height, width) where "
                f"a model reads images; {kind} reads {name}"
            )
        is_double = next(model.parameters()).dtype == torch.float64
        image = reads.to(place, torch.float64 if is_double else torch.float32)
        return Runner(model, blocks, READS, {}), image
    ids = torch.tensor([token_ids(reads)], dtype=torch.long, device=place)
    if stack is None:
        if name != "input_ids":
            raise InputError(f"{kind} reads {name}, and the prompt is a text")
        return Runner(model, blocks, "input_ids", {}), ids
    encoder: Any = model.get_encoder()
    if stack == "encoder":
        return Runner(encoder, blocks, "input_ids", {}), ids
    with torch.no_grad():
        given = {"encoder_outputs": encoder(input_ids=ids)}
    shifted = torch.cat([ids.new_full((1, 1), start_token(model)), ids[:, :-1]], 1)
    return Runner(model, blocks, "decoder_input_ids", given), shifted


def _precision(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def check_run(model: nn.Module, blocks: nn.ModuleList, calls: list[Call]) -> None:
    """Refuse a run whose blocks are not a residual stream's, one after the other.

    Raises `InputError` where blocks are shared or skipped, or something changes the state in
    between, and `ComputeError` where a state is not finite.
    """
    kind = class_name(model)
    if not calls:
        raise InputError(
            f"{kind} runs none of its {len(blocks)} blocks as a module: they are of another model, "
            "or its code calls their `forward` itself, so that no call can be captured"
        )
    if (ran := [call.module for call in calls]) != list(blocks):
        raise InputError(_order(kind, [list(blocks).index(block) + 1 for block in ran], blocks))
    for number, call in enumerate(calls, 1):
        _require_states(kind, number, call)
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


def _order(kind: str, ran: list[int], blocks: nn.ModuleList) -> str:
    """What is wrong with the numbers of the blocks that ran."""
    if sorted(ran) == list(range(1, len(blocks) + 1)):
        came = ", ".join(map(str, ran))
        return (
            f"{kind} ran its blocks in another order ({came}): expected them in the order in which "
            "they run"
        )
    return (
        f"{kind} ran {len(ran)} blocks where it has {len(blocks)}: a model that shares, repeats or "
        "skips blocks cannot be replayed, and neither can one inside edited(...): measure it "
        'outside; what edits do is measured with kind="what-if"'
    )


def _require_states(kind: str, number: int, call: Call) -> None:
    """Refuse states that are not one vector for each token of one sequence, kept by the block."""
    takes, gives = tuple(call.hidden.shape), tuple(call.output.shape)
    if not len(takes) == len(gives) == 3 or takes[:2] != gives[:2] or takes[0] != 1:
        raise InputError(
            f"block {number} of {kind} makes states of shape {gives} of {takes}: expected (1, "
            "token, width), one vector for each token of one sequence, and the same tokens"
        )


def _require_rows(model: nn.Module, calls: list[Call], ids: Int[Tensor, "1 token"]) -> None:
    """Refuse a model that adds or pads rows: which of them a token is, nothing says."""
    rows, n = calls[0].hidden.shape[1], ids.shape[1]
    if rows != n:
        raise InputError(
            f"{class_name(model)} makes {rows} rows of {n} tokens (it adds some of "
            "its own, or pads them): which row belongs to which token is not known"
        )


_OUT_OF_RANGE = (
    ": probably a token id is past the last row of its embedding, or the prompt has more tokens "
    "than it has positions"
)

_OF_ITSELF = ": probably this was asked from inside a hook of the model, which runs it again"


@contextmanager
def plain_failures(model: nn.Module, what: str) -> Iterator[None]:
    """Say in plain words that a model's own code failed."""
    try:
        yield
    except CouplingError:
        raise
    except Exception as error:  # models raise whatever they like
        if is_out_of_memory(error):
            raise
        # Not by str(), which is the model's own code again.
        told = next(iter(str(*error.args[:1]).strip().splitlines()), "")
        raise ComputeError(
            f"{class_name(model)} {what}: its own code fails with {type(error).__name__}"
            + f" ({told})" * bool(told)
            + _OUT_OF_RANGE * isinstance(error, IndexError)
            + _OF_ITSELF * isinstance(error, RecursionError)
            + _cut_off(model) * (_CUT_OFF in told)
        ) from error


_CUT_OFF = "does not require grad"
"""What torch says where nothing is there to be differentiated."""


def _cut_off(model: nn.Module) -> str:
    """Why no derivative goes through a model, as far as it can be told."""
    where = own_code(model)
    of_ones_own = f"; code of your own runs in it: {where}" * bool(where)
    return (
        ". No derivative goes through a block: what it gives is cut off from what it read, as by "
        f".detach(), torch.no_grad(), NumPy or a constant in its place{of_ones_own}"
    )
