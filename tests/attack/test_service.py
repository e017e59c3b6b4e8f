"""One service that no client can clear, and no crowd of tabs can keep from anybody else.

The worker is held nearly still, so that what waits goes on waiting and next to nothing is computed
meanwhile. Tabs of one machine are told apart by the address that they come from, of which a
loopback has many.
"""

import http.client
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from itertools import count
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import psutil
import pytest
from cases import random_result
from driving import App, serving
from streamlit.proto.BackMsg_pb2 import BackMsg
from waiting import until
from wire import Visitor, visiting

from coupling_core.base.errors import InputError
from coupling_core.base.settings import DEMO
from coupling_core.serving import desk
from coupling_core.store.archive import encode

STRANGER, OTHER, THIRD, PROXY = "127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.9"
PATIENCE = 40.0
wait_for = partial(until, patience=PATIENCE)
MEGABYTE = 2**20

Visit = Callable[..., Visitor]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """Nothing is set but a proxy, and that what takes long is taken on; its worker stands still."""
    folder = tmp_path_factory.mktemp("service")
    proxy = {"COUPLING_TRUSTED_PROXIES": PROXY, "FORWARDED_ALLOW_IPS": ""}
    store, log = folder / "store", folder / "log.txt"
    taken_on = {"COUPLING_LONGEST_SECONDS": "3600"}
    with serving(store, log, COUPLING_MODE="demo", **proxy, **taken_on) as app:
        done = threading.Event()
        threading.Thread(target=hold_still, args=(done,)).start()
        _served.append(app)
        yield app
        _served.remove(app)
        done.set()


_served: list[App] = []
_is_asked = threading.Event()
"""Whether pages may ask the worker something just now."""


def hold_still(done: threading.Event) -> None:
    """Stop every worker that the app starts, but for moments: one that is silent is replaced."""
    for look in count():
        if done.wait(0.2):
            break
        if not _is_asked.is_set():
            signal_workers(signal.SIGCONT if look % 20 == 0 else signal.SIGSTOP)


@contextmanager
def answering() -> Iterator[None]:
    """Let the worker go on meanwhile: a page asks it what a measurement takes."""
    _is_asked.set()
    signal_workers(signal.SIGCONT)
    yield
    _is_asked.clear()
    signal_workers(signal.SIGSTOP)


def signal_workers(which: signal.Signals) -> None:
    for app in _served:
        for worker in psutil.Process(app.pid).children():
            with suppress(psutil.NoSuchProcess):
                worker.send_signal(which)


@pytest.fixture
def visit(demo: App) -> Iterator[Visit]:
    """Opens sessions that are closed at the end, when their jobs are ended too."""
    with ExitStack() as stack:
        yield lambda address, **more: stack.enter_context(come(demo, address, **more))
    while jobs := desk.jobs(demo.store):
        with suppress(InputError):  # it has ended meanwhile
            desk.end(demo.store, jobs[0]["key"])
    signal_workers(signal.SIGKILL)


def come(app: App, address: str, **more: object):
    return visiting(app.url, source_address=(address, 0), **more)


def look_at(visitor: Visitor, prompt: str) -> None:
    """Open a page that offers to measure a prompt, which takes so long that none is done here."""
    with answering():
        visitor.open(f"Tokens?{urlencode({'all': 1, 'prompt': prompt})}")


def press(visitor: Visitor) -> str:
    """Have it measured; gives where it stands in the queue, or why it is refused."""
    with answering():
        visitor.press("Compute")
    return "".join([one.text for one in visitor.elements("progress")] + visitor.errors())


def ask(visitor: Visitor, prompt: str) -> str:
    """Both."""
    look_at(visitor, prompt)
    return press(visitor)


def crowd(visit: Visit, tabs: int) -> Counter[str]:
    """Ask from many tabs of one address at once; gives how often what was said."""
    visitors = [visit(STRANGER) for _ in range(tabs)]
    for tab, visitor in enumerate(visitors):
        look_at(visitor, f"Tab {tab} of a stranger asks its question")
    return Counter(re.sub(r"[\d.]+ \w+|next|\d+\w+", "#", press(who))[:60] for who in visitors)


def test_tabs_of_one_address_take_turns_as_one(visit: Visit) -> None:
    crowd(visit, 3)
    assert "next in line" in ask(visit(OTHER), "A visitor asks")
    assert "2nd in line" in ask(visit(THIRD), "Another visitor asks")


@pytest.mark.slow
def test_two_hundred_tabs_keep_nobody_waiting(visit: Visit, demo: App) -> None:
    said = crowd(visit, 200)
    taken = sum(count for what, count in said.items() if "Queued" in what or "Loading" in what)
    assert taken == DEMO["queue_length"] // 2 + 1, said  # one of them runs
    assert sum(count for what, count in said.items() if "wait already" in what) == 200 - taken
    place = ask(visit(OTHER), "A visitor asks")
    assert "next in line" in place
    wait_for(lambda: len(desk.jobs(demo.store)) == taken + 1)


