"""A demo that strangers use: attempts to get past its limits, by links and by crafted widgets."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from cases import random_result
from screen import PAGES, Open, sent, words
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.testing.v1.element_tree import Selectbox

from coupling_core.base.errors import ComputeError, InputError
from coupling_core.base.records import Request
from coupling_core.base.settings import settings
from coupling_core.engine import loading
from coupling_core.experiments.gallery import EXAMPLES
from coupling_core.measuring import cost
from coupling_core.serving import jobs
from coupling_core.sources.identity import locate
from coupling_core.sources.resolved import Resolved, resolve
from coupling_core.store.disk import Store
from explorer.asking.queue import queue
from explorer.pages.runs import page as runs
from explorer.panels.prompt_picker import OWN_TEXT
from explorer.server import admission, backend

SECRET = "nobody-else-should-read-this"
PROMPT = "A prompt that nobody has measured yet"
MINI = "coupling-explorer/mini-64"
QUERY = {"model": MINI, "rev": "step256", "prompt": PROMPT, "k": "8"}


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> pytest.MonkeyPatch:
    """Tight limits, and a queue that refuses to compute what got past them."""
    for name, value in {
        "MODE": "demo",
        "MODELS": "smollm2-135m,coupling-explorer/mini-64@step256",
        "LONGEST_PROMPT": "30",
        "LARGEST_K": "20",
    }.items():
        monkeypatch.setenv(f"COUPLING_{name}", value)
    monkeypatch.chdir(tmp_path)
    settings.cache_clear()
    yield monkeypatch
    settings.cache_clear()


BEYOND = {
    "a file of the machine": {"model": "/etc/passwd"},
    "a folder of the machine": {"model": "../../etc"},
    "a home": {"model": "~/secrets.gguf"},
    "another hub id": {"model": "someone/else"},
    "an alias in capitals": {"model": "SmolLM2-135M"},
    "an alias with a space": {"model": "smollm2-135m "},
    "an alias with a line break": {"model": "smollm2-135m\n"},
    "an alias as a path": {"model": "./smollm2-135m"},
    "an alias with a revision": {"model": "smollm2-135m@main"},
    "an alias in other letters": {"model": "\uff53mollm2-135m"},
    "a model with its revision": {"model": f"{MINI}@step256", "revision": None},
    "a model by another way": {"model": "coupling-explorer//mini-64"},
    "the beginning of a model": {"model": "coupling-explorer/mini"},
    "a model's default revision": {"revision": None},
    "a model's default revision by its name": {"revision": "main"},
    "an empty revision": {"revision": ""},
    "a revision with a space": {"revision": "step256 "},
    "a commit": {"revision": "0" * 40},
    "another revision": {"model": MINI, "revision": "step512"},
    "a revision that leads out": {
        "model": MINI,
        "revision": "../../../step256",
    },
    "a long prompt": {"prompt": "word " * 31},
    "a long prompt of ids": {"prompt": tuple(range(31))},
    "a large K": {"k": 21},
    "another precision": {"dtype": "bfloat16"},
    "a quantisation": {"quantize": "nf4"},
    "a stack": {"stack": "encoder"},
    "paths of a long prompt": {"prompt": "word " * 31, "k": 50, "kind": "trajectory"},
    "tokens at a large K": {"k": 21, "kind": "self"},
}


@pytest.mark.parametrize("change", BEYOND.values(), ids=BEYOND)
def test_what_is_beyond_the_limits_is_refused_where_jobs_are_submitted(
    demo: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    within = Request(PROMPT, MINI, k=20, revision="step256")
    admission.require(backend.resolved(within))
    demo.setattr(
        "coupling_core.sources.hub.naming._ask", lambda *_: pytest.fail("the hub was asked")
    )
    with pytest.raises(InputError, match=r"not offered here|at most|as they are stored"):
        admission.require(backend.resolved(replace(within, **change)))


def test_the_queue_asks_before_it_takes_a_job_on(demo: pytest.MonkeyPatch) -> None:
    demo.setattr(jobs.Jobs, "submit", lambda *_, **__: pytest.fail("it was submitted"))
    with pytest.raises(InputError, match="at most 20"):
        queue().join(Request(PROMPT, MINI, k=21, revision="step256"))


def test_paths_have_no_k_to_be_limited(demo: pytest.MonkeyPatch) -> None:
    admission.require(
        backend.resolved(Request(PROMPT, MINI, kind="trajectory", revision="step256"))
    )
    with pytest.raises(InputError, match="at most 20"):
        admission.require(backend.resolved(Request(PROMPT, MINI, kind="self", revision="step256")))


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ({"model": "/etc/passwd"}, "model='/etc/passwd' is not offered here"),
        ({"model": "someone/else", "rev": "main"}, "model='someone/else' is not offered here"),
        ({"model": MINI, "rev": "step512"}, "rev='step512' is not offered here"),
        ({"model": MINI, "rev": "../step256"}, "rev='../step256' is not offered here"),
        ({"model": "smollm2-135m "}, "model='smollm2-135m ' is not offered here"),
        ({"quant": "nf4", "untrained": "0"}, "quant is left out"),
        ({"dtype": "bfloat16", "stack": "encoder"}, "dtype, quant and stack are not offered here"),
        ({"quant": "int8"}, "dtype, quant and stack are not offered here"),
        ({"suites": "pythia-12b"}, "not offered here"),
    ],
)
def test_a_link_beyond_the_limits_is_cut_and_told(
    demo: pytest.MonkeyPatch, open_page: Open, query: dict[str, str], told: str
) -> None:
    app = open_page("Start", **query)
    assert told in app.warning[0].value
    assert not app.exception


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ({"k": "21"}, "K = 21 is more than is measured here: at most 20"),
        ({"prompt": "word " * 31}, "at most 30 are taken on here"),
    ],
)
def test_a_measurement_beyond_the_limits_is_not_offered(
    demo: pytest.MonkeyPatch, open_page: Open, query: dict[str, str], told: str
) -> None:
    app = open_page("Depth", **QUERY | query)
    assert told in app.error[0].value
    assert not [button for button in app.button if button.label == "Compute"]


def test_a_widget_that_sends_what_it_does_not_offer_gets_nothing(
    demo: pytest.MonkeyPatch, open_page: Open
) -> None:
    app = open_page("Depth", **QUERY)
    assert [button for button in app.button if button.label == "Compute"]
    app.session_state["_chosen"] |= {"model": "/etc/passwd"}
    next(button for button in app.button if button.label == "Compute").click().run()
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
    ("key", "value", "told"),
    [
        ("model@list", "/etc/passwd", "model='/etc/passwd' is not offered here"),
        ("model@list", "someone/else", "model='someone/else' is not offered here"),
        ("revision@step-mini-64", "step512", "rev='step512' is not offered here"),
        ("revision@step-mini-64", "../../x", "rev='../../x' is not offered here"),
    ],
)
def test_a_list_that_sends_what_is_not_on_it_is_cut_and_told(
    demo: pytest.MonkeyPatch, open_page: Open, key: str, value: str, told: str
) -> None:
    looked_up = []
    for module in ("coupling_core.sources.resolved", "explorer.server.backend"):
        demo.setattr(f"{module}.locate", lambda r: looked_up.append(r) or locate(r))
    app = open_page("Runs", **QUERY)
    send(app.selectbox(key=key), value, demo)
    app.run()
    assert told in app.warning[0].value
    assert not app.exception
    assert value not in str(looked_up)


def test_a_model_with_one_revision_is_measured_at_that(
    demo: pytest.MonkeyPatch, open_page: Open
) -> None:
    app = open_page("Runs", model=MINI)
    assert not app.warning
    assert app.session_state["_chosen"]["revision"] == "step256"


def test_a_default_that_is_not_offered_gives_way(demo: pytest.MonkeyPatch, open_page: Open) -> None:
    demo.setenv("COUPLING_MODELS", "coupling-explorer/mini-64@step256")
    app = open_page("Runs")
    assert not app.warning
    assert app.session_state["_chosen"]["model"] == MINI


def test_what_is_typed_stays_out_of_the_address(demo: pytest.MonkeyPatch, open_page: Open) -> None:
    app = open_page("Runs", k="8")
    app.selectbox(key="prompt@list").set_value(OWN_TEXT).run()
    app.text_area(key="prompt@own").set_value(SECRET).run()
    assert app.session_state["_chosen"]["prompt"] == SECRET
    assert "prompt" not in app.query_params
    assert SECRET not in "".join(str(link.proto) for link in app.get("page_link"))
    app.switch_page(PAGES["Depth"]).run()
    assert SECRET in sent(app)


def test_an_example_and_a_prompt_that_came_by_a_link_stay_in_the_address(
    demo: pytest.MonkeyPatch, open_page: Open
) -> None:
    app = open_page("Runs", prompt=PROMPT)
    assert app.query_params["prompt"] == PROMPT
    app.selectbox(key="prompt@list").set_value(EXAMPLES[1]).run()
    assert app.query_params["prompt"] == EXAMPLES[1]


def test_back_and_forth_keep_what_was_typed(demo: pytest.MonkeyPatch, open_page: Open) -> None:
    app = open_page("Runs", prompt=PROMPT)
    app.text_area(key="prompt@own").set_value(SECRET).run()
    app.query_params.clear()
    app.query_params["k"] = "7"
    app.run()
    assert [app.session_state["_chosen"][field] for field in ("k", "prompt")] == [7, SECRET]


def test_at_home_the_address_carries_what_is_typed(open_page: Open) -> None:
    app = open_page("Runs", prompt=PROMPT)
    app.text_area(key="prompt@own").set_value(SECRET).run()
    assert app.query_params["prompt"] == SECRET


def test_a_link_that_is_asked_for_carries_the_prompt(
    demo: pytest.MonkeyPatch, open_page: Open
) -> None:
    request = Request(SECRET, k=8)
    stored = random_result(
        request=request, identity=resolve(request).identity, tokens=(SECRET,) * 4
    )
    Store().put(stored)
    app = open_page("Depth", prompt=EXAMPLES[0], k="8")
    app.selectbox(key="prompt@list").set_value(OWN_TEXT).run()
    app.text_area(key="prompt@own").set_value(SECRET).run()
    assert not app.exception
    assert "prompt" not in app.query_params
    assert f"prompt={SECRET}" in "".join(code.value for code in app.code)
    assert "your prompt too" in words(app)


def test_the_result_of_somebody_else_is_not_shown_by_its_key(
    demo: pytest.MonkeyPatch, open_page: Open
) -> None:
    request = replace(Request(SECRET), k=8)
    key = Store().put(random_result(request=request, tokens=(SECRET,) * 4)).stem
    for query in ({"a": key}, {"b": key}, {"a": key, "b": key}):
        app = open_page("Compare", **query)
        assert "somebody else's" in app.warning[0].value
        assert SECRET not in sent(app)
        assert not app.exception
    demo.setenv("COUPLING_MODE", "local")
    assert SECRET in sent(open_page("Compare", a=key, b=key))


def test_a_result_of_the_shared_store_cannot_be_deleted(
    demo: pytest.MonkeyPatch,
) -> None:
    path = Store().put(random_result())
    demo.setattr(backend.st, "session_state", {})
    backend.note_own(path.stem)
    (entry,) = [entry for entry in backend.listed(Store().entries()) if entry.key == path.stem]
    assert runs._kept(entry)
    demo.setenv("COUPLING_MODE", "local")
    settings.cache_clear()
    assert not runs._kept(entry)


@pytest.fixture
def busy(demo: pytest.MonkeyPatch, in_this_process: None, open_page: Open) -> Iterator[None]:
    """Somebody else's job under way."""
    go_on = threading.Event()

    def wait(request: Request, *_: Any, **__: Any) -> Any:
        go_on.wait(60)
        raise ComputeError(f"it failed for {request.prompt}")

    demo.setattr(admission, "measure_what_fits", wait)
    demo.setattr("explorer.asking.queue._session", lambda: "somebody")
    app = open_page("Depth", **QUERY | {"prompt": SECRET})
    next(button for button in app.button if button.label == "Compute").click().run()
    assert SECRET in sent(open_page("Runs"))
    demo.setattr("explorer.asking.queue._session", lambda: "somebody else")
    yield
    go_on.set()


