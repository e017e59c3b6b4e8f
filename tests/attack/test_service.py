"""One service that no stranger can clear, fill or frame, and no crowd of tabs keep from others.

While jobs are asked for the worker is held nearly still, so that what waits goes on waiting and
next to nothing is computed meanwhile. Tabs of one machine are told apart by the address that they
come from, of which a loopback has many.
"""

import http.client
import re
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode, urlsplit
from urllib.request import urlopen

import psutil
import pytest
from cases import random_result
from driving import App, serving
from forged_widgets import REFUSED, TEXTS, exceptions, forged
from listening import Watch, look
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from waiting import until
from wire import Visitor, visiting

from coupling_core.base.settings import DEMO
from coupling_core.serving import desk
from coupling_core.store.archive import encode
from explorer.server.headers import early

pytestmark = pytest.mark.full

STRANGER, OTHER, PROXY = "127.0.0.2", "127.0.0.3", "127.0.0.9"
PATIENCE = 100.0
"""Seconds, fewer than those for which Streamlit keeps a session that has left."""
wait_for = partial(until, patience=PATIENCE)
MEGABYTE = 2**20
ADDRESSES = (
    *("/", "/Runs", "/Depth?prompt=x", "/nowhere", "/favicon.png", "/_stcore/health"),
    *("/_stcore/host-config", "/_stcore/metrics", "/_stcore/stream", "/media/nothing.png"),
    *("/_stcore/upload_file/a/b", "/%2e%2e/%2e%2e/etc/passwd", "/auth/login"),
    "/oauth2callback?x=1",
)
HEADERS = {
    "X-Frame-Options": r"SAMEORIGIN",
    "Content-Security-Policy": r"frame-ancestors 'self';.*",
    "X-Content-Type-Options": r"nosniff",
    "Referrer-Policy": r"same-origin",
    "Permissions-Policy": r".*microphone=\(\).*",
}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """Nothing is set but a proxy, and that what takes long is taken on."""
    folder = tmp_path_factory.mktemp("demo")
    settings = {"COUPLING_MODE": "demo", "COUPLING_LONGEST_SECONDS": "3600"}
    settings |= {"COUPLING_TRUSTED_PROXIES": PROXY, "FORWARDED_ALLOW_IPS": ""}
    with serving(folder / "store", folder / "log.txt", **settings) as served:
        yield served


def come(app: App, address: str, **more: object):
    """A session from this address of the machine."""
    return visiting(app.url, source_address=(address, 0), **more)


# ---- what everybody is answered


def test_no_answer_may_be_framed_or_guessed_at(demo: App) -> None:
    connection = http.client.HTTPConnection(urlsplit(demo.url).netloc, timeout=PATIENCE)
    lacking = []
    for method in ("GET", "POST", "OPTIONS"):
        for address in ADDRESSES:
            connection.request(method, address)
            with connection.getresponse() as answer:
                for name, expected in HEADERS.items():
                    values = answer.headers.get_all(name) or []
                    if len(values) != 1 or not re.fullmatch(expected, values[0]):
                        lacking.append((method, address, name, values))
            connection.close()
    assert lacking == []
    with urlopen(f"{demo.url}/Depth") as page:
        assert page.headers["Link"] == early()
        assert b"BACKEND_BASE_URL" in page.read()
    with urlopen(demo.url + re.match(r"<\.(/[^>]+)>", early())[1]) as script:
        assert "javascript" in script.headers["Content-Type"]


def test_a_server_listens_on_its_own_port_alone(demo: App) -> None:
    look(watch := Watch(), psutil.Process(demo.pid))
    assert {one.port for one in watch.sockets.values()} == {urlsplit(demo.url).port}
    assert not watch.open_to_others


def test_no_value_of_any_type_raises_for_all_widgets_at_once(demo: App) -> None:
    with visiting(demo.url) as visitor:
        visitor.open("Runs")
        widgets = list(visitor.widgets)
        assert len(widgets) > 10
        told = 0
        for states in zip(*(forged(widget, TEXTS[9:11]) for widget in widgets), strict=True):
            visitor.send(*states)
            assert not exceptions(visitor)
            told += any(REFUSED in text for text in visitor.texts())
        assert told > 10


# ---- files


@pytest.fixture
def visit(demo: App) -> Iterator[Callable[..., Visitor]]:
    """Opens sessions that are closed at the end."""
    with ExitStack() as stack:
        yield lambda address: stack.enter_context(come(demo, address))


