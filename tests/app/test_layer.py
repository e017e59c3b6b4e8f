"""The layer round Streamlit's server, what there is one of in a process, and its worker."""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import mortal
import psutil
import pytest
import streamlit as st
from streamlit.proto.BackMsg_pb2 import BackMsg
from waiting import until

from coupling_core.base.settings import settings
from coupling_core.measuring.worker import Worker
from explorer.asking.queue import queue
from explorer.server import backend, serving
from explorer.server.door import READERS, Door
from explorer.server.headers import headers
from explorer.server.single import Single

HOSTED = [{"mode": "demo"}, {"sign_in": "*@uni.example"}]
DEVELOPERS = ("clear_cache", "load_git_info", "set_run_on_save", "debug_shutdown_runtime")
Be = Callable[..., None]


@pytest.fixture
def be(monkeypatch: pytest.MonkeyPatch) -> Iterator[Be]:
    def be(**environment: str) -> None:
        for name, value in environment.items():
            monkeypatch.setenv(f"COUPLING_{name.upper()}", value)
        settings.cache_clear()

    be()
    yield be
    settings.cache_clear()


def to_its_end(work: Coroutine[Any, Any, Any]) -> Any:
    """In a thread of its own: in this one, the loop of a browser's tests may still run."""
    with ThreadPoolExecutor(1) as alone:
        return alone.submit(asyncio.run, work).result()


def message(name: str) -> bytes:
    sent = BackMsg()
    if sent.DESCRIPTOR.fields_by_name[name].message_type:
        getattr(sent, name).SetInParent()
    else:
        setattr(sent, name, True)
    return sent.SerializeToString()


def passed(*frames: bytes) -> list[bytes]:
    """What of these the app within receives."""
    came = [{"type": "websocket.receive", "bytes": data} for data in frames]
    found: list[bytes] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        while (one := await receive())["type"] == "websocket.receive":
            found.append(one["bytes"])

    async def receive() -> dict[str, Any]:
        return came.pop(0) if came else {"type": "websocket.disconnect"}

    to_its_end(Door(app)({"type": "websocket", "headers": [], "client": None}, receive, None))
    return found


@pytest.mark.parametrize("environment", HOSTED)
def test_where_the_app_is_hosted_readers_messages_pass_alone(environment, be) -> None:
    be(**environment)
    readers = [message(name) for name in READERS]
    developers = [message(name) for name in DEVELOPERS]
    assert passed(*developers, *readers, *developers, b"\xff\xff") == [*readers, b"\xff\xff"]


def test_on_a_server_of_ones_own_all_messages_pass_if_it_can_be_used(be) -> None:
    frames = [message(name) for name in (*READERS, *DEVELOPERS)]
    assert passed(*frames) == frames
    be(mode="public")  # which there is not
    assert passed(message("clear_cache"), message("rerun_script")) == [message("rerun_script")]


def sent(door: Any, scope: dict[str, Any]) -> list[dict[str, Any]]:
    """What a client is answered."""
    found: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        found.append(message)

    to_its_end(door({"client": ("192.0.2.1", 1), "headers": []} | scope, receive, send))
    return found


async def within(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "within", "client": scope["client"][0]})


def test_a_proxy_that_is_named_tells_the_address(be) -> None:
    be(trusted_proxies="10.0.0.0/8")
    expected = {
        ("10.1.2.3", "192.0.2.1"): "192.0.2.1",
        ("10.1.2.3", "192.0.2.66, 192.0.2.1"): "192.0.2.1",  # the first is the client's own word
        ("10.1.2.3", "192.0.2.1, 10.9.9.9"): "192.0.2.1",
        ("127.0.0.1", "192.0.2.1"): "127.0.0.1",
        ("203.0.113.5", "192.0.2.1"): "203.0.113.5",
    }
    for (address, told), seen in expected.items():
        headers = [(b"x-forwarded-for", told.encode())]
        scope = {"type": "http", "method": "GET", "path": "/", "client": (address, 1)}
        assert sent(Door(within), scope | {"headers": headers})[0]["client"] == seen


