"""Blocks that are left out of a model, or run with their neighbours' weights."""

from dataclasses import dataclass

from coupling_core.base.edits import Slots, Step
from coupling_core.base.errors import InputError


@dataclass(frozen=True)
class Removal:
    """Blocks whose weights are saved.

    Args:
        blocks: those, 1..L, ascending.
        tied: whether the nearest block that stays runs in the place of each (the one before it,
            where two are as near); else their slots pass their input on.

    Raises:
        InputError: where blocks are named twice, or out of order.
    """

    blocks: tuple[int, ...]
    tied: bool = False

    def __post_init__(self) -> None:
        if list(self.blocks) != sorted(set(self.blocks)) or (self.blocks and self.blocks[0] < 1):
            raise InputError(f"blocks are numbered from 1 and ascend, and {self.blocks} came")

    def kept(self, n_blocks: int) -> tuple[int, ...]:
        """The blocks that stay, of L.

        Raises:
            InputError: where none stays, or the model lacks one of those that go.
        """
        stay = tuple(block for block in range(1, n_blocks + 1) if block not in self.blocks)
        if not stay or (self.blocks and self.blocks[-1] > n_blocks):
            raise InputError(
                f"of a model's {n_blocks} blocks at least one has to stay, and {len(self.blocks)} "
                f"are to go, the last of them block {max(self.blocks, default=0)}"
            )
        return stay

    def slots(self, n_blocks: int) -> Slots:
        """What each of L slots does; raises as `kept`."""
        stay = self.kept(n_blocks)
        if not self.tied:
            return tuple(
                (Step((slot,)),) if slot in stay else () for slot in range(1, n_blocks + 1)
            )
        return tuple(
            (Step((min(stay, key=lambda block: (abs(block - slot), block)),)),)
            for slot in range(1, n_blocks + 1)
        )
