"""A demo that strangers use: attempts to get past its limits, by links and by crafted widgets."""

import threading
from typing import Any

import pytest
from cases import random_result
from handling import button, labels, press
from screen import PAGES, sent, words
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.testing.v1.element_tree import Selectbox

from coupling_core import ComputeError, InputError, Request, Store
from coupling_core.base.settings import settings
from coupling_core.experiments.gallery import EXAMPLES
from coupling_core.measuring import cost
from coupling_core.serving import jobs
from coupling_core.sources.aliases import ALIASES
from coupling_core.sources.identity import locate
from coupling_core.sources.resolved import resolve
from explorer.asking.queue import queue
from explorer.pages.runs import page as runs
from explorer.panels.prompt_picker import OWN_TEXT
from explorer.server import admission, backend

SECRET = "nobody-else-should-read-this"
PROMPT = "Nobody has measured this yet"
MINI = "coupling-explorer/mini-64"
LINK = {"model": MINI, "rev": "step256", "k": "8"}
QUERY = LINK | {"prompt": PROMPT}


@pytest.fixture(autouse=True)
def _limited(tight: pytest.MonkeyPatch) -> None:
    """Every test is of a demo."""


def stored() -> str:
    """The key of somebody's result of that model."""
    request = Request(SECRET, MINI, k=8, revision="step256")
    identity = resolve(request).identity
    return Store().put(random_result(request=request, identity=identity, tokens=(SECRET,) * 4)).stem


def test_the_queue_asks_before_it_takes_a_job_on(demo) -> None:
    demo.setattr(jobs.Jobs, "submit", lambda *_, **__: pytest.fail("it was submitted"))
    with pytest.raises(InputError, match="at most 20"):
        queue().join(Request(PROMPT, MINI, k=21, revision="step256"))


def test_a_link_beyond_the_limits_is_cut_and_told(open_page) -> None:
    for query, told in (
        ({"model": "/etc/passwd"}, "model='/etc/passwd'"),
        ({"model": MINI, "rev": "../step256"}, "rev='../step256'"),
        ({"dtype": "bfloat16"}, "dtype, quant and stack"),
        ({"suites": "pythia-12b"}, "pythia-12b"),
    ):
        app = open_page("Start", **query)
        assert told in app.warning[0].value
        assert dict(app.query_params).get("model") in (None, MINI)


def test_a_measurement_beyond_the_limits_is_not_offered(open_page) -> None:
    for query, told in (({"k": "21"}, "at most 20"), ({"prompt": "word " * 31}, "at most 30")):
        app = open_page("Depth", **QUERY | query)
        assert told in app.error[0].value
        assert "Compute" not in labels(app)


@pytest.mark.full
def test_a_widget_that_sends_what_it_does_not_offer_gets_nothing(open_page) -> None:
    app = open_page("Depth", **LINK, prompt="A prompt that nobody has measured yet")
    compute = button(app, "Compute")
    app.session_state["_chosen"] |= {"model": "/etc/passwd"}
    compute.click().run()
    assert "model='/etc/passwd' is not offered here" in app.warning[0].value
    assert not app.exception
    assert not queue().active()


def send(chosen: Selectbox, text: str, patch: pytest.MonkeyPatch) -> None:
    """Have a list send what is not on it, as a browser may at the next run."""
    offered = type(chosen)._widget_state.fget
    crafted = WidgetState(id=chosen.id, string_value=text)
    states = property(lambda one: crafted if one.id == chosen.id else offered(one))
    patch.setattr(type(chosen), "_widget_state", states)


@pytest.mark.parametrize(
    ("key", "value"), [("model@list", "/etc/passwd"), ("revision@step-mini-64", "../../x")]
)
def test_a_list_that_sends_what_is_not_on_it_is_cut_and_told(demo, open_page, key, value) -> None:
    looked_up = []
    for module in ("coupling_core.sources.resolved", "explorer.server.backend"):
        demo.setattr(f"{module}.locate", lambda r: looked_up.append(r) or locate(r))
    app = open_page("Runs", **QUERY)
    send(app.selectbox(key=key), value, demo)
    app.run()
    assert f"{value!r} is not offered here" in app.warning[0].value
    assert not app.exception
    assert value not in str(looked_up)


def test_what_is_offered_is_chosen_where_nothing_or_half_is_asked_for(demo, open_page) -> None:
    app = open_page("Runs", model=MINI)
    assert not app.warning
    assert app.session_state["_chosen"]["revision"] == "step256"
    demo.setenv("COUPLING_MODELS", f"{MINI}@step256")
    app = open_page("Runs")
    assert not app.warning
    assert app.session_state["_chosen"]["model"] == MINI
    demo.delenv("COUPLING_MODELS")
    first, second, *of_runs = open_page("Start").selectbox(key="model@list").options
    assert {first, second} == {*ALIASES} - {"gemma3-270m"}  # whose terms not everybody may take
    assert all(run.startswith("mini-") for run in of_runs)


# ---- what is typed is seen by nobody else


