"""What a table says of its numbers, and texts in it that a spreadsheet would take for formulas."""

import csv
import io
from dataclasses import replace

import pandas as pd
from cases import WHOSE, random_result
from hypothesis import given
from hypothesis import strategies as st

from coupling_core.analysis.exports import file_name, frame, signed
from coupling_core.analysis.exports.forms import as_read, inert, to_csv
from coupling_core.base.records import View

RESULT = random_result()


def cells(table: pd.DataFrame) -> list[list[str]]:
    return list(csv.reader(io.StringIO(to_csv(table).decode(), newline="")))[1:]


def test_a_text_that_begins_a_formula_is_quoted_and_any_other_is_as_it_is() -> None:
    for text in ("=1+1", "+1-2", "-a", "@SUM(A1)", "\t=1", "\r=1", "'=1", "''-"):
        ((cell, number),) = cells(pd.DataFrame({"token": [text], "score": [-1.5]}))
        assert (cell, number) == (f"'{text}", "-1.5")
        assert as_read(cell) == text
    for text in ("cat", "", " =1", "'s", "'", "1", "+3", "-5", "'-1e5", "☃", "a=b"):
        ((cell, _),) = cells(pd.DataFrame({"token": [text], "n": [1]}))
        assert cell == text == as_read(cell)


@given(st.lists(st.text(st.sampled_from("='+-@\t\ra1")), min_size=1))
def test_every_text_comes_back(texts: list[str]) -> None:
    table = pd.DataFrame({"token": texts})
    assert [as_read(cell) for cell in inert(table)["token"]] == texts
    assert list(table["token"]) == texts


def test_numbers_and_gaps_are_untouched_and_names_of_rows_are_texts_too() -> None:
    table = pd.DataFrame({"a": [-1, 2], "b": [-0.5, None], "c": [None, "-x"], "d": [True, False]})
    assert to_csv(table) == b"a,b,c,d\r\n-1,-0.5,,True\r\n2,,'-x,False\r\n"
    table = pd.DataFrame({"score": [-1.0, 2.0]}, index=["=1", "b"])
    assert to_csv(table, index=True) == b",score\r\n'=1,-1.0\r\nb,2.0\r\n"


def test_a_file_is_named_after_model_prompt_token_and_k() -> None:
    def named(prompt: str, **changes: object) -> str:
        asked = replace(RESULT.request, prompt=prompt, untrained=3)
        result = replace(RESULT, request=asked, identity={"name": "Some/Model-1.5"})
        return file_name(result, View(4), "scores", ".csv")

    assert named("What is the capital of France? The capital is") == (
        "Some-Model-1.5_untrained-3_What-is-the-capital-of-France_"
        f"token-{RESULT.token}_K-4_scores.csv"
    )
    for prompt in ("../../etc/passwd", "你好", "a" * 500, "a\nb"):
        name = named(prompt)
        assert name.isascii()
        assert len(name) < 120
        assert not set(name) & set("/\\ \n")


def test_a_table_carries_model_prompt_and_k() -> None:
    bare = frame(RESULT, View(3))
    found = signed(bare, RESULT, View(3))
    assert list(found.columns) == [*bare.columns, *WHOSE]
    for name, value in (("model", RESULT.model_name), ("prompt", RESULT.prompt_text), ("K", 3)):
        assert set(found[name]) == {value}
