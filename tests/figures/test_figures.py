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
    InputError,
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
from coupling_core.figures.mosaic import cell_side

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


NAMES = ("scores", "mosaic", "matrix", "spectrum", "score_by_k", "angles")


def greys(figure):
    return [t for t in figure.data if t.type == "heatmap" and t.showlegend]


ITSELF = "a block with itself: always 1"


# ---- what all share


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_says_what_it_shows_and_lies_on_any_ground(result, name):
    figure = every_figure(result)[name]
    assert "token 4 of 4, “down”" in figure.layout.meta["alt"]
    assert figure.layout.meta["caption"].endswith(".")
    assert figure.layout.template.layout.paper_bgcolor == "rgba(0, 0, 0, 0)"
    assert figure.layout.template.layout.plot_bgcolor == "rgba(0, 0, 0, 0)"
    assert figure.layout.xaxis.title.text
    assert figure.layout.yaxis.title.text


@pytest.mark.parametrize("name", NAMES)
def test_a_partial_result_is_drawn_and_says_so(partial, name):
    figure = every_figure(partial)[name]
    assert figure.layout.meta["alt"]
    words = [t.name for t in greys(figure)]
    waits = "not measured yet"
    assert words == {
        "scores": [f"{ITSELF}, or {waits}"], "mosaic": [waits], "matrix": [waits]
    }.get(name, [])  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("k", [0, 9])
def test_a_k_that_is_not_stored_is_refused(result, name, k):
    with pytest.raises(InputError, match=r"K must"):
        every_figure(result, View(k=k))[name]


@pytest.mark.parametrize("draw", [figures.matrix, figures.score_by_k, figures.angles])
@pytest.mark.parametrize("pair", [(0, 1), (1, 6)])
def test_a_block_that_does_not_exist_is_refused(result, draw, pair):
    with pytest.raises(InputError, match=r"out of range: this model has blocks 1\.\.5"):
        draw(result, *pair, VIEW)


# ---- the score map


@pytest.mark.parametrize("is_corrected", [True, False])
def test_the_score_map_draws_the_scores_in_a_fixed_range(result, is_corrected):
    figure = figures.scores(result, VIEW, corrected=is_corrected)
    found = score_pairs(result, VIEW)
    wanted = found.corrected if is_corrected else found.coupling
    shown = figure.data[0]
    assert shown.z.dtype == np.float32
    off = ~np.eye(5, dtype=bool)
    assert shown.z[off] == pytest.approx(wanted[off], abs=1e-6)
    assert (shown.zmin, shown.zmax) == (style.CORRECTED_RANGE if is_corrected else (0, 1))
    bar = shown.colorbar.title.text
    assert bar.startswith("Chance-corrected score" if is_corrected else "Score c")
    assert "paper, Eq. 9, p = 1; K = 6; no unit" in bar
    assert "auto" not in bar


def test_what_sets_the_last_row_apart_is_told_with_its_mean(result):
    found = score_pairs(result, VIEW).corrected[-1, :-1].mean()
    caption = figures.scores(result, VIEW).layout.meta["caption"]
    assert f"block 5 has the model's final norm in it. Its mean is {found:.3f}" in caption
    plain = replace(result, request=replace(result.request, final_norm="exclude"))
    for other, view in ((plain, VIEW), (result, View(k=6, blocks=(2, 3)))):
        assert "last row" not in figures.scores(other, view).layout.meta["caption"]


@pytest.mark.parametrize("is_corrected", [True, False])
def test_a_block_with_itself_is_grey_and_named_and_never_coloured(result, is_corrected):
    figure = figures.scores(result, View(k=6, blocks=(2, 3, 5)), corrected=is_corrected)
    (grey,) = greys(figure)
    assert grey.name == ITSELF
    assert np.array_equal(grey.z == 0, np.eye(3, dtype=bool))
    assert np.array_equal(np.isnan(figure.data[0].z), np.eye(3, dtype=bool))
    assert trace(figure, "pairs").text[1, 1].endswith(ITSELF)
    assert not greys(figures.mosaic(result, VIEW))


def test_an_automatic_range_is_that_of_the_data_and_says_so(result):
    shown = figures.scores(result, VIEW, auto_range=True).data[0]
    assert (shown.zmin, shown.zmax) == pytest.approx((np.nanmin(shown.z), np.nanmax(shown.z)))
    assert shown.colorbar.title.text.count("auto range") == 1


