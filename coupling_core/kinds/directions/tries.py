"""What a command tries with directions beside showing them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from coupling_core.analysis.directions import shared_of
from coupling_core.base.errors import InputError
from coupling_core.base.records import DirectionsView, parse_blocks
from coupling_core.base.results import DirectionsResult
from coupling_core.kinds.directions import trial_report
from coupling_core.measuring.trying import ablate, read_out, steer
from coupling_core.store.direction_file import (
    Direction,
    direction_of,
    read_direction,
    require_fits,
    write_direction,
)

FEW = 3
"""Leading directions that are steered along where nobody says how many."""

Told = tuple[dict[str, Any], Callable[[], None]]
"""What is said of one try: for machines, and printed for people."""


@dataclass(frozen=True)
class Tries:
    """What was asked for.

    Args:
        view: blocks, and how many directions.
        side: "u" or "v".
        component: one direction, k; None takes the leading ones.
        sizes: to steer at; none does not steer.
        takes_out: whether the leading directions, or those that are shared, are taken out.
        shared: blocks whose shared directions are looked for, as typed; None looks for none.
        export: a file to be written.
        imported: a file to be read.
    """

    view: DirectionsView
    side: str
    component: int | None
    sizes: tuple[float, ...]
    takes_out: bool
    shared: str | None
    export: Path | None
    imported: Path | None

    def require_possible(self, *, of_many: bool, out: Path | None) -> None:
        """Refuse, before anything is measured, what cannot be tried.

        Args:
            of_many: whether there are many prompts.
            out: the file that the readouts are written to.

        Raises:
            InputError: where no block is named, there are many prompts, the file would not have
                what is tried, or the file to be imported holds no direction.
        """
        asked = {
            "--steer": bool(self.sizes),
            "--ablate": self.takes_out,
            "--shared": self.shared is not None,
            "--export": self.export is not None,
            "--import": self.imported is not None,
        }
        named = [name for name, is_asked in asked.items() if is_asked]
        if named and of_many:
            raise InputError(f"{named[0]} takes one prompt, and --prompts came: give --prompt")
        in_no_file = [name for name in named if name in ("--steer", "--ablate", "--shared")]
        if out is not None and in_no_file:
            raise InputError(
                f"--out writes the readouts, and not what {in_no_file[0]} finds: that is printed, "
                "and --json has it; in Python, its to_pandas() is the table"
            )
        steers_own = bool(self.sizes) and self.imported is None
        if self.view.blocks is None and (steers_own or self.export is not None):
            needs = "--steer" if steers_own else "--export"
            raise InputError(f"{needs} needs the block that has the direction: give --block")
        if self.imported is not None:
            read_direction(self.imported)

    def of(self, result: DirectionsResult, device: str | None) -> dict[str, Told]:
        """Try it, and say what came of it, by name.

        Raises:
            InputError: where the result lacks the block or a direction, or an imported one is of
                another model.
        """
        told: dict[str, Told] = {}
        given = None
        if self.imported is not None:
            given = read_direction(self.imported)
            require_fits(given, result)
            show = partial(trial_report.show_elsewhere, given, result)
            told["imported"] = (trial_report.elsewhere(given, result), show)
        if self.export is not None and self.view.blocks is not None:
            found = direction_of(result, self.view.blocks[0], self.component or 1, self.side)
            write_direction(found, self.export)
            show = partial(trial_report.show_exported, found, self.export)
            told["exported"] = (dict(found.about), show)
        if self.sizes:
            told["steered"] = self._steered(result, given, device)
        if self.shared is not None:
            blocks = parse_blocks(self.shared, result.n_blocks)
            told |= self._shared(result, blocks, device)
        elif self.takes_out:
            removed = ablate(
                result, blocks=self.view.blocks, k=self.view.leading, device=device, progress=False
            )
            show = partial(trial_report.show_ablation, removed)
            told["ablated"] = (trial_report.ablation_summary(removed), show)
        return told

    def _shared(
        self, result: DirectionsResult, blocks: tuple[int, ...], device: str | None
    ) -> dict[str, Told]:
        """What blocks have in common, read out, and taken out of each of them where that is asked.

        Raises:
            InputError: where the result lacks a block, or nothing is shared that could be taken
                out.
        """
        found = shared_of(result, DirectionsView(blocks, self.view.leading), self.side)
        frame = found.directions[:, : found.count]
        readout = "writes" if self.side == "u" else "reads"
        read = None
        if found.count and readout not in result.missing:
            read = read_out(result, frame, readout=readout, device=device, progress=False)
        show = partial(trial_report.show_shared, found, blocks, self.side, read)
        told: dict[str, Told] = {}
        told["shared"] = (trial_report.shared_summary(found, blocks, read), show)
        if self.takes_out:
            if not found.count:
                raise InputError("these blocks share no direction beyond chance: nothing to ablate")
            removed = ablate(result, blocks=blocks, frame=frame, device=device, progress=False)
            show_removed = partial(trial_report.show_ablation, removed)
            told["ablated"] = (trial_report.ablation_summary(removed), show_removed)
        return told

    def _steered(
        self, result: DirectionsResult, given: Direction | None, device: str | None
    ) -> Told:
        """Along an imported direction where its file says, or along those of the block."""
        if given is not None:
            block, side, vector = given.about["block"], given.about["side"], given.vector
        else:
            block, side, vector = (self.view.blocks or (-1,))[0], self.side, None
        leading = self.view.leading or min(FEW, result.count)
        found = steer(
            result,
            block=block,
            side=side,
            components=[self.component] if self.component else range(1, leading + 1),
            sizes=self.sizes,
            direction=vector,
            device=device,
            progress=False,
        )
        show = partial(trial_report.show_steering, found)
        return trial_report.steering_summary(found), show
