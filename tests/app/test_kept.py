"""What is kept of figures: those of the same results at the same settings, and no others."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from coupling_core import DepthResult, View, compare, figures
from coupling_core.store import archive
from explorer.panels import kept
from explorer.panels.chart import made, third


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    kept._kept.clear()
    yield
    kept._kept.clear()


def again(result: DepthResult) -> DepthResult:
    """As a page reads it at its next run."""
    return archive.decode(archive.encode(result))


def test_a_figure_is_made_once_for_one_result_and_view(gallery) -> None:
    file, view = archive.encode(gallery[0, True]), View()
    result, later = archive.decode(file), archive.decode(file)
    first = made(figures.scores, result, view, finish=third, corrected=True)
    assert made(figures.scores, later, View(), finish=third, corrected=True) is first
    for other in (
        made(figures.scores, result, view, finish=third, corrected=False),
        made(figures.scores, result, view, corrected=True),
        made(figures.scores, result, View(k=7), finish=third, corrected=True),
        made(figures.scores, again(gallery[0, False]), view, finish=third, corrected=True),
    ):
        assert other is not first


def test_a_result_of_the_same_key_that_has_other_numbers_has_its_own(gallery) -> None:
    true = again(gallery[0, True])
    forged = again(replace(true, singular_values=true.singular_values * 2))
    assert (forged.key, forged.provenance) == (true.key, true.provenance)
    one, other = (made(figures.spectrum, each, View()) for each in (true, forged))
    assert one is not other
    assert one != other
    untrained = again(gallery[0, False])
    one, other = (
        made(figures.comparison, compare(each, untrained, View(k=4)), of=each)
        for each in (true, forged)
    )
    assert one is not other


def test_what_is_still_measured_is_not_kept(gallery) -> None:
    partial = replace(again(gallery[0, True]))
    assert not archive.seal(partial)
    assert made(figures.scores, partial, View()) is not made(figures.scores, partial, View())
    assert not kept._kept