def test_what_is_typed_stays_out_of_the_address_and_in_a_link_that_is_asked_for(open_page) -> None:
    stored()
    app = open_page("Runs", **LINK)
    app.selectbox(key="prompt@list").set_value(OWN_TEXT).run()
    app.text_area(key="prompt@own").set_value(SECRET).run()
    assert app.session_state["_chosen"]["prompt"] == SECRET
    assert "prompt" not in app.query_params
    assert SECRET not in "".join(str(link.proto) for link in app.get("page_link"))
    app.query_params["k"] = "7"  # as the browser's way back does
    app.run()
    assert [app.session_state["_chosen"][field] for field in ("k", "prompt")] == [7, SECRET]
    app.switch_page(PAGES["Depth"]).run()
    assert not app.exception
    assert "prompt" not in app.query_params
    assert f"prompt={SECRET}" in "".join(code.value for code in app.code)
    assert "your prompt too" in words(app)


def test_an_example_and_a_prompt_that_came_by_a_link_stay_in_the_address(demo, open_page) -> None:
    app = open_page("Runs", prompt=PROMPT)
    assert app.query_params["prompt"] == PROMPT
    app.selectbox(key="prompt@list").set_value(EXAMPLES[1]).run()
    assert app.query_params["prompt"] == EXAMPLES[1]
    demo.setenv("COUPLING_MODE", "local")  # at home whatever is typed does
    app = open_page("Runs", prompt=PROMPT)
    app.text_area(key="prompt@own").set_value(SECRET).run()
    assert app.query_params["prompt"] == SECRET


def test_a_result_of_others_is_neither_listed_nor_shown_by_its_key(demo, open_page) -> None:
    key = stored()
    for title, query in (("Compare", {"a": key, "b": key}), ("Compare", {}), ("Runs", {})):
        app = open_page(title, **query)
        assert SECRET not in sent(app)
        assert not query or "somebody else's" in app.warning[0].value
    demo.setenv("COUPLING_MODE", "local")
    assert SECRET in sent(open_page("Compare", a=key, b=key))
    assert SECRET in open_page("Runs").dataframe[0].value.to_string()


def test_what_a_session_asked_for_is_listed_for_it_and_cannot_be_deleted(demo) -> None:
    key, store = stored(), Store()
    assert backend.listed(store.entries()) == [e for e in store.entries() if e.read_only]
    demo.setattr(backend.st, "session_state", {})
    backend.note_own(key)
    (entry,) = [entry for entry in backend.listed(store.entries()) if entry.key == key]
    assert runs._kept(entry)
    demo.setenv("COUPLING_MODE", "local")
    settings.cache_clear()
    assert not runs._kept(entry)


def test_jobs_of_others_show_no_prompt_and_keep_running(demo, in_this_process, open_page) -> None:
    go_on = threading.Event()

    def wait(request: Request, *_: Any, **__: Any) -> Any:
        go_on.wait(60)
        raise ComputeError(f"it failed for {request.prompt}")

    demo.setattr(admission, "measure_what_fits", wait)
    demo.setattr("explorer.asking.queue._session", lambda: "somebody")
    press(open_page("Depth", **LINK, prompt=SECRET), "Compute")
    assert SECRET in sent(open_page("Runs"))
    demo.setattr("explorer.asking.queue._session", lambda: "somebody else")
    app = open_page("Runs")
    (job,) = queue().active()
    for _ in range(2):
        assert "somebody else's prompt" in sent(app)
        assert SECRET not in sent(app)
        assert job.key.partition("-")[0] not in sent(app)
        assert button(app, "Cancel").disabled
        app.run()
    demo.setattr("explorer.asking.queue._session", lambda: "somebody")
    assert press(open_page("Depth", **LINK, prompt=SECRET), "Cancel").info
    assert queue().has_left(job.key)
    go_on.set()


# ---- what is computed here


def test_where_all_is_read_only_what_is_stored_is_shown(demo, open_page) -> None:
    demo.setenv("COUPLING_READ_ONLY", "true")
    assert not open_page("Depth").error
    app = open_page("Depth", **QUERY)
    assert app.error
    assert "Compute" not in labels(app)
    assert list(open_page("Start").selectbox(key="kind@start").options) == ["Examples"]


def test_what_takes_too_long_is_refused_with_what_does_not(
    demo, in_this_process, open_page
) -> None:
    request = Request("The cat sat on the mat " * 4, MINI, kind="self", k=20, revision="step256")
    # A machine on which this takes a minute, and a token hardly anything.
    demo.setattr(cost, "predict_seconds", lambda request, found, tokens, rates: 60.0 * (tokens > 5))
    assert admission.require_time(backend.resolved(request), "cpu", ()).seconds == 60
    demo.setenv("COUPLING_LONGEST_SECONDS", "30")
    settings.cache_clear()
    with pytest.raises(InputError, match=r"about 60 s .* at most 30 s .* at most 5 tokens"):
        admission.measure_what_fits(request, device="cpu")
    app = open_page("Tokens", **QUERY | {"prompt": "The cat sat on the mat", "kind": "self"})
    assert "at most 5 tokens" in app.error[0].value
    assert "Compute" not in labels(app)


def test_a_setting_that_cannot_be_used_is_told_in_place_of_every_page(open_page, demo) -> None:
    for name, value in {"LAYERS": "/nowhere", "LARGEST_K": "many"}.items():
        demo.setenv(f"COUPLING_{name}", value)
        app = open_page("Start")
        assert value in app.error[0].value
        assert not app.title
        demo.delenv(f"COUPLING_{name}")