def put(
    app: App, path: str, data: int | bytes, address: str = STRANGER, told: int | None = None
) -> int:
    """Upload so many bytes, or these; gives the status."""
    frame = b'--x\r\nContent-Disposition: form-data; name="f"; filename="f.safetensors"\r\n\r\n'
    body = frame + bytes(data) + b"\r\n--x--\r\n"
    with urlopen(f"{app.url}/_stcore/health", timeout=PATIENCE) as answer:
        found = re.search(r"_streamlit_xsrf=\"?([^;\"]+)", answer.headers["Set-Cookie"] or "")
    token = found[1] if found else "-"
    headers = {"X-Xsrftoken": token, "Cookie": f"_streamlit_xsrf={token}"}
    headers["Content-Type"] = "multipart/form-data; boundary=x"
    headers["Content-Length"] = str(len(body) if told is None else told)
    host = urlsplit(app.url).netloc
    connection = http.client.HTTPConnection(host, timeout=PATIENCE, source_address=(address, 0))
    try:
        connection.request("PUT", path, body if told is None else b"", headers)
        return connection.getresponse().status
    except (BrokenPipeError, ConnectionResetError):  # refused before all was sent
        return 413
    finally:
        connection.close()


def test_files_are_taken_from_pages_that_ask_for_one(visit: Any, demo: App) -> None:
    silent, reader = visit(STRANGER), visit(OTHER)
    assert put(demo, silent.address_of_upload(), 1000) == 403
    silent.open("Depth")
    assert put(demo, silent.address_of_upload(), 1000) == 403
    reader.open("Runs")
    path = reader.address_of_upload()
    assert put(demo, path, 2 * MEGABYTE, OTHER) == 204
    assert put(demo, path, 0, OTHER, told=60 * MEGABYTE) == 413
    reader.open("Depth")
    assert put(demo, path, 1000, OTHER) == 403
    assert put(demo, "/_stcore/upload_file/nobody/file", 1000) == 403


def test_a_file_that_was_asked_for_comes_in(visit: Any, demo: App) -> None:
    result = random_result(seed=7)
    reader = visit(OTHER)
    reader.open("Runs")
    path = reader.address_of_upload()
    assert put(demo, path, encode(result), OTHER) == 204
    (control,) = reader.elements("file_uploader")
    file, told = {"uploaded_file_info": [{"file_id": path.rpartition("/")[2]}]}, []
    for _ in range(2):  # as a browser says it again at every run
        reader.send(WidgetState(id=control.id, file_uploader_state_value=file))
        assert not reader.errors()
        told.append(f"Added `{result.key}`." in reader.texts())
    assert told == [True, False]


def test_what_is_kept_of_files_is_bounded_and_goes(demo: App) -> None:
    server = psutil.Process(demo.pid)
    before = server.memory_info().rss
    with ExitStack() as stack:
        paths = []
        for _ in range(3):
            visitor = stack.enter_context(come(demo, STRANGER))
            visitor.open("Runs")
            paths.append(visitor.address_of_upload())
        statuses = [put(demo, path, 45 * MEGABYTE) for path in (*paths, paths[0])]
        assert statuses == [204, 204, 429, 204], "the last takes the place of the first"
        assert server.memory_info().rss - before < 200 * MEGABYTE
        other = stack.enter_context(come(demo, OTHER))
        other.open("Runs")
        assert put(demo, other.address_of_upload(), MEGABYTE, OTHER) == 204
    wait_for(lambda: server.memory_info().rss - before < 60 * MEGABYTE)


# ---- the queue


@pytest.fixture(scope="module")
def still(demo: App) -> Iterator[App]:
    """The demo, whose worker stands still."""
    done = threading.Event()
    threading.Thread(target=hold_still, args=(demo, done)).start()
    yield demo
    done.set()


_is_asked = threading.Event()
"""Whether pages may ask the worker something just now."""


def hold_still(app: App, done: threading.Event) -> None:
    """Stop every worker that the app starts, but for moments: one that is silent is replaced."""
    for turn in count():
        if done.wait(0.2):
            break
        if not _is_asked.is_set():
            signal_workers(app, signal.SIGCONT if turn % 20 == 0 else signal.SIGSTOP)


@contextmanager
def answering(app: App) -> Iterator[None]:
    """Let the worker go on meanwhile: a page asks it what a measurement takes."""
    _is_asked.set()
    signal_workers(app, signal.SIGCONT)
    yield
    _is_asked.clear()
    signal_workers(app, signal.SIGSTOP)


def signal_workers(app: App, which: signal.Signals) -> None:
    for worker in psutil.Process(app.pid).children():
        with suppress(psutil.NoSuchProcess):
            worker.send_signal(which)