@pytest.mark.parametrize(
    ("view", "words"),
    [
        (View(k=3, definition="alignment"), "alignment; K = 3; no unit"),
        (View(k=3, p=2.5), "p = 2.5"),
        (View(k=3, role="B"), "B = VᵀJU"),
    ],
)
def test_the_colour_bar_names_the_view(result, view, words):
    assert words in figures.scores(result, view).data[0].colorbar.title.text


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
    figure = figures.scores(result, view)
    points, found = trace(figure, "pairs"), score_pairs(result, view)
    at = 1, 2  # row, column
    assert points.customdata[at].tolist() == [3, 5]
    assert (points.x[2], points.y[1]) == (2, 1)
    assert points.z.shape == points.text.shape == (3, 3)
    assert points.opacity == 0
    assert points.text[at].startswith("Jacobian of block 3 in the basis of block 5")
    assert f"c = {found.coupling[1, 2]:.3f}" in points.text[at]
    assert f"chance floor {found.chance[1, 2]:.3f}" in points.text[at]
    assert f"chance-corrected {found.corrected[1, 2]:.3f}" in points.text[at]


def test_the_selected_cell_is_outlined_and_only_where_it_is_shown(result):
    (shape,) = figures.scores(result, VIEW, selected=(2, 4)).layout.shapes
    assert (shape.y0, shape.y1, shape.x0, shape.x1) == (0.5, 1.5, 2.5, 3.5)
    assert shape.line.color == style.ACCENT
    hidden = View(k=6, blocks=(1, 2))
    assert not figures.scores(result, hidden, selected=(2, 4)).layout.shapes


def test_cells_that_wait_are_grey_and_named(partial):
    figure = figures.scores(partial, VIEW)
    (grey,) = greys(figure)
    empty = np.isnan(figure.data[0].z)
    assert empty.sum() == 25 - 9 + 3  # and three blocks with themselves
    assert np.array_equal(~np.isnan(grey.z), empty)
    assert {color for _, color in grey.colorscale} == {style.NOT_COMPUTED}
    assert "16 cells are grey" in figure.layout.meta["alt"]
    assert trace(figure, "pairs").text[0, 4].endswith("not measured yet")


def test_cells_above_the_rank_are_grey_and_named(result):
    low = replace(result, rank=np.array([8, 8, 3, 8, 8]))
    figure = figures.scores(low, VIEW)
    (grey,) = greys(figure)
    assert grey.name == f"{ITSELF}, or undefined (rank below K)"
    assert np.isnan(figure.data[0].z).sum() == 9 + 4
    assert "rank" in trace(figure, "pairs").text[0, 2]


def test_the_alternative_text_has_the_main_numbers(result):
    found = score_pairs(result, VIEW)
    alt = figures.scores(result, VIEW).layout.meta["alt"]
    assert f"corrected by its own floor, {mean_off_diagonal(found.corrected):.3f}" in alt
    off = found.corrected - 9 * np.eye(5)
    row, column = np.unravel_index(off.argmax(), off.shape)
    assert (
        f"highest is {off.max():.3f}, of block {row + 1} in the basis of block {column + 1}" in alt
    )


# ---- the mosaic and one matrix


@pytest.mark.parametrize("role", ["A", "B"])
@pytest.mark.parametrize("magnitude", [True, False])
def test_the_mosaic_holds_each_matrix_at_its_place(result, role, magnitude):
    view = View(k=3, role=role, blocks=(1, 4, 5))
    figure = figures.mosaic(result, view, magnitude=magnitude)
    z = figure.data[0].z
    assert z.dtype == np.float32
    assert z.shape == (3 * 3 + 2 * 2,) * 2
    cell = z[5:8, 10:13]  # second row, third column: Jacobian of block 4 in the basis of block 5
    wanted = result.matrix(4, 5, role)[:3, :3] / result.singular_values[3, 0]
    assert cell == pytest.approx(np.abs(wanted) if magnitude else wanted, abs=1e-6)
    assert np.isnan(z[3:5]).all()
    assert np.isnan(z[:, 8:10]).all()
    at = figure.layout.yaxis.tickvals
    assert list(at) == [1, 6, 11]


def test_the_mosaic_says_which_triplets_it_shows(result):
    whole, leading = (figures.mosaic(result, View(k=k)).data[0] for k in (3, 6))
    assert "K = 3; in units of s₁" in whole.colorbar.title.text
    assert "leading 4 of K = 6; in units of s₁" in leading.colorbar.title.text


@pytest.mark.parametrize("n_blocks", [2, 30, 70, 300])
def test_a_mosaic_fits_on_a_screen(n_blocks):
    side = cell_side(random_result(k_view=4), View(k=8), n_blocks)
    assert 1 <= side <= 4
    assert side == 1 or n_blocks * (side + 2) - 2 <= 600


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
    figure = figures.matrix(result, 2, 4, View(k=3), magnitude=False)
    shown = figure.data[0]
    assert shown.z == pytest.approx(
        result.matrix(2, 4)[:3, :3] / result.singular_values[1, 0], abs=1e-6
    )
    assert list(shown.x) == list(shown.y) == [1, 2, 3]
    assert figure.layout.yaxis.title.text == "Singular vector u of block 4"
    assert figure.layout.xaxis.title.text == "Singular vector v of block 4"
    assert f"s₁ = {result.singular_values[1, 0]:.3g}" in shown.colorbar.title.text
    found = score_pairs(result, View(k=3))
    assert f"c = {found.coupling[1, 3]:.3f}" in figure.layout.meta["caption"]