def test_what_a_client_says_of_its_own_address_counts_for_nothing(visit: Visit) -> None:
    for number in range(2):
        forged = {"X-Forwarded-For": f"192.0.2.{number}"}
        ask(visit(STRANGER, additional_headers=forged), f"A forger asks {number}")
    assert "next in line" in ask(visit(OTHER), "A visitor asks")
    proxied = {"X-Forwarded-For": "198.51.100.7"}
    assert "2nd in line" in ask(visit(PROXY, additional_headers=proxied), "By a proxy")


def test_a_closed_tab_ends_what_it_waited_for_and_nobody_needs_to_come(
    visit: Visit, demo: App
) -> None:
    with come(demo, STRANGER) as stranger:
        ask(stranger, "A job that runs")
        ask(stranger, "A job that waits")
        ask(visit(OTHER), "A visitor asks")
        wait_for(lambda: len(desk.jobs(demo.store)) == 3)
    closed = time.monotonic()
    wait_for(lambda: len(desk.jobs(demo.store)) == 1)
    assert time.monotonic() - closed < 15
    wait_for(lambda: [job["state"] for job in desk.jobs(demo.store)] == ["running"])


def test_one_tab_has_a_limit_and_nobody_clears_it(visit: Visit, demo: App) -> None:
    visitor = visit(STRANGER)
    for number in range(4):
        assert "under way" not in ask(visitor, f"Question {number} before the clearing")
    before = wait_for(lambda: len(found := desk.jobs(demo.store)) == 4 and found)
    with come(demo, OTHER) as nobody:
        for name in ("clear_cache", "load_git_info"):
            message = BackMsg()
            setattr(message, name, True)
            nobody.say(message)
        assert nobody.address_of_upload()  # the connection stands, and says nothing of git
    assert "4 of your jobs are under way" in ask(visitor, "One more")
    after = desk.jobs(demo.store)
    assert [job["key"] for job in after] == [job["key"] for job in before]


def test_an_operator_sees_the_jobs_and_ends_any(visit: Visit, demo: App) -> None:
    visitor = visit(STRANGER)
    for number in range(2):
        ask(visitor, f"Question {number} that an operator ends")
    listed = wait_for(lambda: len(found := desk.jobs(demo.store)) == 2 and found)
    assert len({word for job in listed for word in job["whose"]}) == 1
    assert "operator" not in str(listed), "prompts are nobody else's"
    assert (demo.store / desk.FOLDER).stat().st_mode & 0o077 == 0
    done = coupling_jobs(demo.store, "--end", listed[1]["key"][:12])
    assert done.stdout == f"{listed[1]['key']}  ended\n"
    assert [job["key"] for job in desk.jobs(demo.store)] == [listed[0]["key"]]
    look_at(visitor, "Question 1 that an operator ends")
    assert "has ended this measurement" in "".join(visitor.texts())


def coupling_jobs(store: Path, *more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "coupling_core", "jobs", "--store", str(store), *more]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)


# ---- files


def put(
    app: App, path: str, data: int | bytes, address: str = STRANGER, told: int | None = None
) -> int:
    """Upload so many bytes, or these; gives the status."""
    frame = b'--x\r\nContent-Disposition: form-data; name="f"; filename="f.safetensors"\r\n\r\n'
    body = frame + bytes(data) + b"\r\n--x--\r\n"
    token = xsrf_token(app)
    headers = {
        "Content-Type": "multipart/form-data; boundary=x",
        "X-Xsrftoken": token,
        "Cookie": f"_streamlit_xsrf={token}",
        "Content-Length": str(len(body) if told is None else told),
    }
    host = urlsplit(app.url).netloc
    connection = http.client.HTTPConnection(host, timeout=PATIENCE, source_address=(address, 0))
    try:
        connection.request("PUT", path, body if told is None else b"", headers)
        return connection.getresponse().status
    except (BrokenPipeError, ConnectionResetError):  # refused before all was sent
        return 413
    finally:
        connection.close()


def xsrf_token(app: App) -> str:
    connection = http.client.HTTPConnection(urlsplit(app.url).netloc, timeout=PATIENCE)
    connection.request("GET", "/_stcore/health")
    cookie = connection.getresponse().getheader("Set-Cookie") or ""
    connection.close()
    found = re.search(r"_streamlit_xsrf=\"?([^;\"]+)", cookie)
    return found[1] if found else "-"


def test_files_are_taken_from_pages_that_ask_for_one(visit: Visit, demo: App) -> None:
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


def test_a_file_that_was_asked_for_comes_in(visit: Visit, demo: App) -> None:
    result = random_result(seed=7)
    reader = visit(OTHER)
    reader.open("Runs")
    path = reader.address_of_upload()
    assert put(demo, path, encode(result), OTHER) == 204
    (control,) = reader.elements("file_uploader")
    message = BackMsg()
    message.rerun_script.page_name = "Runs"
    state = message.rerun_script.widget_states.widgets.add()
    state.id = control.id
    state.file_uploader_state_value.uploaded_file_info.add().file_id = path.rpartition("/")[2]
    told = []
    for _ in range(2):  # as a browser says it again at every run
        reader.say(message)
        reader._read_to_the_end()
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
