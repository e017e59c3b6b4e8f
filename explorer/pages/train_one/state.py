"""What is chosen of a model that somebody trains, in the state."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import AfterValidator

from coupling_core.base.records import Goal
from coupling_core.experiments.own.plans import BLOCKS, DROPPED, RATES, WIDTHS, OwnPlan
from coupling_core.experiments.watching.run import require_name
from explorer.session.link import expect
from explorer.session.state import State

PUSHES: dict[str, Goal | None] = {"none": None, "raise": "raise", "lower": "lower"}
"""What a penalty may do to coupling."""
MOST_SHOWN = 2


def _named(text: str) -> str:
    for name in filter(None, text.split(",")):
        require_name(name)
    return text


_few = expect(lambda x: len(x.split(",")) <= MOST_SHOWN, f"a list of at most {MOST_SHOWN} names")
_Rate = Annotated[float, expect(lambda x: RATES[0] <= x <= RATES[1], "a learning rate")]
_Part = Annotated[float, expect(lambda x: 0 <= x <= DROPPED, f"a number from 0 to {DROPPED}")]


@dataclass(frozen=True)
class TrainOneState(State):
    """What is chosen on this page.

    Args:
        own_name: of the model; empty is one that is free.
        own_blocks: L.
        own_width: d.
        own_rate: the highest learning rate.
        own_drop: probability with which a text skips the last block.
        own_push: what a penalty does to coupling.
        own_seed: of all that is drawn.
        own_shown: names of the models that are drawn, between commas; empty is the latest.
    """

    own_name: Annotated[str, expect(lambda name: len(name) <= 64, "at most 64 letters")] = ""
    own_blocks: Annotated[int, expect(lambda n: n in BLOCKS, "2 to 12 blocks")] = OwnPlan.blocks
    own_width: Annotated[int, expect(lambda d: d in WIDTHS, f"one of {WIDTHS}")] = OwnPlan.width
    own_rate: _Rate = OwnPlan.learning_rate
    own_drop: _Part = OwnPlan.drop_path
    own_push: Literal["none", "raise", "lower"] = "none"
    own_seed: Annotated[int, expect(lambda n: 0 <= n <= 1000, "0 to 1000")] = OwnPlan.seed
    own_shown: Annotated[str, _few, AfterValidator(_named)] = ""

    def plan(self, free: str) -> OwnPlan:
        """The run that is asked for."""
        return OwnPlan(
            self.own_name or free,
            blocks=self.own_blocks,
            width=self.own_width,
            learning_rate=self.own_rate,
            drop_path=self.own_drop,
            goal=PUSHES[self.own_push],
            weight=WEIGHTS[self.own_push],
            seed=self.own_seed,
        )


WEIGHTS = {"none": OwnPlan.weight, "raise": OwnPlan.weight, "lower": 1.0}
"""Of the penalty in the loss: what moved coupling in small models (docs/preregistration.md)."""