def test_b_exchanges_the_sides(result):
    figure = figures.matrix(result, 2, 4, View(k=3, role="B"), magnitude=False)
    assert figure.data[0].z == pytest.approx(
        result.matrix(2, 4, "B")[:3, :3] / result.singular_values[1, 0], abs=1e-6
    )
    assert figure.layout.yaxis.title.text == "Singular vector v of block 4"


def test_two_matrices_can_share_a_limit(result):
    assert figures.matrix(result, 2, 4, VIEW, limit=0.7).data[0].zmax == 0.7


# ---- curves


def test_the_spectrum_has_a_line_a_block_on_a_log_axis(result):
    figure = figures.spectrum(result, View(k=6, blocks=(2, 5)))
    for line, block in zip(figure.data, (2, 5), strict=False):
        assert line.y == pytest.approx(result.singular_values[block - 1])
        assert list(line.x) == list(range(1, 9))
    assert figure.layout.yaxis.type == "log"
    assert figure.data[0].line.color != figure.data[1].line.color
    bar = trace(figure, "places").marker
    assert (bar.cmin, bar.cmax, bar.colorbar.title.text[:7]) == (1, 5, "Block l")


def test_the_lines_of_the_spectrum_have_the_colours_of_its_bar(result):
    figure = figures.spectrum(result, View(k=6))
    bar = trace(figure, "places").marker
    for block in range(1, 6):
        place = (block - bar.cmin) / (bar.cmax - bar.cmin)
        (color,) = sample_colorscale([color for _, color in bar.colorscale], [place])
        assert figure.data[block - 1].line.color == color


def test_past_the_rank_the_spectrum_has_no_line(result):
    s = result.singular_values.copy()
    s[1, 5:] = 0
    figure = figures.spectrum(replace(result, singular_values=s), View(k=4))
    assert np.isnan(figure.data[1].y[5:]).all()
    assert figure.data[1].y[:5] == pytest.approx(s[1, :5])


@pytest.mark.parametrize(("n", "below"), [(2, True), (3, False), (4, True), (5, False), (8, False)])
def test_the_title_of_a_map_stands_below_its_numbers(n, below):
    found = random_result(n_blocks=n)
    title = figures.scores(found, View(k=2)).layout.xaxis.title.text
    assert title == "<br>" * below + "Basis of block l'"


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


@pytest.mark.parametrize(
    ("selected", "names"),
    [
        ((2, 4), ["block 2, the Jacobian", "block 4, the basis"]),
        ((3, 3), ["block 3, Jacobian and basis"]),
        (None, []),
    ],
)
def test_the_selected_pair_stands_out_in_the_spectrum(result, selected, names):
    lines = [t for t in figures.spectrum(result, VIEW, selected=selected).data if t.showlegend]
    assert [line.name for line in lines] == names
    assert all(line.line.color == style.ACCENT for line in lines)
    for line, block in zip(lines, selected or (), strict=False):
        assert line.y == pytest.approx(result.singular_values[block - 1])


@pytest.mark.parametrize("is_corrected", [True, False])
def test_the_score_against_k_lies_over_its_chance_floor(result, is_corrected):
    view = View(k=6, definition="page")
    figure = figures.score_by_k(result, 2, 4, view, corrected=is_corrected)
    raw, floor = score_by_k(result, 2, 4, view)
    wanted = corrected(raw, floor) if is_corrected else raw
    assert trace(figure, "score").y == pytest.approx(wanted)
    assert trace(figure, "chance").y == pytest.approx(0 * floor if is_corrected else floor)
    assert list(trace(figure, "score").x) == list(range(1, 9))
    marker = trace(figure, "K = 6")
    assert (marker.x[0], marker.y[0]) == (6, pytest.approx(wanted[5]))
    assert figure.layout.yaxis.title.text.endswith("(project page)")


@pytest.mark.parametrize("is_corrected", [True, False])
def test_the_mean_score_against_k_leaves_out_the_trivial_pairs(result, is_corrected):
    view = View(k=6, definition="page", blocks=(1, 2, 4))
    figure = figures.mean_by_k(result, view, corrected=is_corrected)
    for k in range(1, 9):
        found = score_pairs(result, replace(view, k=k))
        wanted = mean_off_diagonal(found.corrected if is_corrected else found.coupling)
        assert trace(figure, "score").y[k - 1] == pytest.approx(wanted)
        floor = 0 if is_corrected else mean_off_diagonal(found.chance)
        assert trace(figure, "chance").y[k - 1] == pytest.approx(floor)
    assert trace(figure, "K = 6").y[0] == trace(figure, "score").y[5]


