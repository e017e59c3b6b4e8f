"""One more score is one more record: pages offer it, and no result is lost."""

from dataclasses import replace

import numpy as np
import pytest
import tiny
from handling import shipped
from screen import charts, coloured, heat, words

from coupling_core import InputError, Request, Store, View, measure, score_pairs, score_positions
from coupling_core.base import definitions
from coupling_core.experiments.gallery import requests, token_requests
from coupling_core.store.archive import decode, encode
from coupling_core.store.soundness import require_sound

COSINE = definitions.Definition(
    name="cosine",
    label="cosine of A and S",
    formula=r"c = \frac{\operatorname{tr} AS}{\lVert A \rVert_F \lVert s \rVert_2}",
    origin="of nobody, and 1 where the matrices are multiples of one another.",
    as_written=lambda A, s, p: np.sum(A * np.diag(s)) / np.linalg.norm(A) / np.linalg.norm(s),
    by_k=lambda diagonal, off, s, p: (
        np.cumsum(diagonal * s, -1)
        / (np.sqrt(off + np.cumsum(diagonal**2, -1)) * definitions.norm_by_k(s, 2))
    ),
    floor=lambda s, size, d, p: np.where(np.isnan(s), np.nan, 0.0),
    floor_words="naught",
)


@pytest.fixture(autouse=True)
def sixth(monkeypatch):
    """The score, for as long as a test lasts."""
    monkeypatch.setitem(definitions.DEFINITIONS, "cosine", COSINE)
    return COSINE


@pytest.fixture
def sampled(monkeypatch, sixth):
    """The same with a chance floor that only measuring can give."""
    monkeypatch.setitem(definitions.DEFINITIONS, "cosine", replace(sixth, floor=None))


def expected(k: int) -> np.ndarray:
    """Its scores of the first result that ships."""
    result = shipped(requests()[0])
    diagonal, s = (np.float64(x)[..., :k] for x in (result.diagonal[0], result.singular_values))
    size = np.sqrt(result.off_diagonal[0, ..., k - 1] + (diagonal**2).sum(-1))
    return (diagonal * s[:, None]).sum(-1) / size / np.linalg.norm(s, axis=-1)[:, None]


def test_pages_offer_it_draw_it_and_have_its_formula(open_page, sixth) -> None:
    app = open_page("Depth", **{"def": "cosine", "k": "10", "fig3": "0"})
    assert app.selectbox(key="definition@sidebar").value == "cosine"
    drawn = heat(charts(app)["scores"])
    np.testing.assert_allclose(drawn, coloured(expected(10)), rtol=1e-4, atol=1e-6)
    app = open_page("Method")
    assert "**cosine**: of nobody" in words(app)
    assert sixth.formula in [each.value.strip().strip("$").strip() for each in app.latex]


def test_a_mean_of_before_says_that_it_lacks_it(open_page) -> None:
    result = shipped(token_requests()[2])
    assert not np.isnan(score_positions(result, View()).mean().corrected)
    with pytest.raises(InputError, match="'cosine'"):
        score_positions(result, View(definition="cosine"))
    app = open_page("Tokens", **{"def": "cosine", "all": "1"})
    assert "'cosine'" in app.error[0].value.replace("\\", "")


def test_a_floor_that_was_not_sampled_is_told_and_what_has_one_stays(sampled) -> None:
    for asked, scored in ((requests()[0], score_pairs), (token_requests()[0], score_positions)):
        with pytest.raises(InputError, match="'cosine'"):
            scored(shipped(asked), View(definition="cosine"))
        scored(shipped(asked), View(definition="preprint"))
        require_sound(shipped(asked))


def test_what_is_measured_now_holds_it(sampled) -> None:
    model, ids = tiny.model("llama"), (5, 17, 42, 8, 99)
    depth = measure(Request(ids, k=5), model=model)
    pair = measure(Request(ids, k=5, kind="self", block=1, other_block=3), model=model)
    means = measure(Request(ids, k=5, kind="self"), model=model)
    assert depth.sampled == pair.sampled == definitions.sampled_definitions()
    assert depth.sampled[-1] == "cosine"
    assert means.definitions == tuple(definitions.DEFINITIONS)
    view = View(k=5, definition="cosine")
    for result, scored in ((depth, score_pairs), (pair, score_positions), (means, score_positions)):
        kept = replace(result, key=Store().key(result.request, result.identity))
        found = scored(decode(encode(kept)), view)
        np.testing.assert_array_equal(found.coupling, scored(result, view).coupling)
        assert not np.isnan(found.corrected).all()
