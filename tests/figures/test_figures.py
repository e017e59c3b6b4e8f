"""Figures: what is drawn, where, in which range, and in which words."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from cases import depth_result, planted_jacobians, random_result
from checks import trace

from coupling_core import (
    ComputeError,
    View,
    figures,
    mean_off_diagonal,
    score_pairs,
)
from coupling_core.analysis.scores import block_means
from coupling_core.analysis.subspaces import chance_angles
from coupling_core.figures import style
from coupling_core.figures.export import WIDTH, on_paper, options

VIEW = View(k=6)
RESULT = random_result(n_blocks=5, width=16, k_max=8, k_view=4)
LOW_RANK = replace(RESULT, rank=np.array([8, 8, 3, 8, 8]))
ITSELF = np.eye(5, dtype=bool)


def partial():
    """The first three of five blocks are measured."""
    of_blocks = dict.fromkeys(("singular_values", "jacobian_norm", "next_singular_value"), (0,))
    of_blocks |= {"chance": (1,)} | dict.fromkeys(("diagonal", "off_diagonal", "matrices"), (1, 2))
    arrays = {"angles": np.full_like(RESULT.angles, np.nan)}
    for name, axes in of_blocks.items():
        arrays[name] = np.array(getattr(RESULT, name))
        for axis in axes:
            np.moveaxis(arrays[name], axis, 0)[3:] = np.nan
    return replace(RESULT, key=RESULT.key, **arrays)


PARTIAL = partial()
MARKUP = ("<s>", " a&b", " <b>", " </div>")
AWKWARD = replace(
    RESULT, request=replace(RESULT.request, prompt="".join(MARKUP)), tokens=MARKUP
)  # texts that would be read as markup


def every_figure(result, view=VIEW):
    return {
        "scores": figures.scores(result, view, selected=(2, 4)),
        "mosaic": figures.mosaic(result, view),
        "matrix": figures.matrix(result, 2, 4, view),
        "spectrum": figures.spectrum(result, view, selected=(2, 4)),
        "score_by_k": figures.score_by_k(result, 2, 4, view),
        "angles": figures.angles(result, 2, 4, view),
    }


def greys(figure):
    return [t for t in figure.data if t.type == "heatmap" and t.showlegend]


def test_what_figures_of_blocks_say(snapshot):
    twin = replace(RESULT, request=replace(RESULT.request, untrained=3))
    shown = every_figure(RESULT) | {
        "mean by k": figures.mean_by_k(RESULT, VIEW),
        "raw scores": figures.scores(RESULT, VIEW, corrected=False),
        "auto range": figures.scores(RESULT, VIEW, auto_range=True),
        "role B": figures.scores(RESULT, View(k=3, role="B", p=2.5)),
        "partial": figures.scores(PARTIAL, VIEW),
        "low rank": figures.scores(LOW_RANK, VIEW),
        "untrained": figures.scores(twin, VIEW),
        "whole mosaic": figures.mosaic(RESULT, View(k=3)),
    }
    said = {name: dict(figure.layout.meta) for name, figure in shown.items()}
    for name, figure in shown.items():
        layout = figure.layout
        assert layout.template.layout.paper_bgcolor == "rgba(0, 0, 0, 0)", name
        assert layout.xaxis.title.text, name
        assert layout.yaxis.title.text, name
        bars = [t.colorbar.title.text for t in figure.data if t.type == "heatmap"]
        said[name]["bar"] = bars[0] if bars else ""
    cells = trace(shown["scores"], "pairs").text
    assert {"figures": said, "hover": [cells[1][1], cells[1][3]]} == snapshot


# ---- the score map


def test_the_score_map_draws_the_scores_in_a_fixed_range_or_in_that_of_the_data():
    found = score_pairs(RESULT, VIEW)
    for is_corrected, wanted, bounds in (
        (True, found.corrected, style.CORRECTED_COLORS),
        (False, found.coupling, (0, 1)),
    ):
        figure = figures.scores(RESULT, VIEW, corrected=is_corrected)
        shown = figure.data[0]
        assert shown.z.dtype == np.float32
        assert shown.z[~ITSELF] == pytest.approx(wanted[~ITSELF], abs=1e-6)
        assert (shown.zmin, shown.zmax) == bounds
        colours = {round(at, 6): colour for at, colour in shown.colorscale}
        chance = round((0 - shown.zmin) / (shown.zmax - shown.zmin), 6)  # and other colours below
        assert colours[chance] == style.SEQUENTIAL[0]
        assert len({*colours.values()} - {*style.SEQUENTIAL}) == (2 if is_corrected else 0)
        (grey,) = greys(figure)  # a block with itself, which is never coloured
        assert np.array_equal(grey.z == 0, ITSELF)
        assert np.array_equal(np.isnan(shown.z), ITSELF)
    auto = figures.scores(RESULT, VIEW, auto_range=True).data[0]
    assert (auto.zmin, auto.zmax) == pytest.approx((np.nanmin(auto.z), np.nanmax(auto.z)))


def test_rows_are_jacobians_from_the_top_and_cells_have_their_pair_and_numbers():
    view = View(k=6, blocks=(2, 3, 5))
    figure, found = figures.scores(RESULT, view), score_pairs(RESULT, view)
    layout, points = figure.layout, trace(figure, "pairs")
    assert layout.yaxis.title.text == "Jacobian of block l"
    assert layout.xaxis.title.text == "Basis of block l'"
    assert list(layout.yaxis.ticktext) == list(layout.xaxis.ticktext) == ["2", "3", "5"]
    assert layout.yaxis.range[0] > layout.yaxis.range[1]
    assert layout.xaxis.range[0] < layout.xaxis.range[1]
    at = 1, 2  # row, column
    assert points.customdata[at].tolist() == [3, 5]
    assert (points.x[2], points.y[1]) == (2, 1)
    for numbers in (found.coupling, found.chance, found.corrected):
        assert f"{numbers[at]:.3f}" in points.text[at]


def test_the_selected_cell_is_outlined_where_it_is_shown():
    (shape,) = figures.scores(RESULT, VIEW, selected=(2, 4)).layout.shapes
    assert (shape.y0, shape.y1, shape.x0, shape.x1) == (0.5, 1.5, 2.5, 3.5)
    hidden = View(k=6, blocks=(1, 2))
    assert not figures.scores(RESULT, hidden, selected=(2, 4)).layout.shapes


def test_cells_that_wait_or_lie_above_the_rank_are_grey():
    waits = {name: [t.name for t in greys(f)] for name, f in every_figure(PARTIAL).items()}
    assert {name for name, grey in waits.items() if grey} == {"scores", "mosaic", "matrix"}
    figure = figures.scores(PARTIAL, VIEW)
    (grey,) = greys(figure)
    empty = np.isnan(figure.data[0].z)
    assert empty.sum() == 25 - 9 + 3  # and three blocks with themselves
    assert np.array_equal(~np.isnan(grey.z), empty)
    assert grey.name.endswith("not measured yet")
    assert trace(figure, "pairs").text[0, 4].endswith("not measured yet")
    low = figures.scores(LOW_RANK, VIEW)
    assert np.isnan(low.data[0].z).sum() == 9 + 4
    assert "rank" in greys(low)[0].name
    assert "rank" in trace(low, "pairs").text[0, 2]
    (grey,) = greys(figures.mosaic(PARTIAL, VIEW))
    assert np.isnan(grey.z[:3, :3]).all()
    assert (grey.z[3:] == 0).all()
    assert (grey.z[:, 3:] == 0).all()


# ---- the mosaic and one matrix


def test_the_mosaic_holds_each_matrix_at_its_place():
    for role, magnitude in (("A", True), ("A", False), ("B", False)):
        view = View(k=3, role=role, blocks=(1, 4, 5))
        figure = figures.mosaic(RESULT, view, magnitude=magnitude)
        z = figure.data[0].z
        assert z.shape == (3 * 3 + 2 * 2,) * 2
        cell = z[5:8, 10:13]  # second row, third column: block 4 in the basis of block 5
        wanted = RESULT.matrix(4, 5, role)[:3, :3] / RESULT.singular_values[3, 0]
        assert cell == pytest.approx(np.abs(wanted) if magnitude else wanted, abs=1e-6)
        assert np.isnan(z[3:5]).all()
        assert np.isnan(z[:, 8:10]).all()
        points = trace(figure, "pairs")
        assert list(points.x) == list(points.y) == list(figure.layout.yaxis.tickvals) == [1, 6, 11]
        assert points.customdata[1, 2].tolist() == [4, 5]


def test_magnitudes_start_at_0_and_signed_entries_are_centred_on_it():
    for draw in (
        lambda **how: figures.mosaic(RESULT, VIEW, **how),
        lambda **how: figures.matrix(RESULT, 2, 4, VIEW, **how),
    ):
        magnitude, signed = draw(magnitude=True).data[0], draw(magnitude=False).data[0]
        assert (magnitude.zmin, magnitude.zmax) == (0, style.MATRIX_LIMIT)
        assert (signed.zmin, signed.zmax) == (-style.MATRIX_LIMIT, style.MATRIX_LIMIT)
        assert np.nanmin(magnitude.z) >= 0 > np.nanmin(signed.z)
    auto = figures.mosaic(RESULT, VIEW, magnitude=False, auto_range=True).data[0]
    assert auto.zmax == -auto.zmin == pytest.approx(np.nanmax(np.abs(auto.z)))


def test_one_matrix_is_that_of_its_pair_in_units_of_s1():
    s1 = RESULT.singular_values[1, 0]
    for role, of_rows in (("A", "u"), ("B", "v")):
        view = View(k=3, role=role)
        figure = figures.matrix(RESULT, 2, 4, view, magnitude=False)
        shown = figure.data[0]
        assert shown.z == pytest.approx(RESULT.matrix(2, 4, role)[:3, :3] / s1, abs=1e-6)
        assert list(shown.x) == list(shown.y) == [1, 2, 3]
        assert figure.layout.yaxis.title.text == f"Singular vector {of_rows} of block 4"
        assert figures.matrix_table(RESULT, 2, 4, view).to_numpy() == pytest.approx(shown.z)
    assert f"s₁ = {s1:.3g}" in shown.colorbar.title.text


# ---- curves


def test_the_spectrum_marks_k_and_the_gap_there():
    s = RESULT.singular_values.astype(float)
    inner = figures.spectrum(RESULT, VIEW, selected=(2, 4))
    assert inner.layout.shapes[0].x0 == 6
    assert f"= {s[1, 5] / s[1, 6]:.4f} in block 2" in inner.layout.annotations[0].text
    last = figures.spectrum(RESULT, View(k=8))
    gaps = s[:, 7] / RESULT.next_singular_value
    assert f"{gaps.min():.4f} to {gaps.max():.4f}" in last.layout.annotations[0].text
    full = depth_result(planted_jacobians(3, 8, coupling=0.5), 8, 4)
    assert figures.spectrum(full, View(k=8)).layout.annotations[0].text == "K = 8"
    table = figures.spectrum_table(RESULT, View(k=6, blocks=(2, 5)))
    assert list(table.block) == [2, 5]
    assert table.loc[1, "s_3"] == RESULT.singular_values[4, 2]
    assert table.loc[0, "gap"] == pytest.approx(s[1, 5] / s[1, 6])


def test_the_mean_score_against_k_leaves_out_the_trivial_pairs():
    view = View(k=6, definition="page", blocks=(1, 2, 4))
    for is_corrected in (True, False):
        figure = figures.mean_by_k(RESULT, view, corrected=is_corrected)
        for k in range(1, 9):
            found = score_pairs(RESULT, replace(view, k=k))
            wanted = mean_off_diagonal(found.corrected if is_corrected else found.coupling)
            assert trace(figure, "score").y[k - 1] == pytest.approx(wanted)
            floor = 0 if is_corrected else mean_off_diagonal(found.chance)
            assert trace(figure, "chance").y[k - 1] == pytest.approx(floor)
        assert trace(figure, "K = 6").y[0] == trace(figure, "score").y[5]
    alone = figures.mean_by_k(RESULT, View(k=6, blocks=(2,)))
    assert np.isnan(trace(alone, "score").y).all()


def test_means_count_only_the_pairs_that_have_a_score():
    for one in (PARTIAL, LOW_RANK):
        found = score_pairs(one, VIEW)
        as_jacobian, as_basis = block_means(found.corrected)
        others = np.where(ITSELF, np.nan, found.corrected)
        assert as_jacobian[0] == pytest.approx(np.nanmean(others[0]))
        assert as_basis[1] == pytest.approx(np.nanmean(others[:, 1]))
        figure = figures.mean_by_k(one, VIEW)
        assert trace(figure, "score").y[5] == pytest.approx(mean_off_diagonal(found.coupling))
        floor = np.where(np.isnan(found.coupling), np.nan, found.chance)
        assert trace(figure, "chance").y[5] == pytest.approx(mean_off_diagonal(floor))
    assert np.isnan(as_jacobian[2])


def test_angles_by_chance_are_those_of_random_subspaces():
    rng = np.random.default_rng(0)
    for k, width in ((40, 400), (150, 200), (64, 64)):
        sample = []
        for _ in range(10):
            U, V = (np.linalg.qr(rng.standard_normal((width, k)))[0] for _ in range(2))
            cosines = np.linalg.svd(U.T @ V, compute_uv=False)
            sample.append(np.degrees(np.arccos(cosines.clip(0, 1))))
        assert chance_angles(k, width) == pytest.approx(np.mean(sample, axis=0), abs=1.5)


def test_a_short_log_axis_has_its_labels():
    for low, high in ((0.2, 3.0), (3.1, 4.2), (0.05, 0.4)):
        axis = style.log_axis(np.array((low, high)))
        assert len([at for at in axis["tickvals"] if low <= at <= high]) >= 2
        assert [float(text) for text in axis["ticktext"]] == pytest.approx(axis["tickvals"])


# ---- files


def test_html_stands_alone_and_keeps_strange_tokens_apart_from_its_markup():
    page = figures.render(figures.scores(AWKWARD, VIEW), ".html", AWKWARD, VIEW).decode()
    assert len(page) > 3_000_000  # plotly.js is inside
    head, _, _ = page.partition("<script")
    assert "&lt;/div&gt;" in head
    assert "“</div>”" not in head
    assert '<script src="http' not in page


def test_a_figure_on_paper_is_white_and_says_where_it_comes_from():
    page = on_paper(figures.mosaic(AWKWARD, VIEW), AWKWARD, VIEW)
    (notes,) = [a for a in page.layout.annotations if a.name == "provenance"]
    text = notes.text.replace("<br>", " ")
    for words in ("random", "&lt;s&gt; a&amp;b", "K = 6", "float32", "numpy 2", "SVDs certified"):
        assert words in text
    assert page.layout.paper_bgcolor == "white"
    assert page.layout.margin.b > 16 * notes.text.count("<br>")
    doubtful = replace(RESULT.certificates[0], certified=False, reason="residual 1")
    mixed = replace(RESULT, certificates=(doubtful, *RESULT.certificates[1:]))
    assert "SVDs not all certified" in figures.provenance(mixed, VIEW)


@pytest.mark.full
def test_svg_is_vector_with_its_alternative_text_and_png_has_two_pixels_for_one():
    figure = figures.score_by_k(AWKWARD, 2, 4, VIEW)
    svg = figures.render(figure, ".svg", AWKWARD, VIEW).decode()
    assert svg.startswith("<svg")
    assert 'role="img"><title>Score c (paper' in svg
    assert "</div>" not in svg
    asked = options(on_paper(figure, AWKWARD, VIEW), ".png")
    assert (asked["format"], asked["scale"], asked["width"]) == ("png", 2, WIDTH)


def test_where_nothing_draws_that_is_told_with_a_way_out(monkeypatch):
    class Slow:
        def __init__(self, **_):
            raise TimeoutError("90 s")

    monkeypatch.setenv("BROWSER_PATH", "/nowhere/chromium")
    with pytest.raises(ComputeError, match=r"edges of a graph.*kaleido_get_chrome.*\.html"):
        figures.render(figures.graph(RESULT, VIEW), ".svg", RESULT, VIEW)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "coupling_core.figures.drawing")
    for why in ("could be started", "TimeoutError: 90 s"):
        with pytest.raises(ComputeError, match=rf"\[draw\].*{why}.*\.html"):
            figures.render(figures.scores(RESULT, VIEW), ".svg", RESULT, VIEW)
        monkeypatch.setattr("kaleido.Kaleido", Slow)