def test_one_block_alone_has_no_mean_score(result):
    figure = figures.mean_by_k(result, View(k=6, blocks=(2,)))
    assert np.isnan(trace(figure, "score").y).all()
    assert "No pair" in figure.layout.meta["alt"]


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


@pytest.mark.parametrize(("k", "stored"), [(1, 0), (3, 0), (4, 1), (7, 1), (8, 2)])
def test_angles_are_those_of_the_nearest_stored_k_below(result, k, stored):
    figure = figures.angles(result, 2, 4, View(k=k))
    n = result.angle_k[stored]
    assert trace(figure, "left (U)").y == pytest.approx(result.angles[0, stored, 1, 3, :n])
    assert trace(figure, "right (V)").y == pytest.approx(result.angles[1, stored, 1, 3, :n])
    assert trace(figure, "chance").y == pytest.approx(chance_angles(int(n), 16))
    assert f"K = {n}" in figure.layout.xaxis.title.text
    assert figure.layout.yaxis.title.text == "Angle (degrees)"
    assert tuple(figure.layout.yaxis.range) == (0, 92)


@pytest.mark.parametrize(("k", "width"), [(40, 400), (50, 576), (150, 200), (64, 64)])
def test_angles_by_chance_are_those_of_random_subspaces(k, width):
    rng = np.random.default_rng(0)
    sample = []
    for _ in range(20):
        U, V = (np.linalg.qr(rng.standard_normal((width, k)))[0] for _ in range(2))
        cosines = np.linalg.svd(U.T @ V, compute_uv=False)
        sample.append(np.degrees(np.arccos(cosines.clip(0, 1))))
    assert chance_angles(k, width) == pytest.approx(np.mean(sample, axis=0), abs=1.0)


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
    for words in ("random", "&lt;s&gt; a&amp;b", "K = 6", "paper, Eq. 9", "float32", "numpy 2"):
        assert words in text
    assert page.layout.paper_bgcolor == "white"
    assert page.layout.margin.b > 16 * notes.text.count("<br>")


def test_an_uncertified_result_says_so_on_paper(result):
    doubtful = replace(result.certificates[0], certified=False, reason="residual 1")
    mixed = replace(result, certificates=(doubtful, *result.certificates[1:]))
    assert "SVDs certified" in figures.provenance(result, VIEW)
    assert "SVDs not all certified" in figures.provenance(mixed, VIEW)


def test_the_untrained_twin_is_named(result):
    twin = replace(result, request=replace(result.request, untrained=3))
    assert "untrained (seed 3)" in figures.provenance(twin, VIEW)
    assert "untrained (seed 3)" in figures.scores(twin, VIEW).layout.meta["alt"]


def test_svg_is_vector_with_its_alternative_text(awkward):
    svg = figures.render(figures.score_by_k(awkward, 2, 4, VIEW), ".svg", awkward, VIEW).decode()
    assert svg.startswith("<svg")
    assert 'role="img"><title>Score against K from 1 to 8' in svg
    assert "Number of singular triplets K" in svg
    assert "</div>" not in svg


def test_png_has_two_pixels_for_one_of_the_page(result):
    png = figures.render(figures.score_by_k(result, 2, 4, VIEW), ".png", result, VIEW)
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(png[16:20]) == 2 * WIDTH


def test_where_nothing_draws_that_is_told_with_a_way_out(result, monkeypatch):
    monkeypatch.setenv("BROWSER_PATH", "/nowhere/chromium")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    way_out = r"Chromium.*\.html, which needs none; or pip install 'coupling-explorer\[draw\]'"
    with pytest.raises(ComputeError, match=way_out):
        figures.render(figures.scores(result, VIEW), ".svg", result, VIEW)


def test_an_unknown_ending_is_refused(result):
    with pytest.raises(InputError, match=r"\.html, \.pdf, \.svg, \.png, and '\.gif' came"):
        figures.render(figures.scores(result, VIEW), ".gif", result, VIEW)


@pytest.mark.parametrize("values", [(0.2, 3.0), (3.1, 4.2), (0.05, 0.4)])
def test_a_short_log_axis_has_each_label_in_one_size(values: tuple[float, float]) -> None:
    axis = style.log_axis(np.array(values))
    inside = [at for at in axis["tickvals"] if values[0] <= at <= values[1]]
    assert len(inside) >= 2
    assert [float(text) for text in axis["ticktext"]] == pytest.approx(axis["tickvals"])


def test_the_middle_of_a_difference_is_the_ground_of_the_page() -> None:
    middle = [color for at, color in style.DIVERGING if at == 0.5]
    assert all(color.endswith(", 0)") for color in middle)