def ask(app: App, visitor: Visitor, prompt: str) -> str:
    """Have what takes long measured; gives where it stands in the queue, or why it is refused."""
    with answering(app):
        visitor.open(f"Tokens?{urlencode({'all': 1, 'prompt': prompt})}")
        visitor.press("Compute")
    return "".join([one.text for one in visitor.elements("progress")] + visitor.errors())


LONG = " asks" + " on" * 30
"""Makes a prompt that is still measured when the last tab has asked."""


@pytest.mark.slow
def test_two_hundred_tabs_keep_nobody_waiting(still: App) -> None:
    with ExitStack() as tabs:
        said = Counter(
            re.sub(r"[\d.]+ \w+|next|\d+\w+", "#", ask(still, tab, f"Tab {number}{LONG}"))[:60]
            for number, tab in enumerate(
                tabs.enter_context(come(still, STRANGER)) for _ in range(200)
            )
        )
        taken = sum(n for what, n in said.items() if "Queued" in what or "Loading" in what)
        assert taken == DEMO["queue_length"] // 2 + 1, said  # one of them runs
        assert sum(n for what, n in said.items() if "address" in what) == 200 - taken
        visitor = tabs.enter_context(come(still, OTHER))
        assert "number 1 in line" in ask(still, visitor, "A visitor asks")
        wait_for(lambda: len(desk.jobs(still.store)) == taken + 1)
    with answering(still):
        wait_for(lambda: not desk.jobs(still.store))


@pytest.fixture(scope="module")
def crowd(still: App) -> Iterator[SimpleNamespace]:
    """A stranger's three tabs, the first of which asked four times; then others ask."""
    with ExitStack() as others, ExitStack() as tabs:
        first = tabs.enter_context(come(still, STRANGER))
        told = {f"secret {n}": ask(still, first, f"A secret question {n}") for n in range(4)}
        for number in range(2):  # whatever they say of their address
            forger = {"X-Forwarded-For": f"192.0.2.{number}"}
            tab = tabs.enter_context(come(still, STRANGER, additional_headers=forger))
            ask(still, tab, f"Tab {number} of a stranger asks")
        for address, said in ((OTHER, {}), (PROXY, {"X-Forwarded-For": "198.51.100.7"})):
            visitor = others.enter_context(come(still, address, additional_headers=said))
            told[address] = ask(still, visitor, f"From {address}")
        wait_for(lambda: len(desk.jobs(still.store)) == 8)
        yield SimpleNamespace(first=first, tabs=tabs, told=told)


def test_tabs_of_one_address_take_turns_as_one_whatever_they_say_of_it(crowd: Any) -> None:
    assert "number 1 in line" in crowd.told[OTHER]
    assert "number 2 in line" in crowd.told[PROXY]


def test_a_limit_is_cleared_by_nobody_but_an_operator_and_those_who_leave(
    crowd: Any, demo: App
) -> None:
    assert not any("under way" in told for told in crowd.told.values())
    before = desk.jobs(demo.store)
    with come(demo, OTHER) as nobody:
        for name in ("clear_cache", "load_git_info"):
            message = BackMsg()
            setattr(message, name, True)
            nobody.say(message)
        assert nobody.address_of_upload()  # the connection stands, and says nothing of git
    assert "4 of your jobs are under way" in ask(demo, crowd.first, "One more")
    listed = desk.jobs(demo.store)
    assert [job["key"] for job in listed] == [job["key"] for job in before]

    ((whose, asked),) = Counter(word for job in listed for word in job["whose"]).most_common(1)
    assert asked == 6  # all those of one address
    assert "secret" not in str(listed)
    assert (demo.store / desk.FOLDER).stat().st_mode & 0o077 == 0
    key = [job["key"] for job in listed if whose in job["whose"]][-1]
    desk.end(demo.store, key)
    assert key not in [job["key"] for job in desk.jobs(demo.store)]

    crowd.tabs.close()
    with answering(demo):
        wait_for(lambda: [job["state"] for job in desk.jobs(demo.store)] == ["running", "queued"])


# ---- where people sign in


@pytest.mark.slow
def test_before_signing_in_nothing_is_cleared_and_no_file_taken(tmp_path: Path) -> None:
    with serving(tmp_path / "store", tmp_path / "log.txt", COUPLING_SIGN_IN="*@uni.example") as app:
        with visiting(app.url) as nobody:
            nobody.open("Runs")
            assert not any(nobody.elements("file_uploader"))
            assert put(app, nobody.address_of_upload(), 1000) == 403
            message = BackMsg()
            message.clear_cache = True
            nobody.say(message)
            assert nobody.address_of_upload()
