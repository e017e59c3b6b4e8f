"""The file of a sweep's scores: what is written is read back; and those that ship.

These are of today's sweep files, prompts, weights and keys.
"""

import json

import numpy as np
import pytest
from sweep_table import sweep_of, zoo

from coupling_core import Store, measure
from coupling_core.analysis.findings import Question, find
from coupling_core.analysis.statistics import at_k
from coupling_core.base.folders import SWEEPS
from coupling_core.experiments.sweeps import make, make_table, read, read_table, write_table
from coupling_core.experiments.sweeps.table import COLUMNS
from coupling_core.experiments.vision import SUITE
from coupling_core.experiments.vision.findings import VisionFindings
from coupling_core.sources.prompts import set_own
from coupling_core.store.request_key import make_key, parse_key

TABLE = sweep_of(zoo()[:4], prompts=2).reindex(columns=list(COLUMNS))
ODD = (
    *("a\rb", "\r", "a\r\nb", "two\nlines", 'a "quote"', "a, comma", " a ", "\t", "é\u202e"),
    *("12", "1e3", "NA", "nan", "None", "True", "inf", "=1+1", "\ufeff", "#"),
)
FOLDERS = sorted((SWEEPS / "measured").iterdir())
assert FOLDERS


@pytest.fixture
def back(tmp_path):
    """A table with other columns, written to a file and read again."""

    def back(name="t.csv", table=TABLE, **columns):
        write_table(tmp_path / name, table.assign(**columns))
        return read_table(tmp_path / name)

    return back


def test_a_text_comes_back_as_it_was(back):
    """Also where all texts of a column look like numbers."""
    of_texts = ["prompt", "model", "family"]
    for text in ODD:
        again = back(**dict.fromkeys(of_texts, text))
        assert (again[of_texts] == text).all(axis=None), repr(text)
    np.testing.assert_allclose(again["corrected"], TABLE["corrected"], rtol=1e-5)


def test_what_is_unknown_stays_so_and_what_is_infinite_becomes_so(back):
    again = back(loss=np.nan, parameters=np.inf, score=-np.inf)
    assert again[["loss", "parameters", "score"]].isna().all(axis=None)
    assert not find(again, Question(4)).correlations["pearson"].n
    assert list(again["trained"]) == [True] * len(TABLE)


def test_whole_numbers_keep_all_their_digits_and_counts_are_whole_again(back, tmp_path):
    again = back(parameters=134515008.0, loss=2.123456789)
    assert ",134515008," in (tmp_path / "t.csv").read_text()
    assert set(again["parameters"]) == {134515008.0}
    assert set(again["loss"]) == {2.12346}
    for name in ("t.csv", "t.parquet"):
        again = back(name, token=-1.0)
        for column in ("layers", "width", "tokens", "k", "token"):
            assert all(type(one) is int for one in again[column].tolist())


def test_a_parquet_file_has_every_digit(back):
    table = TABLE.assign(certified=[True] * (len(TABLE) - 1) + [None], topic="=sum")
    table = table.drop(columns=["line_shape", "loss", "score", "definition"])
    again, of_text = (back(name, table) for name in ("t.parquet", "t.csv"))
    assert list(again) == list(of_text) == list(table)  # and no other column
    assert again["corrected"].tolist() == table["corrected"].tolist()
    assert again["topic"].tolist() == table["topic"].tolist()
    assert again["certified"].tolist()[0] is of_text["certified"].tolist()[0] is True
    assert again["certified"].isna().tolist() == of_text["certified"].isna().tolist()


