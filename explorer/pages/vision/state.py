"""What is chosen on the Vision page, and how its figures are read."""

import re
from dataclasses import dataclass
from typing import Annotated

from coupling_core.base.records import VisionKind
from coupling_core.experiments.gallery import VISION_K
from explorer.session.link import Count, Natural, Parameter, expect
from explorer.session.state import State

_PICTURE = re.compile(r"[\w-]{1,40}(/[\w-]{1,40})?")
_Picture = Annotated[str, expect(_PICTURE.fullmatch, "the name of a picture")]
_RATE = re.compile(r"0(\.\d{1,6})?")
_Rate = Annotated[str, expect(_RATE.fullmatch, "a number from 0 up to, but not, 1")]
GUIDE = """
**A run a point.** Every run is the same architecture with the same pictures; only the rate of
stochastic depth and the seed differ. Stochastic depth leaves out each block at random while the
model learns, the last one at the given rate and earlier ones less often.

**Coupling** is the mean score over all pairs of blocks and over many pictures: at the class token,
from which the classes are read, or between all tokens of a picture. Bars are 95 % intervals over
pictures; the band is that of the mean over seeds, by Student's *t*. Runs of one seed begin with the
same weights and see the images in the same order at every rate, so that the bands of two rates move
together: what is said of rates compares them within seeds.

**The picture.** Each patch is a token of its own. Click one, or the class token above, and the maps
beside it are of that token: one a rate, in one range. 0 is what a basis that has nothing to do with
the block would give, 1 is full coupling.

**Cause.** Rates were set by hand, so that a difference between rates beyond chance is the doing of
the rate. Whether coupling is what makes a model accurate does not follow from any of it.
"""


@dataclass(frozen=True)
class VisionState(State):
    """What is chosen on this page.

    Args:
        picture: which one is shown; empty is the first.
        patch: the token of it that is measured, 1..n.
        vision_seed: of the runs whose maps are drawn.
        rate: of stochastic depth, the run that is looked at; empty is the first.
        vision_kind: what is compared over the runs.
        vision_k: number of leading triplets.
    """

    picture: _Picture = ""
    patch: Count = 1
    vision_seed: Annotated[Natural, Parameter("seed")] = 0
    rate: _Rate = ""
    vision_kind: Annotated[VisionKind, Parameter("vkind")] = "depth"
    vision_k: Annotated[Count, Parameter("vk")] = VISION_K
