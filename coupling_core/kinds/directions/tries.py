"""What a command tries with directions beside showing them."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import typer

from coupling_core.analysis.directions import shared_of
from coupling_core.base.errors import InputError
from coupling_core.base.records import DirectionsView, parse_blocks
from coupling_core.base.results import DirectionsResult
from coupling_core.cli import files, options
from coupling_core.cli.reports import together
from coupling_core.cli.terminal import Told
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

Side = Literal["u", "v"]


@dataclass(frozen=True)
class Tries:
    """Which directions are shown, and what is tried with them."""

    block: Annotated[
        int | None, typer.Option(help="Its directions are shown; without, counts of all blocks.")
    ] = None
    k: Annotated[int | None, options.k_option("all that are kept")] = None
    side: Annotated[Side, typer.Option(help="What a block writes (u), or reads (v).")] = "u"
    component: Annotated[
        int | None, typer.Option(help="One direction, 1..K, to steer along or to export.")
    ] = None
    steer: Annotated[
        str | None,
        typer.Option(
            metavar="SIZES",
            help="Add directions of --block, each times 0.1,0.5 (for example) of a state's norm.",
        ),
    ] = None
    ablate: Annotated[
        bool,
        typer.Option("--ablate", help="Take what --block, or each block, reads out of its input."),
    ] = False
    shared: Annotated[
        str | None,
        typer.Option(
            metavar="BLOCKS",
            help="What blocks such as 9-16 have in common; --ablate then takes that out of each.",
        ),
    ] = None
    export: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write --component of --block as .safetensors."),
    ] = None
    imported: Annotated[
        Path | None,
        typer.Option("--import", metavar="FILE", help="Take a direction from such a file."),
    ] = None

    @property
    def view(self) -> DirectionsView:
        """The directions that are shown."""
        return DirectionsView(None if self.block is None else (self.block,), self.k)

    @cached_property
    def sizes(self) -> tuple[float, ...]:
        """To steer at; none does not steer."""
        if self.steer is None:
            return ()
        return options.numbers(self.steer, float, "sizes", "numbers such as 0.1,0.5")

    @cached_property
    def given(self) -> Direction | None:
        """The direction that is imported."""
        return None if self.imported is None else read_direction(self.imported)

    def require_possible(self, *, of_many: bool, out: Path | None) -> None:
        """Refuse, before anything is measured, what cannot be tried, or would not be in a file."""
        printed = bool(self.sizes) or self.ablate or self.shared is not None
        if of_many and (printed or self.export or self.imported):
            raise InputError(
                "--steer, --ablate, --shared, --export and --import take one prompt: give --prompt"
            )
        if out is not None and printed:
            raise InputError(
                "--out writes the readouts: what --steer, --ablate and --shared find is printed, "
                "and --json has it"
            )
        steers_own = self.given is None and bool(self.sizes)
        if self.block is None and (steers_own or self.export is not None):
            raise InputError("--steer and --export need the block that has the direction: --block")
        files.require_writable(self.export, (".safetensors",))

    def of(self, result: DirectionsResult, device: str | None) -> Told:
        """Try it, and report what came of it."""
        parts: dict[str, Told] = {}
        if self.given is not None:
            require_fits(self.given, result)
            parts["imported"] = trial_report.imported(self.given, result)
        if self.export is not None and self.block is not None:
            found = direction_of(result, self.block, self.component or 1, self.side)
            write_direction(found, self.export)
            parts["exported"] = trial_report.exported(found, self.export)
        if self.sizes:
            parts["steered"] = self._steered(result, device)
        blocks, frame = self.view.blocks, None
        if self.shared is not None:
            blocks = parse_blocks(self.shared, result.n_blocks)
            parts["shared"], frame = self._shared(result, blocks, device)
        if self.ablate:
            if frame is not None and not frame.size:
                raise InputError("these blocks share no direction beyond chance: nothing to ablate")
            removed = ablate(
                result, blocks=blocks, k=self.k, frame=frame, device=device, progress=False
            )
            parts["ablated"] = trial_report.ablated(removed)
        return together(parts)

    def _shared(
        self, result: DirectionsResult, blocks: tuple[int, ...], device: str | None
    ) -> tuple[Told, np.ndarray]:
        """What blocks have in common, read out; and its directions, in columns."""
        found = shared_of(result, DirectionsView(blocks, self.k), self.side)
        frame = found.directions[:, : found.count]
        readout, read = "writes" if self.side == "u" else "reads", None
        if found.count and readout not in result.missing:
            read = read_out(result, frame, readout=readout, device=device, progress=False)
        return trial_report.shared(found, blocks, self.side, read), frame

    def _steered(self, result: DirectionsResult, device: str | None) -> Told:
        """Along an imported direction where its file says, or along those of the block."""
        leading = self.k or min(FEW, result.count)
        given = self.given
        found = steer(
            result,
            block=(self.block or -1) if given is None else given.about["block"],
            side=self.side if given is None else given.about["side"],
            components=[self.component] if self.component else range(1, leading + 1),
            sizes=self.sizes,
            direction=None if given is None else given.vector,
            device=device,
            progress=False,
        )
        return trial_report.steered(found)
