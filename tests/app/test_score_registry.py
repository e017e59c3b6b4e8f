"""One more score is one more record: pages, commands and sweeps offer it, and no result is lost."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tiny
from screen import Open, charts, coloured, heat, words
from sixth import COSINE

from coupling_core import InputError, Request, Store, View, measure, score_pairs, score_positions
from coupling_core.base.definitions import DEFINITIONS, sampled_definitions
from coupling_core.experiments.gallery import requests, token_requests
from coupling_core.sources.resolved import resolve
from coupling_core.store.archive import decode, encode, load
from coupling_core.store.soundness import require_sound

SUPPORT = Path(__file__).parents[1] / "support"
SWEEP = """
name = "sixth"
k = [10]
definition = "cosine"
[[models]]
model = "smollm2-135m"
[[prompts]]
text = "What is the capital of France? The capital is"
"""
TABLE = """
from pathlib import Path
from coupling_core import Store
from coupling_core.experiments.sweeps import make, make_table, read
table, _ = make_table(make(read(Path("sixth.toml"))), Store())
print(table[["coupling", "corrected"]].to_json(orient="records"))
"""


@pytest.fixture(autouse=True)
def sixth(monkeypatch):
    """The score, for as long as a test lasts."""
    monkeypatch.setitem(DEFINITIONS, "cosine", COSINE)
    return COSINE


@pytest.fixture
def sampled(monkeypatch, sixth):
    """The same with a chance floor that only measuring can give."""
    monkeypatch.setitem(DEFINITIONS, "cosine", replace(sixth, floor=None))


def stored(request: Request):
    """A result that ships."""
    found = Store().find(request, resolve(request).identity)
    assert found is not None
    return found


def expected(k: int) -> np.ndarray:
    """Its scores of the first result that ships."""
    result = stored(requests()[0])
    diagonal, s = (np.float64(x)[..., :k] for x in (result.diagonal[0], result.singular_values))
    size = np.sqrt(result.off_diagonal[0, ..., k - 1] + (diagonal**2).sum(-1))
    return (diagonal * s[:, None]).sum(-1) / size / np.linalg.norm(s, axis=-1)[:, None]


def fresh(program: str, folder: Path, *words: object) -> str:
    """What a new process prints that has the score from its start."""
    (folder / "sixth.toml").write_text(SWEEP)
    done = subprocess.run(
        [sys.executable, "-c", f"import sixth; sixth.add()\n{program}", *map(str, words)],
        capture_output=True, text=True, check=True, cwd=folder,
        env=os.environ | {"PYTHONPATH": f"{SUPPORT}:{SUPPORT.parents[1]}", "COLUMNS": "200"},
    )  # fmt: skip
    return done.stdout


def test_pages_offer_it_draw_it_and_have_its_formula(open_page: Open, sixth) -> None:
    app = open_page("Depth", **{"def": "cosine", "k": "10", "fig3": "0"})
    assert app.selectbox(key="definition@sidebar").value == "cosine"
    drawn = heat(charts(app)["scores"])
    np.testing.assert_allclose(drawn, coloured(expected(10)), rtol=1e-4, atol=1e-6)
    app = open_page("Method")
    assert "**cosine**: of nobody" in words(app)
    assert sixth.formula in [each.value.strip().strip("$").strip() for each in app.latex]


@pytest.mark.full
def test_commands_and_sweeps_offer_it_and_show_it(tmp_path) -> None:
    main = "from coupling_core.cli import main; main()"
    told = re.sub(r"[\s│]", "", fresh(main, tmp_path, "depth", "--help"))
    assert "|cosine>" in told
    key = stored(requests()[0]).key
    view = ("--definition", "cosine", "--k", 10, "--json")
    said = json.loads(fresh(main, tmp_path, "runs", "show", key, *view))
    assert said["definition"] == "cosine"
    np.testing.assert_allclose(said["coupling"], expected(10), rtol=1e-4, atol=1e-6)
    (row,) = json.loads(fresh(TABLE, tmp_path))
    others = expected(10)[~np.eye(30, dtype=bool)]
    assert row["coupling"] == pytest.approx(others.mean(), abs=1e-6)


@pytest.mark.full
def test_every_result_that_ships_is_read_and_sound(sampled) -> None:
    paths = sorted(Store().gallery.glob("*.safetensors"))
    assert len(paths) >= 197
    for path in paths:
        require_sound(load(path))


def test_a_mean_of_before_says_that_it_lacks_it(open_page: Open) -> None:
    result = stored(token_requests()[2])
    assert not np.isnan(score_positions(result, View()).mean().corrected)
    with pytest.raises(InputError, match="'cosine'"):
        score_positions(result, View(definition="cosine"))
    app = open_page("Tokens", **{"def": "cosine", "all": "1"})
    assert any("was measured without" in error.value for error in app.error)


def test_a_floor_that_was_not_sampled_is_told_and_what_has_one_stays(sampled) -> None:
    for asked, scored in ((requests()[0], score_pairs), (token_requests()[0], score_positions)):
        with pytest.raises(InputError, match="'cosine'"):
            scored(stored(asked), View(definition="cosine"))
        scored(stored(asked), View(definition="preprint"))


def test_what_is_measured_now_holds_it(sampled) -> None:
    model, ids = tiny.model("llama"), (5, 17, 42, 8, 99)
    depth = measure(Request(ids, k=5), model=model)
    pair = measure(Request(ids, k=5, kind="self", block=1, other_block=3), model=model)
    means = measure(Request(ids, k=5, kind="self"), model=model)
    assert depth.sampled == pair.sampled == sampled_definitions()
    assert depth.sampled[-1] == "cosine"
    assert means.definitions == tuple(DEFINITIONS)
    view = View(k=5, definition="cosine")
    for result, scored in ((depth, score_pairs), (pair, score_positions), (means, score_positions)):
        kept = replace(result, key=Store().key(result.request, result.identity))
        again = decode(encode(kept))
        assert (vars(again).keys(), type(again)) == (vars(kept).keys(), type(kept))
        found = scored(again, view)
        np.testing.assert_array_equal(found.coupling, scored(result, view).coupling)
        assert not np.isnan(found.corrected).all()
