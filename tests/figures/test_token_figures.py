"""Figures of tokens: what is drawn, where, in which range, and in which words."""

import numpy as np
import pytest
import tiny
from masked import masked

from coupling_core import InputError, Request, View, figures, measure, score_positions
from coupling_core.analysis.locality import by_distance
from coupling_core.figures import export, render, style
from coupling_core.figures.score_squares import window

PROMPT = "The cat\nsat <😀>"
VIEW = View(k=5)
FORBIDDEN = "forbidden by causality"


@pytest.fixture(scope="module")
def measured():
    """Measurements of one tiny model, each made once."""
    model, words, made = tiny.model("llama"), tiny.tokenizer(), {}

    def measured(kind, progress=None, **changes):
        asked = Request(PROMPT, **{"kind": kind, "k": 5, "k_view": 5} | changes)
        if progress is not None:
            return measure(asked, model=model, tokenizer=words, progress=progress)
        if asked not in made:
            made[asked] = measure(asked, model=model, tokenizer=words)
        return made[asked]

    return measured


@pytest.fixture
def itself(measured):
    return measured("self", block=1, other_block=3)


@pytest.fixture
def into(measured):
    return measured("fixed-output", block=1, other_block=3, token=6)


@pytest.fixture
def means(measured):
    return measured("fixed-input", token=4)


def trace(figure, name):
    """The first one of that name, which two may share."""
    return next(t for t in figure.data if t.name == name)


def test_the_grid_has_the_scores_in_the_fixed_range(itself, means):
    for result in (itself, means):
        found, figure = score_positions(result, VIEW), figures.scores(result, VIEW)
        np.testing.assert_allclose(figure.data[0].z, found.corrected.astype(np.float32))
        assert not found.against_itself().any()
        assert (figure.data[0].zmin, figure.data[0].zmax) == style.CORRECTED_COLORS
        raw = figures.scores(result, VIEW, corrected=False)
        np.testing.assert_allclose(raw.data[0].z, found.coupling.astype(np.float32))
        assert (raw.data[0].zmin, raw.data[0].zmax) == style.RAW_RANGE
    auto = figures.scores(itself, VIEW, auto_range=True)
    assert auto.data[0].zmax == pytest.approx(score_positions(itself, VIEW).corrected.max())
    assert FORBIDDEN not in [t.name for t in auto.data]
    points = trace(auto, "pairs")
    assert list(points.customdata[2, 4]) == [3, 5]
    assert (points.x[4], points.y[2]) == (4, 2)


def test_a_token_with_itself_in_one_block_is_grey_and_named(measured):
    alone = measured("self", block=2)
    figure, whole = figures.scores(alone, VIEW), np.eye(len(alone.tokens), dtype=bool)
    (grey,) = [t for t in figure.data if t.showlegend]
    assert np.array_equal(grey.z == 0, whole)
    assert np.array_equal(np.isnan(figure.data[0].z), whole)
    assert trace(figure, "pairs").text[1, 1].endswith("always 1")
    assert not [t for t in figures.mosaic(alone, VIEW).data if t.showlegend]


def test_what_waits_is_grey_and_told_apart(measured):
    for more in ({}, {"block": 1}):
        seen = []
        measured("self", progress=seen.append, **more)
        partial = next(p.partial for p in seen if p.partial is not None and not p.partial.complete)
        figure = figures.scores(partial, VIEW)
        assert any("not measured yet" in str(t.name) for t in figure.data)
        assert figures.distance(partial, VIEW).layout.meta["alt"]


def test_a_window_shows_part_of_the_prompt(itself):
    rows, columns = (2, 3, 4), (5, 6)
    figure = figures.scores(itself, VIEW, rows=rows, columns=columns, selected=(3, 6))
    found = score_positions(itself, VIEW).corrected
    np.testing.assert_allclose(figure.data[0].z, found[1:4, 4:6].astype(np.float32))
    (outline,) = figure.layout.shapes
    assert (outline.x0, outline.y0) == (0.5, 0.5)
    assert not figures.scores(
        itself, VIEW, rows=rows, columns=columns, selected=(1, 6)
    ).layout.shapes
    for shown, expected in (([1, 2], (1, 2)), (range(2, 4), (2, 3))):
        assert window(itself, shown) == expected
    assert window(itself, [-1]) == (len(itself.tokens),)
    with pytest.raises(InputError):
        window(itself, [99])


def test_every_figure_has_its_words_and_a_table(itself, into, means, snapshot):
    n = len(itself.tokens)
    grid = figures.scores_table(into, VIEW)
    assert len(grid) == n * n
    assert grid["corrected"].isna().sum() == n * n - 36
    assert list(grid.iloc[n + 2][["token", "other_token"]]) == [2, 3]
    distance = by_distance(score_positions(means, VIEW)).to_pandas()
    assert list(distance["distance"]) == list(range(n - 3))
    mean = trace(figures.distance(means, VIEW), "mean").y
    np.testing.assert_allclose(mean, distance["mean"])
    assert figures.matrix_table(itself, 2, 3, VIEW).shape == (5, 5)
    assert len(figures.spectrum_table(itself, VIEW)) == 2 * n
    assert len(figures.score_by_k_table(itself, 2, 3, VIEW)) == itself.k_max
    shown = {
        "grid of means": figures.scores(means, VIEW),
        "grid with forbidden cells": figures.scores(into, VIEW),
        "grid with low ranks": figures.scores(into, View(k=25)),
        "mosaic": figures.mosaic(itself, VIEW),
        "distance": figures.distance(means, VIEW),
        "matrix of which a corner is kept": figures.matrix(itself, 1, 2, View(k=20)),
        "forbidden matrix": figures.matrix(into, 2, 7, VIEW),
        "spectrum": figures.spectrum(itself, VIEW),
    }
    # Numbers of a model can differ in the last digit from one machine to another.
    said = {name: dict(figure.layout.meta) for name, figure in shown.items()}
    assert masked(said, r"-?\d+\.\d+(e-\d+)?", "#.#") == snapshot


def test_a_file_has_its_legend_between_the_axis_and_the_notes(into):
    page = export.on_paper(figures.scores(into, VIEW), into, VIEW)
    note = next(a for a in page.layout.annotations if a.name == "provenance")
    top_of_notes = page.layout.margin.b + note.yshift  # pixels above the lower edge
    assert top_of_notes < page.layout.legend.y * page.layout.height < page.layout.margin.b
    text = render(figures.scores(into, VIEW), ".html", into, VIEW).decode()
    assert "in blocks 1 and 3, output token 6 of" in text
