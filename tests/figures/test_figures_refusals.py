"""What figures refuse, and in which words: in one table."""

import tiny
from cases import directions_result, random_result
from refused import refusals
from sweep_table import sweep_of, zoo

from coupling_core import View, figures, measure
from coupling_core.analysis import statistics as st


def test_what_figures_refuse(snapshot):
    view, result = View(k=6), random_result()
    trends = st.prompt_trends(sweep_of(zoo()), "tokens", 8)
    directions, model = directions_result(), tiny.model("llama")
    pairs = measure((3, 1, 4, 1, 5), model=model, kind="self", block=1, other_block=3, k=5)
    past = View(k=9)
    calls = {
        "matrix of a block that is none": lambda: figures.matrix(result, 0, 1, view),
        "a file of another ending": lambda: figures.render(
            figures.scores(result, view), ".gif", result, view
        ),
        "a model of no trend": lambda: figures.coupling_by_prompt(trends, "nobody"),
        "track of a block that is none": lambda: figures.direction_track(directions, 99, 1),
        "token 99": lambda: figures.matrix(pairs, 99, 1, View(k=5)),
        "K of pairs of tokens": lambda: figures.scores(pairs, View(k=33)),
        "K of 0": lambda: View(k=0),
        "map at K = 9": lambda: figures.scores(result, past),
        "mosaic at K = 9": lambda: figures.mosaic(result, past),
        "spectrum at K = 9": lambda: figures.spectrum(result, past),
        "curve at K = 9": lambda: figures.score_by_k(result, 2, 4, past),
    }
    assert refusals(calls) == snapshot
