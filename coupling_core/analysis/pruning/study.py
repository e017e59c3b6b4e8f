"""What was measured of removing blocks, as it is written to a file and read back."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import TypeAdapter, ValidationError

from coupling_core.analysis.pruning.prices import Cut, Point, Price, curve, price
from coupling_core.analysis.pruning.rankings import Ranking
from coupling_core.base.errors import InputError, problems, reason
from coupling_core.base.notebook import table_of
from coupling_core.base.reading import TEXT, read_bytes

if TYPE_CHECKING:  # pandas takes half a second to import, and only tables need it
    from pandas import DataFrame

FORMAT = "coupling prune 1"
"""What such a file says of itself."""
FLOAT32_BYTES = 4


@dataclass(frozen=True, kw_only=True)
class Study:
    """Rankings of a model's blocks, and the held-out loss of what each of them removes.

    Two are equal where all but their provenance is.

    Args:
        model: its name, for people.
        asked: what names it: `model`, `revision`, `untrained`, `dtype`.
        digest: of its content.
        parameters: how many it has.
        block_parameters: how many each block has.
        source: where the texts come from.
        ranked_on: the texts by which blocks were ranked.
        judged_on: the others, whose loss is told.
        predicted: how many tokens of each of those are predicted.
        own_loss: sum of the whole model's loss of each, in nats.
        cuts: every set of blocks that was removed.
        by_block: numbers of single blocks that rankings rest on, by ranking: mean chance-corrected
            score with the neighbours (`coupling`), Block Influence (`influence`), KL in nats when
            skipped alone (`kl`).
        provenance: device, kind of processor, versions, date, seconds.
    """

    model: str
    asked: Mapping[str, Any]
    digest: str
    parameters: int
    block_parameters: tuple[int, ...]
    source: str
    ranked_on: tuple[str, ...]
    judged_on: tuple[str, ...]
    predicted: tuple[int, ...]
    own_loss: tuple[float, ...]
    cuts: tuple[Cut, ...]
    by_block: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @property
    def n_blocks(self) -> int:
        """L."""
        return len(self.block_parameters)

    @cached_property
    def whole(self) -> Price:
        """The loss of the model as it is, with its interval over texts."""
        return price(self.own_loss, np.array(self.predicted))

    @cached_property
    def curve(self) -> tuple[Point, ...]:
        """Every ranking at every number of blocks removed."""
        return curve(self.cuts, np.array(self.predicted))

    @property
    def rankings(self) -> tuple[Ranking, ...]:
        """Those that were measured."""
        return tuple(dict.fromkeys(point.by for point in self.curve))

    def point(self, by: str, removed: int) -> Point:
        """A ranking at a number of blocks removed; `InputError` where it was not measured."""
        points: dict[tuple[str, int], Point] = {(at.by, at.removed): at for at in self.curve}
        if (by, removed) not in points:
            counts = ", ".join(map(str, sorted({of for _, of in points})))
            raise InputError(
                f"{removed} blocks by {by} were not measured: this has "
                f"{', '.join(self.rankings)}, with {counts} blocks removed"
            )
        return points[by, removed]

    def megabytes(self, blocks: Sequence[int]) -> float:
        """What blocks take in float32, in MB; half of it in 16 bits."""
        return FLOAT32_BYTES * sum(self.block_parameters[block - 1] for block in blocks) / 1e6

    def to_pandas(self) -> "DataFrame":
        """A row for each ranking and number of blocks removed: losses in nats a token.

        `low` and `high` are 95 % intervals over texts; of `random`, which is the median over its
        draws, the 5 % and 95 % quantiles over draws. `beats` counts random draws that are dearer.
        Its `attrs` say of which model, and over how many texts.
        """
        names = ("loss", "low", "high")
        rows = [
            {
                "by": point.by,
                "removed": point.removed,
                "blocks": " ".join(map(str, point.blocks)),
                "megabytes": self.megabytes(point.blocks) if point.blocks else np.nan,
                **{name: getattr(point.left_out, name) for name in names},
                **{f"tied_{name}": getattr(point.tied, name, np.nan) for name in names},
                "beats": np.nan if point.beats is None else point.beats,
                "against_random": point.verdict,
            }
            for point in self.curve
        ]
        told = {name: value for name, value in self.asked.items() if value}
        return table_of(rows, told | {"model": self.model, "texts": len(self.judged_on)})

    def to_json(self) -> str:
        """All of it, as `read` takes it back."""
        own = {item.name: getattr(self, item.name) for item in fields(Study)}
        cuts = [
            asdict(replace(cut, loss=_rounded(cut.loss), tied=_rounded(cut.tied)))
            for cut in self.cuts
        ]
        own |= {"cuts": cuts, "own_loss": _rounded(self.own_loss)}
        return json.dumps({"format": FORMAT} | own, default=dict, ensure_ascii=False)

    @staticmethod
    def read(path: Path) -> "Study":
        """Read what `to_json` gave; `InputError` where the file is another one."""
        try:
            found = json.loads(read_bytes(path, TEXT))
            if not isinstance(found, dict) or found.pop("format", "") != FORMAT:
                raise ValueError("it is of another form")
            return TypeAdapter(Study).validate_python(found)
        except (OSError, ValueError, RecursionError) as error:
            why = problems(error) if isinstance(error, ValidationError) else reason(error)
            raise InputError(
                f"{path} is not what `coupling prune --out FILE.json` writes: {why}"
            ) from error


def _rounded(losses: Sequence[float]) -> tuple[float, ...]:
    """Sums of losses to a millionth: they are computed in float32."""
    return tuple(round(loss, 6) for loss in losses)
