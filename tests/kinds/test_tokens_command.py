"""`coupling tokens`, through real measurements of a tiny model in a folder."""

import csv
import json

import numpy as np
import pytest

from coupling_core import Request, View, measure, score_positions
from coupling_core.store.archive import load

PROMPT = "The cat\nsat on the mat"


@pytest.fixture
def tokens(run, folder):
    """`tokens` on the tiny model at K = 5."""
    return lambda *args: run("tokens", "--model", folder, "--k", 5, "--prompt", PROMPT, *args)


@pytest.fixture(scope="module")
def expected(folder):
    """The same measurement through Python."""
    return lambda **changes: measure(Request(PROMPT, model=str(folder), k=5, **changes))


def printed(answer):
    status, out, err = answer
    assert status == 0, err
    return json.loads(out)


def numbers(rows):
    """JSON has null where there is no number."""
    return np.array(rows, float)


MODES = [
    (["--kind", "self"], {"kind": "self"}),
    (["--mode", "fixed-output"], {"kind": "fixed-output"}),  # what it was called
    (["--kind", "fixed-input"], {"kind": "fixed-input", "token": 1}),
    (["--kind", "fixed-input", "--token", "3"], {"kind": "fixed-input", "token": 3}),
    (["--kind", "fixed-output"], {"kind": "fixed-output"}),
    (["--kind", "fixed-output", "--token", "4"], {"kind": "fixed-output", "token": 4}),
]


@pytest.mark.parametrize("block", [["--block", "2", "--other-block", "4"], ["--block", "3"], []])
@pytest.mark.parametrize(("mode", "changes"), MODES)
def test_json_has_the_numbers_of_the_same_measurement_in_python(
    tokens, expected, mode, changes, block
):
    said = printed(tokens(*mode, *block, "--definition", "page", "--role", "B", "--json"))
    pair = [int(number) for number in block[1::2]]
    blocks = {"block": pair[0], "other_block": pair[-1]} if pair else {}
    result = expected(**changes, **blocks)
    found = score_positions(result, View(k=5, definition="page", role="B"))
    for name in ("coupling", "corrected"):
        assert numbers(said[name]) == pytest.approx(getattr(found, name), abs=1e-6, nan_ok=True)
    assert said["mean"] == pytest.approx(found.mean().corrected, abs=1e-6)
    assert said["blocks"] == ([pair[0], pair[-1]] if pair else None)
    assert said["kind"] == changes["kind"]
    assert said["token"] == (result.token or None)
    assert said["positions"] == list(range(1, len(result.tokens) + 1))
    assert said["seconds"] > 0
    assert said["load_seconds"] >= 0  # none for a model that is in memory
    assert (said["stored"], len(said["key"])) == (False, len(result.key) or len(said["key"]))


def test_the_second_time_it_comes_from_the_store_under_the_same_key(tokens):
    first, second = (printed(tokens("--block", 1, "--json")) for _ in range(2))
    assert (first["stored"], second["stored"]) == (False, True)
    assert first["key"] == second["key"]
    assert first["coupling"] == second["coupling"]


def test_npz_has_the_arrays_by_name(tokens, expected, tmp_path):
    tokens(
        "--kind", "fixed-output", "--block", 1, "--other-block", 3, "--token", 4, "--out", "r.npz"
    )
    result = expected(kind="fixed-output", block=1, other_block=3, token=4)
    n = len(result.tokens)
    with np.load(tmp_path / "r.npz", allow_pickle=False) as named:
        assert named["singular_values"].shape == (2, n, 5)
        found = score_positions(result, View(k=5))
        np.testing.assert_allclose(named["coupling"], found.coupling, atol=1e-6)
        for name in ("coupling", "chance", "corrected"):
            assert np.isnan(named[name][4:]).all()
            assert np.isnan(named[name][:, 4:]).all()
            assert not np.isnan(named[name][:4, :4]).any()
        assert list(named["positions"]) == list(range(1, n + 1))
        assert list(named["tokens"]) == list(result.tokens)
        assert list(named["blocks"]) == [1, 3]
        assert named["certified"].tolist() == [[True] * 4 + [False] * (n - 4)] * 2
        np.testing.assert_allclose(named["A"][1, 2], result.matrix(2, 3)[:5, :5], atol=1e-6)


