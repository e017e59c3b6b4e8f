"""A file says whose numbers it has: in its name, and in columns of a table."""

from dataclasses import replace

from cases import WHOSE, random_result

from coupling_core.analysis.exports import file_name, frame, signed
from coupling_core.base.records import View


def test_a_name_has_model_prompt_token_and_k():
    result = random_result()
    prompt = "What is the capital of France? The capital is"
    asked = replace(result.request, prompt=prompt, untrained=3)
    named = replace(result, request=asked, identity={"name": "Some/Model-1.5"})
    assert file_name(named, View(4), "scores", ".csv") == (
        "Some-Model-1.5_untrained-3_What-is-the-capital-of-France_"
        f"token-{result.token}_K-4_scores.csv"
    )


def test_a_name_is_one_whatever_the_prompt():
    result = random_result()
    for prompt in ("../../etc/passwd", "你好", "a" * 500, "a\nb"):
        name = file_name(
            replace(result, request=replace(result.request, prompt=prompt)), View(2), "", ".npz"
        )
        assert name.isascii()
        assert len(name) < 120
        assert not set(name) & set("/\\ \n")


def test_a_table_carries_model_prompt_and_k():
    result, view = random_result(), View(3)
    bare = frame(result, view)
    found = signed(bare, result, view)
    assert list(found.columns) == [*bare.columns, *WHOSE]
    assert set(found["model"]) == {result.model_name}
    assert set(found["prompt"]) == {result.prompt_text}
    assert set(found["K"]) == {3}
