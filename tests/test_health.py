"""Whether an app that runs answers, and whether its worker lives."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from cases import random_result

from coupling_core import heartbeat
from coupling_core.errors import ComputeError
from coupling_core.heartbeat import FILE, STUCK, Heartbeat, problem
from coupling_core.store import Store


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store", gallery=tmp_path / "none")


@pytest.fixture
def app():
    """A server that answers as the app does; what it says can be changed."""

    class Handler(BaseHTTPRequestHandler):
        said = b"ok"

        def do_GET(self):
            self.send_response(200 if self.path == "/_stcore/health" else 404)
            self.end_headers()
            self.wfile.write(Handler.said)

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", Handler
    server.shutdown()


def test_a_worker_that_was_never_there_is_no_fault(store):
    assert problem(store) == ""


def test_a_busy_worker_that_falls_silent_is_told(store, monkeypatch):
    worker = Heartbeat(store.root)
    worker.beat(busy=True)
    assert problem(store) == ""
    now = time.time()
    monkeypatch.setattr(heartbeat.time, "time", lambda: now + STUCK + 60)
    assert problem(store) == "the worker is busy, and has said nothing for 16 minutes"
    worker.beat(busy=True)
    assert problem(store) == ""


def test_an_idle_worker_may_be_silent(store, monkeypatch):
    worker = Heartbeat(store.root)
    worker.beat(busy=True)
    worker.beat(busy=False)  # told at once, though it comes right after
    now = time.time()
    monkeypatch.setattr(heartbeat.time, "time", lambda: now + 10 * STUCK)
    assert problem(store) == ""


def test_steps_by_the_hundred_are_noted_once(store):
    worker = Heartbeat(store.root)
    worker.beat(busy=True)
    noted = (store.root / FILE).read_text()
    for _ in range(100):
        worker.beat(busy=True)
    assert (store.root / FILE).read_text() == noted


def test_a_store_that_cannot_be_written_stops_no_worker(tmp_path):
    (tmp_path / "file").write_text("")
    Heartbeat(tmp_path / "file" / "store").beat(busy=True)


@pytest.mark.parametrize("text", ["", "[]", '{"busy": true}', '{"busy": true, "time": "x"}'])
def test_a_note_that_cannot_be_read_is_told(text, store):
    store.root.mkdir(parents=True)
    (store.root / FILE).write_text(text)
    assert "cannot be read" in problem(store)


def test_the_note_is_no_result(store):
    store.put(random_result())
    Heartbeat(store.root).beat(busy=True)
    assert len(store.entries()) == 1


def test_the_command(run, app, store):
    url, handler = app
    arguments = ("health", "--url", url, "--store", store.root)
    assert run(*arguments)[:2] == (0, "ok\n")
    handler.said = b"<html>another program</html>"
    status, _, err = run(*arguments)
    assert (status, "is not well" in err) == (1, True)
    handler.said = b"ok"
    store.root.mkdir(parents=True)
    (store.root / FILE).write_text(json.dumps({"busy": True, "time": time.time() - 2 * STUCK}))
    status, _, err = run(*arguments)
    assert (status, "said nothing for 30 minutes" in err) == (1, True)


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "127.0.0.1:9", "file:///etc/passwd", "x"])
def test_an_app_that_does_not_answer_is_told(url, run):
    status, _, err = run("health", "--url", url)
    assert (status, err.count("\n"), "does not answer" in err) == (1, 1, True)


def test_the_queue_keeps_the_note(store):
    from coupling_core.jobs import Jobs
    from coupling_core.records import Request

    seen = []

    def measure(request, store, *, device, progress):
        seen.append(json.loads((store.root / FILE).read_text())["busy"])
        raise ComputeError("enough")

    jobs = Jobs(store, measure)
    key = jobs.submit(Request("Any", model="smollm2-135m"), "ann").key
    for _ in range(200):
        if jobs.status(key).state == "failed" and not jobs.active():
            break
        time.sleep(0.05)
    time.sleep(0.2)
    assert seen == [True]
    assert json.loads((store.root / FILE).read_text())["busy"] is False
