"""Its page; in the app this lies in `explorer/pages/`."""

from dataclasses import dataclass
from functools import partial

from coupling_core.analysis.exports import frame
from coupling_core.base.records import AnyView, Request
from coupling_core.figures.style import new_figure
from explorer.panels.chart import Shown, draw, draw_partial
from explorer.panels.page import Page
from explorer.panels.recipes import Recipes, call, measuring
from explorer.panels.strip import strip
from explorer.session.state import State
from toy import NormsResult


@dataclass(frozen=True)
class ToyState(State):
    def toy_request(self) -> Request:
        asked = vars(self.request()) | {"kind": "toy", "k": Request.k}
        return Request(**asked)


PAGE = Page("Toy", "pages/11_Toy.py", state=ToyState, kinds=("toy",))


def show(result: NormsResult) -> None:
    shown = Shown(result, AnyView())
    recipes = Recipes(call(result.request), measuring("toy", result.request, {}, {}))
    strip(*shown, recipes, "")
    draw(_figure(result), "norms", shown, partial(frame, *shown))


def partial_norms(result: NormsResult) -> None:
    draw_partial(_figure(result))


def _figure(result: NormsResult):
    return new_figure("Norms by depth.", "One a state.").add_scatter(y=result.norms.tolist())