def test_the_jobs_of_others_show_no_prompt_and_cannot_be_stopped(
    busy: None, open_page: Open
) -> None:
    app = open_page("Runs")
    assert "somebody else's prompt" in sent(app)
    assert SECRET not in sent(app)
    (job,) = queue().active()
    assert job.key.partition("-")[0] not in sent(app)
    (cancel,) = [button for button in app.button if button.label == "Cancel"]
    assert cancel.disabled
    app.run()
    assert "somebody else's prompt" in sent(app)


def test_what_is_stored_is_shown_and_nothing_computed_where_all_is_read_only(
    demo: pytest.MonkeyPatch, open_page: Open
) -> None:
    demo.setenv("COUPLING_READ_ONLY", "true")
    assert not open_page("Depth").error
    app = open_page("Depth", **QUERY)
    assert "Nothing is computed here" in app.error[0].value


def test_what_would_take_the_reserve_is_refused_with_what_would_fit(
    demo: pytest.MonkeyPatch, in_this_process: None
) -> None:
    request = Request(PROMPT, MINI, k=20, revision="step256")
    admission.require_memory(backend.resolved(request), "cpu")
    demo.setenv("COUPLING_MEMORY_RESERVE", str(10**15))
    settings.cache_clear()
    loading.forget()
    with pytest.raises(ComputeError, match=r"of memory is needed, and 0 kB may be used"):
        admission.measure_what_fits(request, device="cpu")


