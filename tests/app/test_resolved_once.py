"""A page looks for each of its models once, however often it asks for them."""

from collections import Counter

import pytest
from screen import PAGES, Open

from coupling_core.base.records import Request
from coupling_core.sources import resolved
from coupling_core.sources.identity import Source, locate
from explorer.server import backend

pytestmark = pytest.mark.real


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often a model was looked for since the page began."""
    found: Counter[str] = Counter()

    def counted(request: Request) -> Source:
        found[f"{request.model}@{request.revision}"] += 1
        return locate(request)

    def began() -> None:
        found.clear()
        begin()

    begin = backend.look_again
    for module in (resolved, backend):
        monkeypatch.setattr(module, "locate", counted)
    monkeypatch.setattr(backend, "look_again", began)
    return found


OF_NO_MODEL = ("Generalization", "Vision", "Runs", "Method", "Train one", "Tour", "Classroom")


@pytest.mark.parametrize("title", [title for title in PAGES if title != "Training"])
def test_a_page_looks_for_a_model_once(open_page: Open, looked: Counter[str], title: str) -> None:
    app = open_page(title)
    assert not app.exception
    assert set(looked.values()) <= {1}
    assert looked or title in (
        "Generalization",
        "Vision",
        "Runs",
        "Method",
        "Train one",
        "Tour",
        "Classroom",
    )


def test_a_click_looks_for_its_model_once(open_page: Open, looked: Counter[str]) -> None:
    app = open_page("Depth", prompt="What was never measured here")
    app.button[0].click()
    app.run()
    assert not app.exception
    assert looked == {"smollm2-135m@None": 1}
