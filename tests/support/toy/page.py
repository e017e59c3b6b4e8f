"""Its page; in the app this lies in `explorer/pages/`."""

from dataclasses import dataclass

from coupling_core.base.records import AnyView, Request
from explorer.panels.chart import Shown, draw_named
from explorer.panels.page import Page
from explorer.panels.recipes import Recipes, call, measuring
from explorer.panels.strip import strip
from explorer.session.state import State
from toy import NormsResult


@dataclass(frozen=True)
class ToyState(State):
    def toy_request(self) -> Request:
        return Request(**vars(self.request()) | {"kind": "toy", "k": Request.k})


PAGE = Page("Toy", "pages/11_Toy.py", state=ToyState, kinds=("toy",))


def show(result: NormsResult) -> None:
    shown, request = Shown(result, AnyView()), result.request
    strip(*shown, Recipes(call(request), measuring("toy", request, {}, {})), "")
    draw_named("norms", shown)
