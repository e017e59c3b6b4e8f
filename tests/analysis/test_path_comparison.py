"""Two results of paths side by side."""

import re
from dataclasses import replace

import numpy as np
from cases import trajectory_result
from masked import masked

from coupling_core import compare, project_paths


def grown(factors, line_shape):
    """Paths of a prompt whose norms grow by a factor a block, one a token."""
    whole = trajectory_result(n_tokens=len(factors))
    along = np.arange(whole.n_blocks + 1)[:, None]
    norms = np.asarray(factors, np.float32)[None, :] ** along
    return replace(whole, norms=norms.astype(np.float32), line_shape=np.array(line_shape))


def test_means_and_tokens_are_those_planted():
    a = grown([2.0, 4.0, 8.0], [1.0, 2.0, 6.0])
    b = grown([4.0, 2.0, 2.0], [2.0, 2.0, np.nan])
    table = compare(a, b).to_pandas().set_index("number")
    straight, grows = table.loc["line_shape"], table.loc["growth"]
    # The third token has no score in B, and so counts in neither.
    assert (straight.a, straight.b, straight.difference) == (1.5, 2.0, -0.5)
    assert (straight.a_above, straight.tokens) == (0, 2)
    np.testing.assert_allclose([grows.a, grows.b], np.log(2) * np.array([2, 4 / 3]), rtol=1e-6)
    assert (grows.a_above, grows.tokens) == (2, 3)
    assert "1.500 in A and 2.000 in B (more in A at 0 of 2 tokens" in compare(a, b).verdict
    for shape in (np.inf, np.nan):  # what no token has
        found = compare(grown([2.0], [shape]), grown([2.0], [1.0]))
        straight = found.to_pandas().set_index("number").loc["line_shape"]
        assert (straight.tokens, straight.a_above) == (0, 0)
        assert straight[["a", "b", "difference"]].isna().all()
        assert "not to be compared" in found.verdict
    assert "mean line shape A 1.500, B 2.000" in repr(compare(grown([2.0], [1.5]), b))


def test_each_place_in_two_prompts_has_its_own_numbers():
    a, b = grown([2.0, 4.0], [1.0, 2.0]), grown([4.0, 2.0, 2.0], [2.5, np.nan, 1.0])
    b = replace(b, tokens=("dog", *b.tokens[1:]))
    table = compare(a, b).by_token()
    straight, grows = (table[table.number == name] for name in ("line_shape", "growth"))
    assert straight.a_text.tolist() == list(a.tokens)
    assert straight.b_text.tolist() == ["dog", a.tokens[1]]
    assert straight.token.tolist() == [1, 2]
    np.testing.assert_array_equal(straight.difference, [-1.5, np.nan])
    np.testing.assert_allclose(grows.difference, np.log(2) * np.array([-1, 1]), rtol=1e-6)
    assert (table.attrs["a_prompt"], len(table)) == (a.prompt_text, 8)


def test_verdicts_of_paths(snapshot):
    """They count the tokens that a mean is over, and name which side has the final norm."""
    shapes = {
        "a step of length 0": (1.0, 3.0, np.nan),
        "back at the start": (1.0, np.inf, np.inf),
        "none": (np.inf, np.inf, np.nan),
        "all": (1.0, 2.0, 3.0),
    }
    told = {name: grown([2.0] * 3, shape).verdict for name, shape in shapes.items()}
    told["no growth"] = grown([0.0, 0.0], [1.0, 1.0]).verdict
    one = grown([2.0, 2.0], [1.0, 2.0])
    less = replace(one, line_shape=np.array([1.0, 1.5]))
    excluded = replace(one, request=replace(one.request, final_norm="exclude"))
    told |= {
        "the same": compare(one, one).verdict,
        "less in B": compare(one, less).verdict,
        "final norm in A": compare(one, excluded).verdict,
        "final norm in neither": compare(excluded, excluded).verdict,
    }
    assert "nan" not in " ".join(told.values())
    assert masked(told) == snapshot


def test_other_tokens_are_compared_by_means_and_by_depth():
    a, b = grown([2.0, 2.0, 2.0], [1.0, 2.0, 3.0]), grown([2.0, 2.0], [4.0, 5.0])
    b = replace(b, request=replace(b.request, prompt="The dog"))
    found = compare(a, b)
    assert found.to_pandas().a_above.isna().all()
    assert "over 3 tokens of A and 2 of B" in found.verdict
    traces = {trace.uid: trace for trace in found.plot("growth").figure.data}
    assert set(traces) == {"median", "twin"}  # a token's own line would be of one of the two
    for uid, of in (("median", a), ("twin", b)):
        assert of.prompt_text in traces[uid].name
        np.testing.assert_allclose(traces[uid].y, np.median(of.growth, axis=1))


def test_it_draws_both_under_names_that_tell_them_apart():
    a, b = grown([2.0, 2.0], [1.0, 2.0]), grown([2.0, 3.0], [4.0, 5.0])
    twin = replace(b, request=replace(b.request, untrained=0))
    other = replace(b, request=replace(b.request, model="o"), identity={"name": "other"})
    for beside, named in ((twin, "untrained twin"), (other, "other"), (b, "B")):
        for figure in ("expodistance", "line-shape-by-depth"):
            told = {trace.uid: trace.name for trace in compare(a, beside).plot(figure).figure.data}
            assert re.search(rf"\b{named}\b", told["twin"])


def drawn_in(figure, axis):
    """The paths that are drawn on an axis, by their token."""
    traces = (trace for trace in figure.data if trace.xaxis == axis)
    return {int(trace.name): trace for trace in traces if (trace.name or "").isdigit()}


def highlighted(figure, axis):
    return [token for token, trace in drawn_in(figure, axis).items() if trace.line.width > 1.5]


def test_paths_side_by_side_are_each_in_their_own_components():
    a, b = trajectory_result(), trajectory_result(seed=1)
    b = replace(b, states=b.states / 10**5)
    figure = compare(a, b).plot("paths-apart", part="deeper", token=2).figure
    assert [note.text for note in figure.layout.annotations] == ["A", "B"]
    for of, axis in ((a, "x"), (b, "x2")):
        found, shown = project_paths(of, part="deeper"), drawn_in(figure, axis)
        assert set(shown) == set(found.tokens)
        for at, token in enumerate(found.tokens):
            walked = found.coordinates[: len(shown[token].x), at]
            np.testing.assert_allclose(shown[token].x, walked[:, 0], rtol=1e-5)
            np.testing.assert_allclose(shown[token].y, walked[:, 1], rtol=1e-5)
        assert highlighted(figure, axis) == [2]


def test_two_prompts_have_one_bar_and_each_its_own_token():
    short, long = trajectory_result(n_tokens=3), trajectory_result(n_tokens=5)
    for one, other in ((short, long), (long, short)):
        figure = compare(one, other).plot("paths-apart", first=True).figure
        (bar,) = [trace for trace in figure.data if trace.name == "places"]
        assert bar.marker.cmax == 5
        ends = [highlighted(figure, axis) for axis in ("x", "x2")]
        assert ends == [[len(one.tokens)], [len(other.tokens)]]
    figure = compare(long, short).plot("paths-apart", token=5, first=True).figure
    assert highlighted(figure, "x2") == [3]  # the nearest
