"""How it is looked at."""

from coupling_core.base.curves import Curves
from coupling_core.base.drawing import Figure
from coupling_core.base.records import AnyView
from toy import NormsResult

FIGURES = {"norms": Figure(Curves(["norms"], "state"), of_many="norms")}


def verdict(result: NormsResult, view: AnyView) -> str:
    return f"The last norm is {result.norms[-1]:.3g}."
