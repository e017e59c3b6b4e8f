"""Two results of paths side by side."""

import inspect
import re
from dataclasses import replace

import numpy as np
import pytest
from cases import planted, trajectory_result

from coupling_core import InputError, compare, expodistance, growth_rates, project_paths


def grown(factors, line_shape):
    """Paths of a prompt whose norms grow by a factor a block, one a token."""
    whole = trajectory_result(n_tokens=len(factors))
    along = np.arange(whole.n_blocks + 1)[:, None]
    norms = np.asarray(factors, np.float32)[None, :] ** along
    return replace(whole, norms=norms.astype(np.float32), line_shape=np.array(line_shape))


def test_numbers_of_each_token_are_those_of_the_functions():
    one = trajectory_result()
    np.testing.assert_array_equal(one.growth, growth_rates(one.norms))
    np.testing.assert_array_equal(one.expodistance, expodistance(one.norms))
    table = one.to_pandas()
    np.testing.assert_array_equal(table.growth, one.growth.mean(0))
    np.testing.assert_array_equal(table.equidistance, one.equidistance)


def test_means_and_tokens_are_those_planted():
    a = grown([2.0, 4.0, 8.0], [1.0, 2.0, 6.0])
    b = grown([4.0, 2.0, 2.0], [2.0, 2.0, np.nan])
    table = compare(a, b).to_pandas().set_index("number")
    straight = table.loc["line_shape"]
    # The third token has no score in B, and so counts in neither.
    assert (straight.a, straight.b, straight.difference) == (1.5, 2.0, -0.5)
    assert (straight.a_above, straight.tokens) == (0, 2)
    grows = table.loc["growth"]
    np.testing.assert_allclose([grows.a, grows.b], np.log(2) * np.array([2, 4 / 3]), rtol=1e-6)
    assert (grows.a_above, grows.tokens) == (2, 3)
    told = "1.500 in A and 2.000 in B (more in A at 0 of 2 tokens; the 1 others have none in both)"
    assert told.replace("1 others have", "other has") in compare(a, b).verdict
    assert compare(a, b).to_pandas().attrs["a_prompt"] == a.prompt_text


def test_each_place_in_two_prompts_has_its_own_numbers():
    a, b = grown([2.0, 4.0], [1.0, 2.0]), grown([4.0, 2.0], [2.5, np.nan])
    table = compare(a, b).by_token()
    straight = table[table.number == "line_shape"]
    assert straight.a_text.tolist() == straight.b_text.tolist() == list(a.tokens)
    assert straight.token.tolist() == [1, 2]
    np.testing.assert_array_equal(straight.difference, [-1.5, np.nan])
    grows = table[table.number == "growth"]
    np.testing.assert_allclose(grows.difference, np.log(2) * np.array([-1, 1]), rtol=1e-6)
    assert (table.attrs["a_prompt"], len(table)) == (a.prompt_text, 8)
    longer = grown([4.0, 2.0, 2.0], [2.5, np.nan, 1.0])
    longer = replace(longer, tokens=("dog", *longer.tokens[1:]))
    other = compare(a, longer).by_token()
    first = other[other.number == "line_shape"]
    assert first.b_text.tolist() == ["dog", a.tokens[1]]
    np.testing.assert_array_equal(first.difference, straight.difference)


def test_a_figure_of_both_takes_its_options():
    a, b = trajectory_result(), trajectory_result(seed=1)
    drawn = compare(a, b).plot("paths", token=2, part="deeper").figure
    assert next(t for t in drawn.data if t.name == "2").line.width > 1.5
    assert "x^6 to x^" in drawn.layout.meta["caption"]
    with pytest.raises(InputError, match=r"compare\(paths, others\)\.plot\('paths-apart'\)"):
        inspect.unwrap(type(a).plot)(a, "paths-apart")
    with pytest.raises(InputError, match="did you mean 'expodistance'"):
        inspect.unwrap(type(a).plot)(a, "expo")
    with pytest.raises(InputError, match="the figure norms has no option 'tokn'"):
        compare(a, b).plot("norms", tokn=2)


