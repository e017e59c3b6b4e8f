"""Figures: what is drawn, where, in which range, and in which words."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from cases import depth_result, planted_jacobians, random_result
from checks import trace
from plotly.colors import sample_colorscale

from coupling_core import (
    ComputeError,
    View,
    corrected,
    figures,
    mean_off_diagonal,
    score_by_k,
    score_pairs,
)
from coupling_core.analysis.scores import block_means
from coupling_core.analysis.subspaces import chance_angles
from coupling_core.figures import style
from coupling_core.figures.export import WIDTH, on_paper

VIEW = View(k=6)
PER_BLOCK = ("singular_values", "jacobian_norm", "next_singular_value")
PER_PAIR = ("diagonal", "off_diagonal", "matrices")


@pytest.fixture(scope="module")
def result():
    return random_result(n_blocks=5, width=16, k_max=8, k_view=4)


@pytest.fixture(scope="module")
def partial(result):
    """The first three of five blocks are measured."""
    arrays = {
        name: np.array(getattr(result, name))
        for name in (*PER_BLOCK, *PER_PAIR, "chance", "angles")
    }
    for name in PER_BLOCK:
        arrays[name][3:] = np.nan
    arrays["chance"][:, 3:] = np.nan
    arrays["angles"][:] = np.nan
    for name in PER_PAIR:
        arrays[name][:, 3:] = np.nan
        arrays[name][:, :, 3:] = np.nan
    return replace(result, key=result.key, **arrays)


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


# ---- what all share


def test_every_figure_lies_on_any_ground_and_names_its_axes(result):
    for name, figure in every_figure(result).items():
        assert figure.layout.meta["alt"], name
        assert figure.layout.template.layout.paper_bgcolor == "rgba(0, 0, 0, 0)", name
        assert figure.layout.template.layout.plot_bgcolor == "rgba(0, 0, 0, 0)", name
        assert figure.layout.xaxis.title.text, name
        assert figure.layout.yaxis.title.text, name


def test_what_figures_of_blocks_say(result, partial, snapshot):
    low = replace(result, rank=np.array([8, 8, 3, 8, 8]))
    twin = replace(result, request=replace(result.request, untrained=3))
    shown = every_figure(result) | {
        "mean by k": figures.mean_by_k(result, VIEW),
        "raw scores": figures.scores(result, VIEW, corrected=False),
        "auto range": figures.scores(result, VIEW, auto_range=True),
        "role B": figures.scores(result, View(k=3, role="B", p=2.5)),
        "partial": figures.scores(partial, VIEW),
        "low rank": figures.scores(low, VIEW),
        "untrained": figures.scores(twin, VIEW),
        "whole mosaic": figures.mosaic(result, View(k=3)),
    }
    said = {name: dict(figure.layout.meta) for name, figure in shown.items()}
    for name, figure in shown.items():
        bars = [t.colorbar.title.text for t in figure.data if t.type == "heatmap"]
        said[name]["bar"] = bars[0] if bars else ""
    cells = trace(shown["scores"], "pairs").text
    assert {"figures": said, "hover": [cells[1][1], cells[1][3]]} == snapshot


def test_a_partial_result_is_drawn_and_says_so(partial):
    waits = {name: [t.name for t in greys(f)] for name, f in every_figure(partial).items()}
    for name in ("scores", "mosaic", "matrix"):
        (grey,) = waits.pop(name)
        assert grey.endswith("not measured yet")
    assert not any(waits.values())


# ---- the score map


def test_the_score_map_draws_the_scores_in_a_fixed_range(result):
    found = score_pairs(result, VIEW)
    off = ~np.eye(5, dtype=bool)
    for is_corrected, wanted, bounds in (
        (True, found.corrected, style.CORRECTED_RANGE),
        (False, found.coupling, (0, 1)),
    ):
        shown = figures.scores(result, VIEW, corrected=is_corrected).data[0]
        assert shown.z.dtype == np.float32
        assert shown.z[off] == pytest.approx(wanted[off], abs=1e-6)
        assert (shown.zmin, shown.zmax) == bounds
        assert "K = 6" in shown.colorbar.title.text
        assert "auto" not in shown.colorbar.title.text


def test_what_sets_the_last_row_apart_is_told_with_its_mean(result):
    found = score_pairs(result, VIEW).corrected[-1, :-1].mean()
    assert f"{found:.3f}" in figures.scores(result, VIEW).layout.meta["caption"]
    plain = replace(result, request=replace(result.request, final_norm="exclude"))
    for other, view in ((plain, VIEW), (result, View(k=6, blocks=(2, 3)))):
        assert "last row" not in figures.scores(other, view).layout.meta["caption"]


def test_a_block_with_itself_is_grey_and_named_and_never_coloured(result):
    for is_corrected in (True, False):
        figure = figures.scores(result, View(k=6, blocks=(2, 3, 5)), corrected=is_corrected)
        (grey,) = greys(figure)
        assert "itself" in grey.name
        assert np.array_equal(grey.z == 0, np.eye(3, dtype=bool))
        assert np.array_equal(np.isnan(figure.data[0].z), np.eye(3, dtype=bool))
        assert trace(figure, "pairs").text[1, 1].endswith(grey.name)
    assert not greys(figures.mosaic(result, VIEW))


def test_an_automatic_range_is_that_of_the_data_and_says_so(result):
    shown = figures.scores(result, VIEW, auto_range=True).data[0]
    assert (shown.zmin, shown.zmax) == pytest.approx((np.nanmin(shown.z), np.nanmax(shown.z)))
    assert shown.colorbar.title.text.count("auto range") == 1


def test_rows_are_jacobians_counted_from_1_at_the_top(result):
    layout = figures.scores(result, View(k=6, blocks=(2, 3, 5))).layout
    assert layout.yaxis.title.text == "Jacobian of block l"
    assert layout.xaxis.title.text == "Basis of block l'"
    assert list(layout.yaxis.ticktext) == list(layout.xaxis.ticktext) == ["2", "3", "5"]
    assert layout.yaxis.range[0] > layout.yaxis.range[1]
    assert layout.xaxis.range[0] < layout.xaxis.range[1]
    assert (layout.yaxis.scaleanchor, layout.yaxis.constraintoward) == ("x", "top")


def test_a_click_on_a_cell_gives_its_pair_and_the_pointer_its_numbers(result):
    view = View(k=6, blocks=(2, 3, 5))
    points, found = trace(figures.scores(result, view), "pairs"), score_pairs(result, view)
    at = 1, 2  # row, column
    assert points.customdata[at].tolist() == [3, 5]
    assert (points.x[2], points.y[1]) == (2, 1)
    assert points.z.shape == points.text.shape == (3, 3)
    for numbers in (found.coupling, found.chance, found.corrected):
        assert f"{numbers[at]:.3f}" in points.text[at]


def test_the_selected_cell_is_outlined_and_only_where_it_is_shown(result):
    (shape,) = figures.scores(result, VIEW, selected=(2, 4)).layout.shapes
    assert (shape.y0, shape.y1, shape.x0, shape.x1) == (0.5, 1.5, 2.5, 3.5)
    assert shape.line.color == style.ACCENT
    hidden = View(k=6, blocks=(1, 2))
    assert not figures.scores(result, hidden, selected=(2, 4)).layout.shapes


def test_cells_that_wait_or_lie_above_the_rank_are_grey(partial, result):
    figure = figures.scores(partial, VIEW)
    (grey,) = greys(figure)
    empty = np.isnan(figure.data[0].z)
    assert empty.sum() == 25 - 9 + 3  # and three blocks with themselves
    assert np.array_equal(~np.isnan(grey.z), empty)
    assert {color for _, color in grey.colorscale} == {style.NOT_COMPUTED}
    assert trace(figure, "pairs").text[0, 4].endswith("not measured yet")
    low = figures.scores(replace(result, rank=np.array([8, 8, 3, 8, 8])), VIEW)
    assert "rank" in greys(low)[0].name
    assert np.isnan(low.data[0].z).sum() == 9 + 4
    assert "rank" in trace(low, "pairs").text[0, 2]


# ---- the mosaic and one matrix


def test_the_mosaic_holds_each_matrix_at_its_place(result):
    for role, magnitude in (("A", True), ("A", False), ("B", False)):
        view = View(k=3, role=role, blocks=(1, 4, 5))
        figure = figures.mosaic(result, view, magnitude=magnitude)
        z = figure.data[0].z
        assert z.dtype == np.float32
        assert z.shape == (3 * 3 + 2 * 2,) * 2
        cell = z[5:8, 10:13]  # second row, third column: block 4 in the basis of block 5
        wanted = result.matrix(4, 5, role)[:3, :3] / result.singular_values[3, 0]
        assert cell == pytest.approx(np.abs(wanted) if magnitude else wanted, abs=1e-6)
        assert np.isnan(z[3:5]).all()
        assert np.isnan(z[:, 8:10]).all()
        assert list(figure.layout.yaxis.tickvals) == [1, 6, 11]


def test_magnitudes_start_at_0_and_signed_entries_are_centred_on_it(result):
    for draw in (
        lambda **how: figures.mosaic(result, VIEW, **how),
        lambda **how: figures.matrix(result, 2, 4, VIEW, **how),
    ):
        magnitude, signed = draw(magnitude=True).data[0], draw(magnitude=False).data[0]
        assert (magnitude.zmin, magnitude.zmax) == (0, style.MATRIX_LIMIT)
        assert (signed.zmin, signed.zmax) == (-style.MATRIX_LIMIT, style.MATRIX_LIMIT)
        assert magnitude.colorscale != signed.colorscale
        assert np.nanmin(magnitude.z) >= 0 > np.nanmin(signed.z)


def test_an_automatic_mosaic_ends_at_its_largest_entry(result):
    signed = figures.mosaic(result, VIEW, magnitude=False, auto_range=True).data[0]
    assert signed.zmax == -signed.zmin == pytest.approx(np.nanmax(np.abs(signed.z)))
    assert "auto range" in signed.colorbar.title.text


def test_a_mosaic_can_be_clicked_and_is_grey_where_it_waits(partial):
    figure = figures.mosaic(partial, VIEW)
    points, (grey,) = trace(figure, "pairs"), greys(figure)
    assert points.customdata[0, :, 1].tolist() == [1, 2, 3, 4, 5]
    assert points.customdata[:, 0, 0].tolist() == [1, 2, 3, 4, 5]
    assert list(points.x) == list(points.y) == list(figure.layout.xaxis.tickvals)
    assert np.isnan(grey.z[:3, :3]).all()
    assert (grey.z[3:] == 0).all()
    assert (grey.z[:, 3:] == 0).all()
    assert list(grey.x) == list(figure.layout.xaxis.tickvals)


def test_one_matrix_is_that_of_its_pair_in_units_of_s1(result):
    s1 = result.singular_values[1, 0]
    for role, of_rows in (("A", "u"), ("B", "v")):
        view = View(k=3, role=role)
        figure = figures.matrix(result, 2, 4, view, magnitude=False)
        shown = figure.data[0]
        assert shown.z == pytest.approx(result.matrix(2, 4, role)[:3, :3] / s1, abs=1e-6)
        assert list(shown.x) == list(shown.y) == [1, 2, 3]
        assert figure.layout.yaxis.title.text == f"Singular vector {of_rows} of block 4"
    assert f"s₁ = {s1:.3g}" in shown.colorbar.title.text
    assert figures.matrix(result, 2, 4, VIEW, limit=0.7).data[0].zmax == 0.7


# ---- curves


def test_the_spectrum_has_a_line_a_block_on_a_log_axis(result):
    figure = figures.spectrum(result, View(k=6, blocks=(2, 5)))
    for line, block in zip(figure.data, (2, 5), strict=False):
        assert line.y == pytest.approx(result.singular_values[block - 1])
        assert list(line.x) == list(range(1, 9))
    assert figure.layout.yaxis.type == "log"
    bar = trace(figure, "places").marker
    assert (bar.cmin, bar.cmax, bar.colorbar.title.text[:7]) == (1, 5, "Block l")
    whole = figures.spectrum(result, View(k=6))
    for block in range(1, 6):
        place = (block - bar.cmin) / (bar.cmax - bar.cmin)
        (color,) = sample_colorscale([color for _, color in bar.colorscale], [place])
        assert whole.data[block - 1].line.color == color


def test_past_the_rank_the_spectrum_has_no_line(result):
    s = result.singular_values.copy()
    s[1, 5:] = 0
    figure = figures.spectrum(replace(result, singular_values=s), View(k=4))
    assert np.isnan(figure.data[1].y[5:]).all()
    assert figure.data[1].y[:5] == pytest.approx(s[1, :5])


def test_the_spectrum_marks_k_and_the_gap_there(result):
    s = result.singular_values.astype(float)
    inner = figures.spectrum(result, View(k=6), selected=(2, 4))
    assert inner.layout.shapes[0].x0 == 6
    assert f"= {s[1, 5] / s[1, 6]:.4f} in block 2" in inner.layout.annotations[0].text
    last = figures.spectrum(result, View(k=8))
    gaps = s[:, 7] / result.next_singular_value
    assert f"{gaps.min():.4f} to {gaps.max():.4f}" in last.layout.annotations[0].text
    full = depth_result(planted_jacobians(3, 8, coupling=0.5), 8, 4)
    assert figures.spectrum(full, View(k=8)).layout.annotations[0].text == "K = 8"


def test_the_selected_pair_stands_out_in_the_spectrum(result):
    for selected, blocks in (((2, 4), (2, 4)), ((3, 3), (3,)), (None, ())):
        lines = [t for t in figures.spectrum(result, VIEW, selected=selected).data if t.showlegend]
        assert all(line.line.color == style.ACCENT for line in lines)
        for line, block in zip(lines, blocks, strict=True):
            assert line.name.startswith(f"block {block}, ")
            assert line.y == pytest.approx(result.singular_values[block - 1])


def test_the_score_against_k_lies_over_its_chance_floor(result):
    view = View(k=6, definition="page")
    raw, floor = score_by_k(result, 2, 4, view)
    for is_corrected in (True, False):
        figure = figures.score_by_k(result, 2, 4, view, corrected=is_corrected)
        wanted = corrected(raw, floor) if is_corrected else raw
        assert trace(figure, "score").y == pytest.approx(wanted)
        assert trace(figure, "chance").y == pytest.approx(0 * floor if is_corrected else floor)
        assert list(trace(figure, "score").x) == list(range(1, 9))
        marker = trace(figure, "K = 6")
        assert (marker.x[0], marker.y[0]) == (6, pytest.approx(wanted[5]))
        assert figure.layout.yaxis.title.text.endswith("(project page)")


def test_the_mean_score_against_k_leaves_out_the_trivial_pairs(result):
    view = View(k=6, definition="page", blocks=(1, 2, 4))
    for is_corrected in (True, False):
        figure = figures.mean_by_k(result, view, corrected=is_corrected)
        for k in range(1, 9):
            found = score_pairs(result, replace(view, k=k))
            wanted = mean_off_diagonal(found.corrected if is_corrected else found.coupling)
            assert trace(figure, "score").y[k - 1] == pytest.approx(wanted)
            floor = 0 if is_corrected else mean_off_diagonal(found.chance)
            assert trace(figure, "chance").y[k - 1] == pytest.approx(floor)
        assert trace(figure, "K = 6").y[0] == trace(figure, "score").y[5]
    alone = figures.mean_by_k(result, View(k=6, blocks=(2,)))
    assert np.isnan(trace(alone, "score").y).all()


def test_means_count_only_the_pairs_that_have_a_score(partial, result):
    low = replace(result, rank=np.array([8, 8, 3, 8, 8]))
    for one in (partial, low):
        found = score_pairs(one, VIEW)
        as_jacobian, as_basis = block_means(found.corrected)
        others = found.corrected + np.diag([np.nan] * 5)
        assert as_jacobian[0] == pytest.approx(np.nanmean(others[0]))
        assert as_basis[1] == pytest.approx(np.nanmean(others[:, 1]))
        figure = figures.mean_by_k(one, VIEW)
        assert trace(figure, "score").y[5] == pytest.approx(mean_off_diagonal(found.coupling))
        floor = np.where(np.isnan(found.coupling), np.nan, found.chance)
        assert trace(figure, "chance").y[5] == pytest.approx(mean_off_diagonal(floor))
    assert np.isnan(as_jacobian[2])


def test_the_range_of_the_score_against_k_is_fixed_and_widens_for_what_would_leave_it(result):
    _, floor = score_by_k(result, 2, 4, VIEW)
    low, high = figures.score_by_k(result, 2, 4, VIEW).layout.yaxis.range
    assert low == pytest.approx(min(0, floor.min()))
    assert 1 < high < 1.05
    low, high = figures.score_by_k(result, 2, 2, VIEW, corrected=True).layout.yaxis.range
    assert low == 0
    assert high > 1


def test_angles_are_those_of_the_nearest_stored_k_below(result):
    for k, stored in ((1, 0), (3, 0), (4, 1), (7, 1), (8, 2)):
        figure = figures.angles(result, 2, 4, View(k=k))
        n = result.angle_k[stored]
        assert trace(figure, "left (U)").y == pytest.approx(result.angles[0, stored, 1, 3, :n])
        assert trace(figure, "right (V)").y == pytest.approx(result.angles[1, stored, 1, 3, :n])
        assert trace(figure, "chance").y == pytest.approx(chance_angles(int(n), 16))
        assert f"K = {n}" in figure.layout.xaxis.title.text
        assert tuple(figure.layout.yaxis.range) == (0, 92)


def test_angles_by_chance_are_those_of_random_subspaces():
    rng = np.random.default_rng(0)
    for k, width in ((40, 400), (150, 200), (64, 64)):
        sample = []
        for _ in range(10):
            U, V = (np.linalg.qr(rng.standard_normal((width, k)))[0] for _ in range(2))
            cosines = np.linalg.svd(U.T @ V, compute_uv=False)
            sample.append(np.degrees(np.arccos(cosines.clip(0, 1))))
        assert chance_angles(k, width) == pytest.approx(np.mean(sample, axis=0), abs=1.5)


# ---- tables


def test_the_score_table_names_both_blocks_of_a_row(result):
    view = View(k=6, blocks=(2, 4))
    table = figures.scores_table(result, view)
    found = score_pairs(result, view)
    assert list(table.columns) == ["block", "basis", "coupling", "chance", "corrected"]
    row = table[(table.block == 2) & (table.basis == 4)].iloc[0]
    assert (row.coupling, row.chance, row.corrected) == (
        found.coupling[0, 1], found.chance[0, 1], found.corrected[0, 1]
    )  # fmt: skip
    assert len(table) == 4


def test_each_figure_has_its_numbers_as_a_table(result):
    matrix = figures.matrix_table(result, 2, 4, VIEW)
    drawn = figures.matrix(result, 2, 4, VIEW, magnitude=False).data[0].z
    assert matrix.to_numpy() == pytest.approx(drawn)
    assert list(matrix.index) == [1, 2, 3, 4]

    spectrum = figures.spectrum_table(result, View(k=6, blocks=(2, 5)))
    assert list(spectrum.block) == [2, 5]
    assert spectrum.loc[1, "s_3"] == result.singular_values[4, 2]
    s = result.singular_values[1]
    assert spectrum.loc[0, "gap"] == pytest.approx(s[5] / s[6])

    by_k, figure = (f(result, 2, 4, VIEW) for f in (figures.score_by_k_table, figures.score_by_k))
    assert by_k.coupling.to_numpy() == pytest.approx(trace(figure, "score").y)
    assert by_k.chance.to_numpy() == pytest.approx(trace(figure, "chance").y)

    angles, figure = (f(result, 2, 4, VIEW) for f in (figures.angles_table, figures.angles))
    assert angles.left.to_numpy() == pytest.approx(trace(figure, "left (U)").y)
    assert angles.right.to_numpy() == pytest.approx(trace(figure, "right (V)").y)


# ---- files


@pytest.fixture(scope="module")
def awkward(result):
    """Texts that would be read as markup."""
    tokens = ("<s>", " a&b", " <b>", " </div>")
    request = replace(result.request, prompt="".join(tokens))
    return replace(result, request=request, tokens=tokens)


def test_html_stands_alone_and_keeps_strange_tokens_apart_from_its_markup(awkward):
    figure = figures.scores(awkward, VIEW)
    page = figures.render(figure, ".html", awkward, VIEW).decode()
    assert "Plotly.newPlot" in page
    assert len(page) > 3_000_000  # plotly.js is inside
    head, _, _ = page.partition("<script")
    assert "&lt;/div&gt;" in head
    assert "“</div>”" not in head
    assert '<script src="http' not in page


def test_a_figure_on_paper_is_white_and_says_where_it_comes_from(awkward):
    page = on_paper(figures.mosaic(awkward, VIEW), awkward, VIEW)
    (notes,) = [a for a in page.layout.annotations if a.name == "provenance"]
    text = notes.text.replace("<br>", " ")
    for words in ("random", "&lt;s&gt; a&amp;b", "K = 6", "float32", "numpy 2"):
        assert words in text
    assert page.layout.paper_bgcolor == "white"
    assert page.layout.margin.b > 16 * notes.text.count("<br>")


def test_an_uncertified_result_says_so_on_paper(result):
    doubtful = replace(result.certificates[0], certified=False, reason="residual 1")
    mixed = replace(result, certificates=(doubtful, *result.certificates[1:]))
    assert "SVDs certified" in figures.provenance(result, VIEW)
    assert "SVDs not all certified" in figures.provenance(mixed, VIEW)


@pytest.mark.full
def test_svg_is_vector_with_its_alternative_text_and_png_has_two_pixels_for_one(awkward):
    figure = figures.score_by_k(awkward, 2, 4, VIEW)
    svg = figures.render(figure, ".svg", awkward, VIEW).decode()
    assert svg.startswith("<svg")
    assert 'role="img"><title>Score against K' in svg
    assert "Number of singular triplets K" in svg
    assert "</div>" not in svg
    png = figures.render(figure, ".png", awkward, VIEW)
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(png[16:20]) == 2 * WIDTH


def test_where_nothing_draws_that_is_told_with_a_way_out(result, monkeypatch):
    monkeypatch.setenv("BROWSER_PATH", "/nowhere/chromium")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ComputeError, match=r"\.html"):
        figures.render(figures.scores(result, VIEW), ".svg", result, VIEW)


def test_a_short_log_axis_has_its_labels() -> None:
    for low, high in ((0.2, 3.0), (3.1, 4.2), (0.05, 0.4)):
        axis = style.log_axis(np.array((low, high)))
        assert len([at for at in axis["tickvals"] if low <= at <= high]) >= 2
        assert [float(text) for text in axis["ticktext"]] == pytest.approx(axis["tickvals"])
