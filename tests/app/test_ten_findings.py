"""The ten findings on Start: sentences with numbers of what ships, and ways to their figures."""

import re

import numpy as np
import pytest
from screen import Open, charts

from coupling_core import Request
from coupling_core.analysis.scores import mean_off_diagonal, score_pairs
from coupling_core.base.records import View
from coupling_core.experiments.gallery import EXAMPLES
from explorer.asking.queue import queue
from explorer.frame.contents import LINKS
from explorer.pages.ten_findings import ALL
from explorer.server import backend


def test_there_are_ten_with_numbers_and_none_says_nan() -> None:
    told = [one.told() for one in ALL]
    assert len(set(told)) == 10
    for sentence in told:
        assert re.search(r"\d", sentence)
        assert "nan" not in sentence
        assert sentence.endswith(".")


def test_the_first_two_have_the_means_of_the_stored_results() -> None:
    results = [backend.find(Request(EXAMPLES[0], untrained=seed)) for seed in (None, 0)]
    for sentence, name in ((ALL[0].told(), "corrected"), (ALL[1].told(), "coupling")):
        for result in results:
            mean = mean_off_diagonal(getattr(score_pairs(result, View()), name))
            assert f"{np.round(mean, 3) + 0.0:.3f}" in sentence


@pytest.mark.full
@pytest.mark.parametrize("number", range(10))
def test_a_finding_leads_to_a_figure_that_is_stored(open_page: Open, number: int) -> None:
    one = ALL[number]
    chosen, wrong = LINKS.check(one.chosen)
    assert not wrong
    query = LINKS.write(LINKS.defaults | chosen)
    app = open_page(one.page.title, **query)
    assert not app.error
    assert charts(app) or one.page.title == "Train one"
    assert not queue().active()
