"""One row of a sequence in a bidirectional block, as a function of that row's state alone.

The definition replaces the row in the whole sequence, and runs the block over all of it. Yet the
other rows meet this one in attention only, through keys and values that do not depend on it. They
are taken down in one run over the whole sequence, and the block is then run on a single row, with
the keys and values of the others as a constant past:

    y_t = F(x_t; k_j, v_j for j != t)

which costs what one token costs, however long the sequence. Where a block does more between its
rows than this, the row that comes out is not the one that the model gave, and the whole sequence is
run as the definition says.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor
from torch.overrides import TorchFunctionMode

from coupling_core.base.memory import is_out_of_memory
from coupling_core.engine.jacobians import cached_attention
from coupling_core.engine.jacobians.captured_calls import Call
from coupling_core.engine.ways_taken import note

TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12}
"""How far the row may be from the model's own, relative to its norm; what is not of this form is
off by a tenth and more."""


@dataclass(frozen=True)
class Attended:
    """What one attention of a block took, over the whole sequence.

    Args:
        key: of every token.
        value: likewise.
        mask: of every query with every key; None where nothing is masked or biased.
    """

    key: Float[Tensor, "1 head token d_head"]
    value: Float[Tensor, "1 head token d_head"]
    mask: Tensor | None


@dataclass(frozen=True)
class Rows:
    """A block's call over a whole sequence, of which one row at a time is replayed.

    Args:
        call: of the block.
        why_whole: why every row is run in any case; "" where one row alone is tried.
    """

    call: Call
    why_whole: str = ""

    def replay(self, x: Float[Tensor, "1 1 d"], row: int) -> Float[Tensor, " d_out"]:
        """The block's output at a row (from 0) whose state is replaced."""
        return self._alone(x, row) if self._is_alone(row) else self._among_all(x, row)

    def _among_all(self, x: Tensor, row: int) -> Tensor:
        X = self.call.hidden
        X = torch.cat([X[:, :row], x, X[:, row + 1 :]], 1)
        # The skip connection goes out where it comes in, so that gradients meet an exact zero and
        # not 1 - 1 behind what the block adds, whose last digits would be lost.
        return (self.call.replay(X) - X)[0, row] + x[0, 0]

    def _alone(self, x: Tensor, row: int) -> Tensor:
        assert self._attended is not None  # `_is_alone` asked
        others = _Others(self._attended, row)
        with cached_attention.among(others.join), _Formula():
            return self.call.replay(x)[0, 0]

    def _is_alone(self, row: int) -> bool:
        """Whether the row's state alone gives what the model gave."""
        if row not in self._tried:
            why = self.why_whole or self._why_among_all(row)
            note("the whole sequence" if why else "one row over the others", why)
            self._tried[row] = not why
        return self._tried[row]

    def _why_among_all(self, row: int) -> str:
        if self._attended is None:
            return "attention is not one call of torch's own"
        return "" if self._agrees(row) else "one row alone gives something else"

    def _agrees(self, row: int) -> bool:
        expected = self.call.output[0, row]
        try:
            with torch.no_grad():
                y = self._alone(self.call.hidden[:, row : row + 1], row)
        except Exception as error:  # a block that needs all rows raises anything
            if is_out_of_memory(error):
                raise
            return False
        tolerance = TOLERANCE.get(y.dtype, 0.0)
        return y.shape == expected.shape and bool(
            (y - expected).norm() <= tolerance * expected.norm()
        )

    @cached_property
    def _tried(self) -> dict[int, bool]:
        return {}

    @cached_property
    def _attended(self) -> Attended | None:
        """What the block's attention took; None where it has not exactly one that is known."""
        with torch.no_grad(), _Recorded() as recorded:
            self.call.replay(self.call.hidden)
        return recorded.all[0] if len(recorded.all) == 1 else None


@dataclass(frozen=True)
class _Others:
    """The keys and values of all rows but one.

    Args:
        of_all: those of all.
        row: the one, from 0.
    """

    of_all: Attended
    row: int

    def join(self, key: Any, value: Any, mask: Any) -> tuple[Any, Any, Tensor | None]:
        """The row's own key and value behind those of the others, and its part of the mask."""
        keys, values = (
            cached_attention.Joined(self._others(whole, -2), own, -2)
            for whole, own in ((self.of_all.key, key), (self.of_all.value, value))
        )
        if (mask := self.of_all.mask) is None:
            return keys, values, None
        mask = mask if mask.shape[-2] == 1 else mask[..., self.row : self.row + 1, :]
        own = mask[..., self.row : self.row + 1]
        return keys, values, torch.cat([self._others(mask, -1), own], -1)

    def _others(self, whole: Tensor, axis: int) -> Tensor:
        n = whole.shape[axis]
        parts = whole.narrow(axis, 0, self.row), whole.narrow(axis, self.row + 1, n - self.row - 1)
        return torch.cat(parts, axis)


class _Recorded(TorchFunctionMode):
    """Keeps what each attention takes."""

    def __init__(self) -> None:
        super().__init__()
        self.all: list[Attended] = []

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if func is F.scaled_dot_product_attention:
            mask = args[3] if len(args) > 3 else kwargs.get("attn_mask")
            self.all.append(Attended(args[1], args[2], mask))
        return func(*args, **kwargs)


class _Formula(TorchFunctionMode):
    """Has attention computed by its formula, which knows of the others."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if func is F.scaled_dot_product_attention:
            return cached_attention.attention(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))