@pytest.mark.parametrize("shape", [np.inf, np.nan])
def test_what_no_token_has_is_told(shape):
    a, b = grown([2.0, 2.0], [shape, shape]), grown([2.0, 3.0], [1.0, 1.5])
    table = compare(a, b).to_pandas().set_index("number")
    assert (table.tokens["line_shape"], table.a_above["line_shape"]) == (0, 0)
    assert table.loc["line_shape", ["a", "b", "difference"]].isna().all()
    told = "1 of a straight path, is not to be compared (no token has a finite one in both)"
    assert told in compare(a, b).verdict
    other = compare(a, grown([2.0, 3.0, 2.0], [1.0, 1.5, 2.0])).verdict
    assert "of no token in A and 1.500 in B" in other


def test_a_verdict_counts_the_tokens_that_it_is_over():
    of = {
        (1.0, 3.0, np.nan): "2.00 on average over 2 tokens, 1 token with a step of length 0 left",
        (1.0, np.inf, np.inf): "over 1 token, 2 tokens whose path comes back to its start left out",
        (np.inf, np.inf, np.nan): "No token has a finite line-shape score: there are 1 token with",
        (1.0, 2.0, 3.0): "2.00 on average over 3 tokens; that of",
    }
    for shapes, told in of.items():
        assert told in grown([2.0, 2.0, 2.0], shapes).verdict
    still = grown([0.0, 0.0], [1.0, 1.0])
    assert "How the norm grows is not known of any token" in still.verdict
    assert "nan" not in still.verdict


def test_other_tokens_are_compared_by_means_and_by_depth():
    a, b = grown([2.0, 2.0, 2.0], [1.0, 2.0, 3.0]), grown([2.0, 2.0], [4.0, 5.0])
    b = replace(b, request=replace(b.request, prompt="The dog"))
    found = compare(a, b)
    assert found.to_pandas().a_above.isna().all()
    assert "over 3 tokens of A and 2 of B" in found.verdict
    assert "at 0 of" not in found.verdict
    traces = {trace.uid: trace for trace in found.plot().figure.data}
    assert (traces["median"].name, traces["twin"].name) == tuple(
        f"median of “{of.prompt_text}”" for of in (a, b)
    )
    caption = found.plot().figure.layout.meta["caption"]
    assert "Medians over the 3 tokens of" in caption
    assert "and over the 2 tokens of" in caption
    assert set(traces) == {"median", "twin"}  # a token's own line would be of one of the two
    grows = {trace.uid: trace for trace in found.plot("growth").figure.data}
    np.testing.assert_allclose(grows["twin"].y, np.median(b.growth, axis=1))
    np.testing.assert_allclose(grows["median"].y, np.median(a.growth, axis=1))
    with pytest.raises(InputError, match="A and B have other tokens, and 'expodistance' has"):
        found.plot("expodistance")
    with pytest.raises(InputError, match="figure"):
        inspect.unwrap(type(found).plot)(found, "linearised")


def test_prompts_that_begin_alike_are_a_and_b():
    a, b = grown([2.0, 2.0, 2.0], [1.0, 2.0, 3.0]), grown([2.0, 2.0], [4.0, 5.0])
    begins = "The prompts of both begin with these many words and then"
    a, b = (
        replace(of, request=replace(of.request, prompt=f"{begins} {end}"), tokens=tokens)
        for of, end, tokens in ((a, "go", ("x", "y", "z")), (b, "stay", ("x", "y")))
    )
    traces = {trace.uid: trace for trace in compare(a, b).plot().figure.data}
    assert (traces["median"].name, traces["twin"].name) == ("median of A", "median of B")


