import csv
import io

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from coupling_core.analysis.exports.forms import as_read, inert, to_csv

FORMULAS = ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "'=1", "''-")


def cells(table: pd.DataFrame) -> list[list[str]]:
    return list(csv.reader(io.StringIO(to_csv(table).decode(), newline="")))[1:]


def test_a_text_that_begins_a_formula_is_quoted() -> None:
    for text in FORMULAS:
        ((cell, number),) = cells(pd.DataFrame({"token": [text], "score": [-1.5]}))
        assert (cell, number) == (f"'{text}", "-1.5")
        assert as_read(cell) == text


def test_any_other_text_is_as_it_is() -> None:
    for text in ("cat", "", " =1", "'s", "'", "1", "☃", "a=b"):
        ((cell, _),) = cells(pd.DataFrame({"token": [text], "n": [1]}))
        assert cell == text == as_read(cell)


@given(st.lists(st.text(st.sampled_from("='+-@\t\ra")), min_size=1))
def test_every_text_comes_back(texts: list[str]) -> None:
    table = pd.DataFrame({"token": texts})
    assert [as_read(cell) for cell in inert(table)["token"]] == texts
    assert list(table["token"]) == texts


def test_the_names_of_rows_are_texts_too() -> None:
    table = pd.DataFrame({"score": [-1.0, 2.0]}, index=["=1", "b"])
    assert to_csv(table, index=True) == b",score\r\n'=1,-1.0\r\nb,2.0\r\n"


def test_numbers_and_gaps_are_untouched() -> None:
    table = pd.DataFrame({"a": [-1, 2], "b": [-0.5, None], "c": [None, "-x"], "d": [True, False]})
    assert to_csv(table) == b"a,b,c,d\r\n-1,-0.5,,True\r\n2,,'-x,False\r\n"
