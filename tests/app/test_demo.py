"""A demo that strangers use: attempts to get past its limits, by links and by crafted widgets."""

from dataclasses import replace
from typing import Any

import pytest
from cases import random_result
from screen import Open

from coupling_core import cost, jobs, models
from coupling_core.errors import ComputeError, InputError
from coupling_core.records import Request
from coupling_core.settings import settings
from coupling_core.store import Store
from explorer import admission, backend
from explorer.queue import queue

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
}


@pytest.mark.parametrize("change", BEYOND.values(), ids=BEYOND)
def test_what_is_beyond_the_limits_is_refused_where_jobs_are_submitted(
    demo: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    within = Request(PROMPT, MINI, k=20, revision="step256")
    admission.require(within)
    with pytest.raises(InputError, match=r"not offered here|at most|as they are stored"):
        admission.require(replace(within, **change))


def test_the_queue_asks_before_it_takes_a_job_on(demo: pytest.MonkeyPatch) -> None:
    demo.setattr(jobs.Jobs, "submit", lambda *_, **__: pytest.fail("it was submitted"))
    with pytest.raises(InputError, match="at most 20"):
        queue().join(Request(PROMPT, MINI, k=21, revision="step256"))


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ({"model": "/etc/passwd"}, "model='/etc/passwd' is not offered here"),
        ({"model": "someone/else", "rev": "main"}, "model='someone/else' is not offered here"),
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
        ({"rev": "step512"}, "is not offered here"),
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
    app.session_state["_state"] = replace(app.session_state["_state"], model="/etc/passwd")
    next(button for button in app.button if button.label == "Compute").click().run()
    assert "is not offered here" in app.error[0].value
    assert not app.exception
    assert not queue().active()


def test_what_is_stored_is_shown_and_nothing_computed_where_all_is_read_only(
    demo: pytest.MonkeyPatch, open_page: Open
) -> None:
    demo.setenv("COUPLING_READ_ONLY", "true")
    assert not open_page("Depth").error
    app = open_page("Depth", **QUERY)
    assert "Nothing is computed here" in app.error[0].value


def test_what_would_take_the_reserve_is_refused_with_what_would_fit(
    demo: pytest.MonkeyPatch,
) -> None:
    request = Request(PROMPT, MINI, k=20, revision="step256")
    admission.require_memory(request, "cpu")
    demo.setenv("COUPLING_MEMORY_RESERVE", str(10**15))
    settings.cache_clear()
    models.forget()
    with pytest.raises(ComputeError, match=r"of memory are needed, and 0 kB may be used"):
        admission.measure_what_fits(request, device="cpu")


def test_what_would_take_too_long_is_refused_with_what_would_not(
    demo: pytest.MonkeyPatch, open_page: Open
) -> None:
    request = Request("The cat sat on the mat " * 4, MINI, kind="self", k=20, revision="step256")
    # A machine on which this takes a minute, and a token hardly anything.
    demo.setattr(cost, "predict_seconds", lambda request, found, tokens, rate: 60.0 * (tokens > 5))
    assert admission.require_time(request, "cpu", ()).seconds == 60
    demo.setenv("COUPLING_LONGEST_SECONDS", "30")
    settings.cache_clear()
    said = "about 60 s of computing, and at most 30 s .*: a prompt of at most 5 tokens would do"
    with pytest.raises(InputError, match=said):
        admission.measure_what_fits(request, device="cpu")
    query = QUERY | {"prompt": "The cat sat on the mat", "mode": "self"}
    app = open_page("Tokens", **query)
    assert "at most 5 tokens would do" in app.error[0].value
    assert not [button for button in app.button if button.label == "Compute"]


def test_at_home_nothing_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    settings.cache_clear()
    for change in BEYOND.values():
        admission.require(replace(Request(PROMPT), **change))  # what it is may fail later on
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
        assert SECRET not in str(shown.main)
        assert not shown.exception
    demo.setenv("COUPLING_MODE", "local")
    assert SECRET in open_page("Runs").dataframe[0].value.to_string()


def test_what_a_session_asked_for_is_listed_for_it(demo: pytest.MonkeyPatch) -> None:
    store = Store()
    path = store.put(random_result())
    assert backend.listed(store.entries()) == [e for e in store.entries() if e.read_only]
    demo.setattr(backend.st, "session_state", {backend.OWN: {path.stem}})
    assert path.stem in [entry.key for entry in backend.listed(store.entries())]