def test_it_draws_both_under_names_that_tell_them_apart():
    a, b = grown([2.0, 2.0], [1.0, 2.0]), grown([2.0, 3.0], [4.0, 5.0])
    twin = replace(b, request=replace(b.request, untrained=0))
    other = replace(b, request=replace(b.request, model="o"), identity={"name": "other"})
    for beside, named in ((twin, ["untrained twin", "trained"]), (other, ["other", "random"])):
        for figure in ("expodistance", "line-shape-by-depth"):
            traces = compare(a, beside).plot(figure).figure.data
            told = {trace.uid: trace.name for trace in traces}
            assert named[0] in told["twin"]
            assert figure != "expodistance" or told["own"].startswith(named[1])
    assert "PathComparison(A: " in repr(compare(a, twin))


def test_paths_have_no_k_and_are_compared_with_paths():
    one = grown([2.0, 2.0], [1.0, 2.0])
    blocks = ({"blocks": "1-2"}, {"blocks": np.array([1, 2])})
    for asked in ({"k": 3}, {"corrected": False}, {"definition": "page"}, *blocks):
        with pytest.raises(InputError, match="paths have no K, blocks"):
            compare(one, one, **asked)
    with pytest.raises(InputError, match="a trajectory is compared with another one"):
        compare(one, planted())


def test_a_scale_has_room_for_both():
    """The numbers of the one alone would have each decade marked thirteen times."""
    narrow, wide = (
        replace(a, norms=np.linspace([7, 7], [high, high], a.n_blocks + 1).astype(np.float32))
        for a, high in ((grown([2.0, 2.1], [1.0, 2.0]), 9), (grown([2.0, 2.1], [1.0, 2.0]), 300))
    )
    marks = compare(narrow, wide).plot("norms").figure.layout.yaxis.tickvals
    assert sum(7 <= mark <= 300 for mark in marks) <= 6


@pytest.mark.parametrize("figure", ["line-shape", "norms"])
def test_a_figure_of_two_says_whose_each_is(figure):
    a, b = grown([2.0, 2.0], [1.0, 2.0]), grown([2.0, 3.0], [4.0, 5.0])
    other = replace(b, request=replace(b.request, model="o"), identity={"name": "other"})
    drawn = compare(a, other).plot(figure)
    assert " of other; all else is of random." in drawn.caption
    assert "other" in repr(drawn)


def test_two_that_differ_in_the_final_norm_alone_say_so():
    a = trajectory_result()
    b = replace(a, request=replace(a.request, final_norm="exclude"))
    assert a.final_norm_words != b.final_norm_words
    found = compare(a, b)
    assert "The last step of A alone has the final norm in it" in found.verdict
    assert "The two are not alike in this" in found.verdict
    assert "The last step of B alone" in compare(b, a).verdict
    for told in (found.verdict, repr(found), found.plot("line-shape").caption, repr(found.plot())):
        assert a.final_norm_words in told
        assert b.final_norm_words in told


@pytest.mark.parametrize("figure", ["line-shape", "norms"])
def test_two_of_one_name_are_drawn_as_a_and_b(figure):
    a, b = trajectory_result(), trajectory_result(seed=1)
    drawn = compare(a, b).plot(figure)
    assert " of B; all else is of A." in drawn.caption
    names = " ".join(trace.name or "" for trace in drawn.figure.data)
    assert re.search(r"\bA\b", names)
    assert re.search(r"\bB\b", names)


def test_what_the_final_norm_does_to_growth_is_said_where_it_is_included():
    a, b = trajectory_result(), trajectory_result(seed=1)
    assert "The last step has the final norm in it" in compare(a, b).verdict
    assert "the final norm's step included" in a.verdict
    assert "whose rescaling counts as growth" in a.plot("expodistance").caption
    assert "alike in this" not in compare(a, b).verdict
    without = [replace(one, request=replace(one.request, final_norm="exclude")) for one in (a, b)]
    assert "final norm in it" not in compare(*without).verdict
    assert "final norm's step" not in without[0].verdict
    assert "rescaling" not in without[0].plot("expodistance").caption