def test_columns_of_the_prompts_own_come_back_as_they_were(back):
    n = len(TABLE)
    own = {"topic": ["=sum", *[""] * (n - 1)], "year": [1999] * n, "code": ["007"] * n}
    own |= {"ok": [True, *[False] * (n - 1)]}
    again = back(**own, share=[0.5] + [np.nan] * (n - 1)).fillna({"topic": ""})
    assert {name: again[name].tolist() for name in own} == own
    assert again["share"].tolist()[0] == 0.5
    assert again["share"].isna().sum() == n - 1
    wide = {"number": 2**60 + 1, "far": 10**24, "year": 2020, "x": 1e20, "ts": 1234567891.5}
    rows = [wide, *[dict.fromkeys(wide, np.nan)] * (n - 1)]
    for name in ("t.csv", "t.parquet"):
        table = TABLE.copy()
        set_own(table, wide, rows)
        again = back(name, table)
        found = [float(again[at][0]) if at in ("x", "ts") else int(again[at][0]) for at in wide]
        assert found == [*wide.values()], name
        assert again[[*wide]].isna().sum().tolist() == [n - 1] * 5
        nested = back(name, **{"=h": [{"a": 1}, *[None] * (n - 1)]})["=h"]
        assert (nested[0], nested.isna().sum()) == ('{"a": 1}', n - 1)
    mixed = back("t.parquet", year=[2020, *["n/a"] * (n - 1)])
    assert mixed["year"].tolist() == ["2020", *["n/a"] * (n - 1)]


def test_a_k_says_which_share_of_the_width_it_came_of(tmp_path, folder):
    said = {"name": "n", "k": [0.25, 0.26, 4, 8], "prompts": [{"text": "The cat"}]}
    plan = make(said | {"models": [{"model": str(folder)}]})
    store = Store(tmp_path / "store")
    measure(next(plan.items()).request, store, device="cpu")
    table, _ = make_table(plan, store)
    assert table["k"].tolist() == [4, 8, 8, 8]
    ways = [np.nan, np.nan, 0.25, 0.26]
    np.testing.assert_array_equal(table["k_share"], ways)
    write_table(tmp_path / "t.csv", table)
    np.testing.assert_array_equal(read_table(tmp_path / "t.csv")["k_share"], ways)
    assert [len(at_k(table, k)) for k in (4, 8, 0.25, 0.26)] == [1] * 4


@pytest.fixture(scope="module", params=FOLDERS, ids=lambda folder: folder.name)
def shipped(request):
    """A folder, its plan made anew, and its table."""
    folder = request.param
    name = json.loads((folder / "plan.json").read_text())["name"]
    return folder, make(read(SWEEPS / f"{name}.toml")), read_table(folder / "table.csv")


def test_it_is_of_the_sweep_as_its_file_is_now(shipped):
    folder, plan, _ = shipped
    assert folder.name == plan.id
    noted = json.loads((folder / "plan.json").read_text())
    assert noted == json.loads(json.dumps(plan.described))


def test_every_measurement_has_its_rows_by_the_key_of_its_result(shipped):
    _, plan, table = shipped
    several = len(plan.sweep.k)
    asked = [item for item in plan.items() for _ in range(several)]
    assert len(table) == len(asked)
    for item, text in zip(asked, table.key, strict=True):
        wanted = make_key(item.request, plan.weights[item.weights].identity)
        found = parse_key(text)
        assert found is not None
        assert found.digest == wanted.digest
        assert found.answers(item.request)  # one of the gallery may hold more than was asked for
    assert list(table.k[:several]) == sorted(plan.sweep.k)


def test_every_number_is_there_and_certified(shipped):
    _, _, table = shipped
    assert table.certified.astype(str).eq("True").all()
    for name in ("coupling", "chance", "corrected", "alignment", "parameters", "tokens"):
        assert np.isfinite(table[name]).all(), name
    assert table.loss.notna().equals(table.step.notna())


def test_what_it_says_is_said_of_the_untrained_too(shipped):
    _, plan, table = shipped
    if plan.of_images:
        found = VisionFindings(table, 10)
        assert (len(found.runs), found.untrained.n) == (len(SUITE.runs), len(SUITE.seeds))
        assert abs(found.untrained.mean) < 0.01 < found.runs["low"].max()
        return
    rows = find(table, Question(8)).means.rows.set_index("model")
    trained, twin = (rows.loc[name] for name in rows.index[rows.index.str.startswith("SmolLM2")])
    assert trained.low > twin.high
    assert abs(twin.coupling) < 0.003