def test_npz_of_the_mean_has_every_block(tokens, expected, tmp_path):
    tokens("--out", "r.npz")
    result = expected(kind="self")
    with np.load(tmp_path / "r.npz", allow_pickle=False) as named:
        assert named["singular_values"].shape == (4, len(result.tokens), 5)
        assert named["pairs"].tolist()[0][:2] == [12, 16]
        np.testing.assert_allclose(
            named["corrected"], score_positions(result, View(k=5)).corrected, atol=1e-6
        )


def test_csv_has_a_row_a_pair_and_leaves_out_what_has_no_score(tokens, tmp_path):
    tokens("--kind", "fixed-output", "--block", 1, "--token", 4, "--out", "r.csv")
    with (tmp_path / "r.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    named = {(int(r["token"]), int(r["other_token"])): r for r in rows}
    assert float(named[2, 2]["coupling"]) == 1
    assert named[2, 5]["coupling"] == named[5, 5]["corrected"] == named[2, 5]["chance"] == ""
    assert named[2, 3]["text"] == " cat"


def test_the_stored_form_is_read_back(tokens, expected, tmp_path):
    tokens("--block", 1, "--out", "r.safetensors")
    result = load(tmp_path / "r.safetensors")
    np.testing.assert_allclose(result.diagonal, expected(kind="self", block=1).diagonal, atol=1e-5)


@pytest.mark.parametrize("figure", ["grid", "mosaic", "distance", "spectrum"])
def test_figures_stand_alone(tokens, tmp_path, figure):
    status, _, err = tokens("--block", 1, "--out", "r.html", "--figure", figure)
    assert status == 0, err
    text = (tmp_path / "r.html").read_text()
    assert "plotly" in text
    assert "in block 1, each token with itself" in text


def test_the_table_names_tokens_reasons_and_distances(tokens):
    status, out, err = tokens("--kind", "fixed-output", "--block", 1, "--token", 4)
    assert status == 0, err
    assert "compared    fixed-output, in block 1, output token 4 of" in out
    assert "forbidden by causality" in out
    assert "␣cat" in out
    assert "By distance of the two tokens" in out
    assert "4 of 4 certified" in out
    status, out, _ = tokens("--kind", "fixed-output", "--block", 1, "--token", 4, "--k", 25)
    assert "3 Jacobians have a rank below K" in out


def test_runs_show_and_list_know_the_kind(tokens, run):
    key = printed(tokens("--block", 1, "--json"))["key"]
    status, out, err = run("runs", "show", key, "--k", 5)
    assert status == 0, err
    assert "in block 1, each token with itself" in out
    assert "self, blocks 1 and 1" in run("runs", "ls")[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--kind", "self", "--token", "2"], "takes all tokens"),
        (["--block", "9"], "block 9 is out of range"),
        (["--block", "0"], "block 0 does not exist"),
        (["--other-block", "2"], "needs a block"),
        (["--kind", "fixed-input", "--token", "99"], "token 99 is out of range"),
        (["--p", "2"], "kept at p = 1"),
        (["--figure", "mosaic", "--out", "r.svg"], "one pair of blocks"),
        (["--block", "1", "--k", "33"], "K must lie in 1..32"),
        (["--block", "1", "--out", "r.txt"], "--out ends in"),
        (["--kind", "sideways"], "sideways"),
    ],
)
def test_wrong_input_is_one_line_and_status_2(tokens, arguments, message):
    status, out, err = tokens(*arguments)
    assert (status, out) == (2, "")
    assert message in err
    assert err.startswith("error: ")
    assert err.count("\n") == 1


def test_p_may_be_chosen_for_one_pair_of_blocks(tokens, expected):
    said = printed(tokens("--block", 1, "--other-block", 2, "--p", 2, "--json"))
    found = score_positions(expected(kind="self", block=1, other_block=2), View(k=5, p=2))
    assert numbers(said["coupling"]) == pytest.approx(found.coupling, abs=1e-6)
