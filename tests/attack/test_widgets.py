"""What nobody chose is taken from no widget, and none raises, whatever is sent for it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from driving import ROOT, App, home_in, serving
from forged_widgets import SHARES, exceptions, forged
from streamlit.proto.WidgetStates_pb2 import WidgetState
from wire import Visitor, visiting

from explorer.session.widget_values import picked_row

PAGES = ["", *(path.stem.partition("_")[2] for path in sorted(ROOT.glob("pages/*.py")))]


def test_a_row_is_taken_only_where_there_is_one() -> None:
    assert picked_row({"selection": {"rows": [2]}}, 3) == 2
    rows = ([3], [-1], [True], ["1"], [1.0], [0, 1], [], None, 7, {"0": 1})
    nothing = (None, {}, [], "x", {"selection": None}, {"selection": [1]})
    for held in (*({"selection": {"rows": some}} for some in rows), *nothing):
        assert picked_row(held, 3) is None, held


@pytest.fixture(scope="module")
def at_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """Where nobody is a stranger: every widget that there is."""
    folder: Path = tmp_path_factory.mktemp("home")
    with serving(folder / "store", folder / "log.txt", COUPLING_HOME=home_in(folder)) as served:
        yield served


def unfold(visitor: Visitor, page: str) -> None:
    """Open a page with all that is folded away on it."""
    visitor.open(page)
    folds = [widget for widget, kind in visitor.widgets.items() if kind == "expandable"]
    visitor.send(*(WidgetState(id=fold, bool_value=True) for fold in folds))


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_no_value_of_any_type_raises_for_any_widget(at_home: App, page: str) -> None:
    raised = []
    with visiting(at_home.url) as visitor:
        unfold(visitor, page)
        for number, (widget, kind) in enumerate(dict(visitor.widgets).items()):
            if widget not in visitor.widgets:
                unfold(visitor, page)
            for state in [*forged(widget)][number % SHARES :: SHARES]:
                visitor.send(state)
                found = exceptions(visitor)
                raised += [f"{kind} {widget[-30:]} {str(state)[:200]}: {one}" for one in found]
                if found:
                    unfold(visitor, page)
    assert not raised