def test_what_would_take_too_long_is_refused_with_what_would_not(
    demo: pytest.MonkeyPatch, in_this_process: None, open_page: Open
) -> None:
    request = Request("The cat sat on the mat " * 4, MINI, kind="self", k=20, revision="step256")
    # A machine on which this takes a minute, and a token hardly anything.
    demo.setattr(cost, "predict_seconds", lambda request, found, tokens, rates: 60.0 * (tokens > 5))
    assert admission.require_time(backend.resolved(request), "cpu", ()).seconds == 60
    demo.setenv("COUPLING_LONGEST_SECONDS", "30")
    settings.cache_clear()
    said = "about 60 s of computing, and at most 30 s .*: a prompt of at most 5 tokens would do"
    with pytest.raises(InputError, match=said):
        admission.measure_what_fits(request, device="cpu")
    query = QUERY | {"prompt": "The cat sat on the mat", "kind": "self"}
    app = open_page("Tokens", **query)
    assert "at most 5 tokens would do" in app.error[0].value
    assert not [button for button in app.button if button.label == "Compute"]


def test_at_home_nothing_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    settings.cache_clear()
    for change in BEYOND.values():
        # Whether there is such a model is another question.
        admission.require(Resolved(replace(Request(PROMPT), **change), {}, None))
    assert admission.limits() == jobs.Limits()


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("LARGEST_K", "many", "= 'many': input should be a valid integer"),
        ("LAYERS", "/nowhere", "which is no folder"),
    ],
)
def test_a_setting_that_cannot_be_used_is_told_in_place_of_every_page(
    open_page: Open, monkeypatch: pytest.MonkeyPatch, name: str, value: str, told: str
) -> None:
    monkeypatch.setenv(f"COUPLING_{name}", value)
    app = open_page("Start")
    assert told.lower() in app.error[0].value.lower()
    assert not app.exception


def test_what_others_measured_is_not_listed(
    demo: pytest.MonkeyPatch, open_page: Open, tmp_path: Any
) -> None:
    secret = random_result(request=replace(Request(SECRET), k=8), tokens=(SECRET,))
    store = Store()
    store.put(replace(secret, key=store.key(secret.request, secret.identity)))
    for title in ("Runs", "Compare"):
        shown = open_page(title)
        assert SECRET not in sent(shown)
        assert not shown.exception
    demo.setenv("COUPLING_MODE", "local")
    assert SECRET in open_page("Runs").dataframe[0].value.to_string()


def test_what_a_session_asked_for_is_listed_for_it(demo: pytest.MonkeyPatch) -> None:
    store = Store()
    path = store.put(random_result())
    assert backend.listed(store.entries()) == [e for e in store.entries() if e.read_only]
    demo.setattr(backend.st, "session_state", {})
    backend.note_own(path.stem)
    assert path.stem in [entry.key for entry in backend.listed(store.entries())]
