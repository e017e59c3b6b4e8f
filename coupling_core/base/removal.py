"""Blocks that are left out of a model, or run with their neighbours' weights."""

from dataclasses import dataclass

from coupling_core.base.edits import Slots, Step
from coupling_core.base.errors import InputError


@dataclass(frozen=True)
class Removal:
    """Blocks whose weights are saved, 1..L, ascending.

    `tied` runs the nearest block that stays in the place of each (the one before it, where two are
    as near); else their slots pass their input on.
    """

    blocks: tuple[int, ...]
    tied: bool = False

    def kept(self, n_blocks: int) -> tuple[int, ...]:
        """The blocks that stay, of L; raises `InputError` where none does, or one is not there."""
        stay = tuple(block for block in range(1, n_blocks + 1) if block not in self.blocks)
        if not stay or len(stay) + len(self.blocks) != n_blocks:
            raise InputError(
                f"of a model's {n_blocks} blocks at least one has to stay, and {len(self.blocks)} "
                f"are to go, the last of them block {max(self.blocks, default=0)}"
            )
        return stay

    def slots(self, n_blocks: int) -> Slots:
        """What each of L slots does; raises as `kept`."""
        stay = self.kept(n_blocks)

        def of(slot: int) -> tuple[Step, ...]:
            nearest = min(stay, key=lambda block: (abs(block - slot), block))
            return (Step((nearest,)),) if self.tied or nearest == slot else ()

        return tuple(map(of, range(1, n_blocks + 1)))