def test_paths_that_are_hardly_seen_beside_others_are_told():
    a, b = trajectory_result(), trajectory_result(seed=1)
    for scale, told in ((10, "[1-4]\\.[0-9]"), (10**5, "less than 0\\.1")):
        small = replace(b, states=b.states / scale)
        caption = compare(a, small).plot("paths").caption
        assert re.search(f"They lie close together here, and reach {told}\u00a0% as far", caption)
    assert "close together" not in compare(a, b).plot("paths").caption


def drawn_in(figure, axis):
    """The paths that are drawn on an axis, by their token."""
    traces = (trace for trace in figure.data if trace.xaxis == axis)
    return {int(trace.name): trace for trace in traces if (trace.name or "").isdigit()}


def test_paths_side_by_side_are_each_in_their_own_components():
    a, b = trajectory_result(), trajectory_result(seed=1)
    b = replace(b, states=b.states / 10**5)
    drawn = compare(a, b).plot("paths-apart", part="deeper", token=2)
    assert [note.text for note in drawn.figure.layout.annotations] == ["A", "B"]
    for of, axis in ((a, "x"), (b, "x2")):
        found = project_paths(of, part="deeper")
        shown = drawn_in(drawn.figure, axis)
        assert set(shown) == set(found.tokens)
        for at, token in enumerate(found.tokens):
            walked = found.coordinates[: len(shown[token].x), at]
            np.testing.assert_allclose(shown[token].x, walked[:, 0], rtol=1e-5)
            np.testing.assert_allclose(shown[token].y, walked[:, 1], rtol=1e-5)
        assert [token for token in shown if shown[token].line.width > 1.5] == [2]
    assert "The axes of the two are not the same." in drawn.caption
    assert [bar.name for bar in drawn.figure.data].count("places") == 1
    assert b"<svg" in drawn._render(".svg")


def test_the_bar_of_two_prompts_is_that_of_the_longer():
    a, b = trajectory_result(n_tokens=3), trajectory_result(n_tokens=5)
    for one, other in ((a, b), (b, a)):
        figure = compare(one, other).plot("paths-apart", first=True).figure
        (bar,) = [trace for trace in figure.data if trace.name == "places"]
        assert bar.marker.cmax == 5
        widths = [
            {token: trace.line.width for token, trace in drawn_in(figure, axis).items()}
            for axis in ("x", "x2")
        ]
        assert [max(of, key=of.get) for of in widths] == [len(one.tokens), len(other.tokens)]
    figure = compare(b, a).plot("paths-apart", token=5, first=True, other_token=2).figure
    assert drawn_in(figure, "x2")[2].line.width > 1.5
    nearest = compare(b, a).plot("paths-apart", token=5, first=True).figure
    assert drawn_in(nearest, "x2")[3].line.width > 1.5
    with pytest.raises(InputError, match="token 0 is out of range"):
        compare(b, a).plot("paths-apart", other_token=0)
    with pytest.raises(InputError, match="it has token, other_token"):
        compare(a, b).plot("paths-apart", tokn=2)


def test_paths_without_components_say_so_side_by_side():
    a, b = trajectory_result(n_tokens=1), trajectory_result(n_tokens=3)
    notes = [note.text for note in compare(a, b).plot("paths-apart").figure.layout.annotations]
    assert any("has no" in note for note in notes)


def test_what_is_the_same_at_each_token_is_not_counted_as_less():
    one = grown([2.0, 2.0], [1.0, 2.0])
    assert "1.500 in A and 1.500 in B (the same at each of 2 tokens)" in compare(one, one).verdict
    less = replace(one, line_shape=np.array([1.0, 1.5]))
    assert "1.500 in A and 1.250 in B (more in A at 1 of 2 tokens)" in compare(one, less).verdict