@pytest.mark.parametrize("site", ["same-origin", None, "cross-site", "none"])
def test_no_link_of_another_site_signs_anybody_out(site, be) -> None:
    headers = [(b"sec-fetch-site", site.encode())] if site else []
    for path in ("/auth/logout", "/lab/coupling/auth/logout"):
        scope = {"type": "http", "method": "GET", "path": path, "headers": headers}
        first = sent(Door(within), scope)[0]
        if site in ("same-origin", None):
            assert first["type"] == "within"
        else:
            assert (first["status"], dict(first["headers"])[b"location"]) == (303, b"../")


def test_one_address_has_a_bound_of_tabs_and_gets_its_places_back(be, monkeypatch) -> None:
    be(**HOSTED[0])
    monkeypatch.setattr("explorer.server.door.TABS", 2)
    scope = {"type": "websocket", "path": "/_stcore/stream"}
    said: list[str] = []

    async def holding(scope: Any, receive: Any, send: Any) -> None:
        if len(said) < 2:  # while this one is open, another comes
            said.append("open")
            await door({**scope, "client": ("192.0.2.1", 2)}, receive, send)
            await door({**scope, "client": ("192.0.2.2", 2)}, receive, send)
        await send({"type": "within"})

    door = Door(holding)
    for _ in range(2):
        said.clear()
        answers = [one["type"] for one in sent(door, scope)]
        assert answers.count("websocket.close") == 1
        assert answers[-1] == "within"


def test_the_sites_that_are_named_may_frame_it_and_no_others(be) -> None:
    def policy(framed_by: str) -> tuple[str, str | None]:
        be(framed_by=framed_by)
        told = headers()
        return told["Content-Security-Policy"].partition(";")[0], told.get("X-Frame-Options")

    hub = "https://huggingface.co"
    framed = f"frame-ancestors 'self' {hub} https://*.uni.example:8443"
    assert policy(f"{hub}, https://*.uni.example:8443") == (framed, None)
    for none in ("", "*", "huggingface.co", "https://a b", "https://a;x", "https://a/b", "data:"):
        assert policy(none) == ("frame-ancestors 'self'", "SAMEORIGIN"), none


def test_what_there_is_one_of_outlives_caches_that_are_emptied(be) -> None:
    store, jobs = backend.store(), queue()
    st.cache_resource.clear()
    st.cache_data.clear()
    assert backend.store() is store
    assert queue() is jobs


def test_it_is_made_once_whoever_asks_at_the_same_time() -> None:
    def make() -> object:
        time.sleep(0.05)
        return object()

    one, barrier = Single(make), threading.Barrier(8)

    def ask(_: int) -> object:
        barrier.wait(10)
        return one()

    with ThreadPoolExecutor(8) as pool:
        assert len({*pool.map(ask, range(8))}) == 1
    before = one()
    one.forget()
    assert one() is not before


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> Worker:
    """One of this test's own."""
    monkeypatch.setattr(serving, "worker", made := Worker(modules=()))
    return made


@pytest.mark.full
def test_the_first_model_of_a_demo_is_ready_until_the_server_ends(be, worker, link) -> None:
    folder = link["model"]
    be(mode="demo", models=f"{folder},smollm2-135m", device="cpu")

    async def life() -> int:
        async with serving.begin(None):
            assert await asyncio.to_thread(until, lambda: worker.call(mortal.kept)) == [folder]
            assert worker.pid
            return worker.pid

    pid = to_its_end(life())
    until(lambda: not psutil.pid_exists(pid))


@pytest.mark.parametrize("change", [{"read_only": "true"}, {"largest_k": "many"}])
def test_where_nothing_can_be_computed_none_starts(be, worker, change) -> None:
    be(**change)

    async def life() -> None:
        async with serving.begin(None):
            await asyncio.sleep(0.3)

    to_its_end(life())
    assert worker.pid is None
