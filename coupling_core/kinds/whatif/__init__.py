"""What if: the model's depth edited, and what that does to what it says."""

from coupling_core.base.kinds import KindOfResult
from coupling_core.base.records import EffectView
from coupling_core.base.results import WhatIfResult

KINDS = (KindOfResult("what-if", __name__, WhatIfResult, EffectView),)
