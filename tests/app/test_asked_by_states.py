"""What the states of pages ask for, where a link leaves it open."""

import json

import pytest
from streamlit.testing.v1 import AppTest

from explorer.pages.tokens.state import TokensState
from explorer.pages.training.state import TrainingState


@pytest.mark.parametrize(("step", "shown"), [(70, 64), (96, 64), (97, 128), (9999, 128)])
def test_a_training_run_is_shown_at_the_nearest_step_and_of_two_at_the_earlier(
    step: int, shown: int
) -> None:
    assert TrainingState(step=step).nearest_step((0, 64, 128)) == shown


def test_the_token_that_is_fixed_is_the_one_that_all_others_are_compared_with() -> None:
    assert TokensState(kind="fixed-input").fixed_token == 1
    assert TokensState(kind="fixed-output").fixed_token == -1
    assert TokensState(kind="fixed-output", fixed=3).fixed_token == 3


def _two_models() -> None:
    import streamlit as st

    from explorer.frame.contents import LINKS
    from explorer.session.session import change, current, open_session
    from explorer.session.state import State

    open_session("Depth", State, LINKS)
    change(model="owner/one", k=7)
    change(revision="step4", stack="encoder")
    st.json(vars(current()))
    change(model="owner/other")
    st.json(vars(current()))


def test_a_revision_and_a_stack_are_let_go_with_their_model() -> None:
    app = AppTest.from_function(_two_models, default_timeout=60).run()
    one, other = (json.loads(found.value) for found in app.json)
    assert (one["model"], one["revision"], one["stack"]) == ("owner/one", "step4", "encoder")
    assert (other["model"], other["revision"], other["stack"]) == ("owner/other", "", None)
    assert other["k"] == 7
