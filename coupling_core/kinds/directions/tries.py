"""What a command tries with directions beside showing them, and what is reported of that."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer

from coupling_core.analysis.directions import Shared, held, shared_of
from coupling_core.base.errors import InputError
from coupling_core.base.records import DirectionsView, parse_blocks
from coupling_core.base.results import DirectionsResult
from coupling_core.base.units import counted
from coupling_core.cli import files, options
from coupling_core.cli.terminal import Told, fact_lines, print_frame, print_lines, print_table
from coupling_core.measuring.trying import ablate, read_out, steer
from coupling_core.store.direction_file import (
    Direction,
    direction_of,
    read_direction,
    require_fits,
    write_direction,
)

CHANCE = "no more than chance"
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
        alone: Mapping[str, Any] = {"device": device, "progress": False}
        if self.given is not None:
            require_fits(self.given, result)
            parts["imported"] = _imported(self.given, result)
        if self.export is not None and self.block is not None:
            found = direction_of(result, self.block, self.component or 1, self.side)
            write_direction(found, self.export)
            told = f"{found.name}, to {self.export}"
            parts["exported"] = dict(found.about), partial(_show, exported=told)
        if self.sizes:
            parts["steered"] = self._steered(result, alone)
        blocks, frame = self.view.blocks, None
        if self.shared is not None:
            blocks = parse_blocks(self.shared, result.n_blocks)
            shared = shared_of(result, DirectionsView(blocks, self.k), self.side)
            frame = shared.directions[:, : shared.count]
            parts["shared"] = self._shared(result, shared, frame, alone)
        if self.ablate:
            if frame is not None and not frame.size:
                raise InputError("these blocks share no direction beyond chance: nothing to ablate")
            removed = ablate(result, blocks=blocks, k=self.k, frame=frame, **alone)
            numbers = {name: value for name, value in vars(removed).items() if name != "result"}
            parts["ablated"] = numbers, partial(_show, taken_out=removed.verdict)

        def show() -> None:
            for _, each in parts.values():
                each()

        return {name: numbers for name, (numbers, _) in parts.items()}, show

    def _shared(
        self, result: DirectionsResult, found: Shared, frame: np.ndarray, alone: Mapping[str, Any]
    ) -> Told:
        """How many directions blocks have in common, and what they are read as."""
        readout, does = ("writes", "write") if self.side == "u" else ("reads", "read")
        names = ("blocks", "count", "chance", "share")
        numbers = {name: getattr(found, name) for name in names}
        told = (
            f"{counted(found.count, 'direction')} that "
            f"{counted(len(found.blocks), 'block')} {does}, beyond chance: a share above "
            f"{found.chance:.3f}, which independent subspaces stay below; 1 lies in all"
        )
        if not found.count or readout in result.missing:
            return numbers, partial(_show, shared=told)
        read = read_out(result, frame, readout=readout, **alone)

        def show() -> None:
            _show(shared=told)
            readouts: Any = read.to_pandas().assign(share=found.share[: found.count])
            readouts.loc[~readouts.beyond_chance, ["towards", "away"]] = CHANCE, ""
            print_frame(readouts.drop(columns="beyond_chance"))

        return numbers | {"readouts": read.to_pandas().to_dict("records")}, show

    def _steered(self, result: DirectionsResult, alone: Mapping[str, Any]) -> Told:
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
            **alone,
        )
        table = found.to_pandas()

        def show() -> None:
            print_lines("", f"steered: x + size norm(x) u. {found.verdict}")
            print_frame(table)

        return {"measured_of": found.measured_of, "rows": table.to_dict("records")}, show


def _show(**facts: object) -> None:
    print_lines("", *fact_lines(**facts))


def _imported(direction: Direction, result: DirectionsResult) -> Told:
    """Which blocks' subspaces hold a direction, and how much chance would."""
    u, v = (held(result, direction.vector, side) for side in ("u", "v"))
    chance = float(np.sqrt(result.count / result.width))

    def show() -> None:
        share = f"the share of it in each block's {result.count} directions; by chance {chance:.3f}"
        _show(imported=[direction.name, share])
        rows = zip(range(1, result.n_blocks + 1), u, v, strict=True)
        print_table({"block": "d", "written": ".3f", "read": ".3f"}, rows)

    numbers = {"direction": direction.name, "about": dict(direction.about), "chance": chance}
    return numbers | {"held_u": u, "held_v": v}, show
