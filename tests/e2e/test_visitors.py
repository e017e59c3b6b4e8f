"""Many sessions at once on a real server, without their browsers; the benchmark's own visits."""

import pytest
from driving import App

from benchmarks import load


@pytest.mark.slow
def test_stored_pages_are_drawn_for_all_who_come_at_once(app: App) -> None:
    found = load.looking(app.url, len(load.PAGES), arriving=0)
    assert found["errors"] == []
    assert {one["page"] for one in found["pages"]} == set(load.PAGES)
    assert not app.results


@pytest.mark.slow
def test_what_several_ask_for_is_computed_once_and_all_get_it(app: App) -> None:
    found = load.asking(app.url, app.store, 3 * load.QUESTIONS)
    assert found["errors"] == []
    assert found["computed"] == load.QUESTIONS
