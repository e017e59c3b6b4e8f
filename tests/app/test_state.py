"""The states of the pages, their form in a link, and what they ask for."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from streamlit.testing.v1 import AppTest

from coupling_core import DEFINITIONS, InputError, Request
from coupling_core.base.kinds import kinds
from explorer.frame.contents import LINKS, PAGE_OF_KIND, PAGES
from explorer.pages.classroom.state import TITLE as CLASSROOM
from explorer.pages.depth import DepthState
from explorer.pages.tokens.state import TokensState
from explorer.pages.training.state import TrainingState
from explorer.session.lesson import Lesson, packed
from explorer.session.link import Field
from explorer.session.state import State

ODD = " Ä\u202e\n\t&?=%+#'\"\\ 😀"
KEY = f"{'a' * 32}-k50-v24"
TEXTS = (
    *("0", "1", "2", "3", "7", "64", "96", "99", "1000", "-1", "-20", "9" * 9),
    *("0.0", "0.001", "0.0001", "0.003", "0.1", "0.25", "0.3", "0.5", "1.0", "3.0", "20.0"),
    *("shipped", "0123456789abcdef", "9-16", "mini-64,mini-64-sd", "mini-128", KEY, "bag/0018"),
    *("a-sweep-0123abcd", "my-run-1", "my-run-1,b.2", "--s012", packed(Lesson(title="A")), ODD),
    *DEFINITIONS,
)


def values(field: Field) -> list[object]:
    """What a field may be: its default, its choices, and what of these texts it takes."""
    schema = field.reads.json_schema()
    given = [
        choice for part in (schema, *schema.get("anyOf", ())) for choice in part.get("enum", ())
    ]
    found = [field.default]
    for text in (*given, *TEXTS):
        try:
            found.append(field.reads.validate_python(text))
        except (InputError, ValidationError):
            continue
    return list({repr(value): value for value in found}.values())


VALUES = {field.field: values(field) for field in LINKS.fields.values()}
ANY = st.text(min_size=1).filter(str.strip)
CHOSEN = {
    name: st.sampled_from(of) | ANY if ODD in of and name != "own_name" else st.sampled_from(of)
    for name, of in VALUES.items()
}


def test_every_field_can_be_something_else_than_its_default() -> None:
    assert [name for name, of in VALUES.items() if len(of) < 2] == []
    assert {name for name, of in VALUES.items() if ODD in of} >= {"model", "prompt", "of_model"}


@given(st.fixed_dictionaries(CHOSEN))
def test_a_link_carries_the_states_of_all_pages(chosen) -> None:
    assert LINKS.read(LINKS.write(chosen, CLASSROOM)) == (chosen, ())
    assert "draft" not in LINKS.write(chosen, "Depth")


def test_a_link_names_only_what_is_not_the_default() -> None:
    for page in PAGES.values():
        assert LINKS.write(vars(page.state())) == {}
    assert LINKS.write(vars(State(k=10, signed=True))) == {"k": "10", "signed": "1"}


def test_a_link_of_before_means_what_it_meant() -> None:
    chosen, problems = LINKS.read({"left": KEY, "right": KEY, "mode": "fixed-input"})
    assert chosen == LINKS.defaults | {"a": KEY, "b": KEY, "kind": "fixed-input"}
    assert not problems


def test_a_bad_value_costs_only_itself() -> None:
    chosen, problems = LINKS.read({"k": "-3", "role": "B"})
    assert chosen == LINKS.defaults | {"role": "B"}
    assert len(problems) == 1
    assert LINKS.read({"first": "1"}) == (LINKS.defaults | {"first": True}, ())


def test_a_mosaic_has_at_most_24_blocks() -> None:
    shown = {  # blocks, whether those of figure 3, how many there are: which, and the stride
        ("", True, 30): (tuple(range(9, 17)), 1),
        ("1-4", False, 30): ((1, 2, 3, 4), 1),
        ("", False, 24): (tuple(range(1, 25)), 1),
        ("", False, 25): (tuple(range(1, 26, 2)), 2),
        ("", False, 80): (tuple(range(1, 81, 4)), 4),
        ("", True, 12): (tuple(range(1, 13)), 1),  # too shallow for figure 3
    }
    found = {
        asked: DepthState(blocks=asked[0], figure_3=asked[1]).mosaic_blocks(asked[2])
        for asked in shown
    }
    assert found == shown


def test_another_measurement_is_looked_at_the_same_way() -> None:
    of_both = {"model": "folder", "token": 2, "final_norm": "exclude"}
    of_both |= {"dtype": "bfloat16", "quantize": "nf4", "stack": "encoder"}
    asked = Request("Another text", **of_both)
    state = State(k=40, definition="page", block=5).of_request(asked, k_max=16)
    assert state == State(**of_both, prompt="Another text", k=16, definition="page", block=5)
    assert state.request() == Request("Another text", **of_both, k=16)
    twin = State().of_request(Request("Another text", untrained=7), k_max=50)
    assert twin.request().untrained == 7


def test_a_result_opens_on_the_one_page_that_asks_for_it() -> None:
    assert set(PAGE_OF_KIND) == set(kinds())
    assert sum(len(page.kinds) for page in PAGES.values()) == len(PAGE_OF_KIND)
    for asked in (
        Request("Hi", model="folder", token=2, k=60),
        Request("Hi", kind="trajectory", final_norm="exclude"),
        Request("Hi", kind="what-if", untrained=2),
        *(Request("Hi", kind=kind, token=1) for kind in ("spectrum", "perturbation", "directions")),
    ):
        state = PAGE_OF_KIND[asked.kind].state(k=60).of_request(asked, asked.k_max)
        assert state.request(asked.kind) == asked
    for asked in (
        Request("Hi", kind="self", block=3, other_block=2),
        Request("Hi", kind="fixed-input", token=2),
        Request("Hi", kind="fixed-output", untrained=1, block=4),
    ):
        state = PAGE_OF_KIND[asked.kind].state(k=60).of_request(asked, asked.k_max)
        found = state.token_request(state.block, state.basis)
        assert (found.kind, found.token, found.block) == (asked.kind, asked.token, asked.block)
        assert found.other_block == asked.other_block


@pytest.mark.parametrize(("step", "shown"), [(70, 64), (96, 64), (97, 128), (9999, 128)])
def test_a_training_run_is_shown_at_the_nearest_step_and_of_two_at_the_earlier(step, shown) -> None:
    assert TrainingState(step=step).nearest_step((0, 64, 128)) == shown


def test_the_token_that_is_fixed_is_the_one_that_all_others_are_compared_with() -> None:
    assert TokensState(kind="fixed-input").fixed_token == 1
    assert TokensState(kind="fixed-output").fixed_token == -1
    assert TokensState(kind="fixed-output", fixed=3).fixed_token == 3


def _two_models_and_two_prompts() -> None:
    import streamlit as st

    from explorer.frame.contents import LINKS, PAGES
    from explorer.session.session import change, current, open_session

    tokens = PAGES["Tokens"].state

    def show(state: type = tokens) -> None:
        st.json(vars(current(state)))

    open_session("Tokens", tokens, LINKS)
    change(model="owner/one", k=7)
    change(revision="step4", stack="encoder")
    change(other_token=3, row_window=2, step=64)
    change(prompt=current().prompt)
    show()
    change(model="owner/other")
    show()
    change(other_token=3, row_window=2)
    change(prompt="Another text")
    show()
    show(PAGES["Training"].state)


def test_a_revision_goes_with_its_model_and_selected_tokens_with_their_prompt() -> None:
    app = AppTest.from_function(_two_models_and_two_prompts, default_timeout=60).run()
    before, other_model, other_prompt, training = (json.loads(found.value) for found in app.json)
    of_model, of_prompt = ("model", "revision", "stack", "k"), ("other_token", "row_window", "k")
    assert [before[name] for name in of_model] == ["owner/one", "step4", "encoder", 7]
    assert [before[name] for name in of_prompt] == [3, 2, 7]
    assert [other_model[name] for name in of_model] == ["owner/other", "", None, 7]
    assert [other_prompt[name] for name in of_prompt] == [-2, 0, 7]
    assert (training["step"], training["k"], training["prompt"]) == (64, 7, "Another text")
