"""Log lines for a machine: what befell jobs, models and results, and no word of a prompt."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import tiny

from coupling_core import Request, Store
from coupling_core.sources.resolved import resolve

pytestmark = pytest.mark.full  # three processes

ROOT = Path(__file__).parents[2]
SECRET, OWNER = "sat on the mat", "a-session-of-ann"

LIFE = """
import logging, sys, threading, time, warnings
from pathlib import Path
from coupling_core import Request, Store, measure
from coupling_core.base import logs
from coupling_core.serving.jobs import Jobs
from coupling_core.sources.resolved import resolve
from coupling_core.engine.loading import forget

logs.set_up()
logs.set_up()
folder, secret, owner = sys.argv[1:]
store = Store(max_bytes=1)
fails = False

def sometimes(request, *args, **options):
    result = measure(request, *args, **options)
    if fails:
        raise ValueError(f"no way to measure {request.prompt!r}")
    return result

jobs = Jobs(store, sometimes)

def ask(prompt, model=folder):
    key = jobs.submit(resolve(Request(prompt, model=model, k=4)), owner, "cpu").key
    while jobs.status(key).state in ("queued", "running"):
        time.sleep(0.01)
    for thread in threading.enumerate():
        if thread.name == "measuring":
            thread.join()
    return key

path = store.path(ask(secret))
path.write_bytes(path.read_bytes()[:-1])
ask(secret)
ask(secret + " again")
fails = True
ask(secret + " once more")
(Path(folder) / "model.safetensors").write_bytes(b"cut")
ask(secret + " at last")
forget()
warnings.warn("something is old")
logging.getLogger("elsewhere").error("it's \\"quoted\\"\\nand has %d lines", 2)

def dies():
    raise SystemError(secret)

thread = threading.Thread(target=dies)
thread.start()
thread.join()
"""


def lines_of(text):
    """Every line as the object that it is."""
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="module")
def life(tmp_path_factory):
    """What a process said that measured, failed, evicted and cleared up; and its model."""
    folder = tiny.folder(tmp_path_factory.mktemp("model") / "tiny")
    root = tmp_path_factory.mktemp("life")
    here = {"COUPLING_STORE": f"{root}/s", "COUPLING_HOME": f"{root}/h"}
    ran = in_json(["-c", LIFE, folder, SECRET, OWNER], **here)
    assert ran.returncode == 0, ran.stderr
    return ran.stderr, folder


def in_json(arguments, **environment):
    """A Python that logs for a machine."""
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | {"COUPLING_LOG": "json"} | environment,
    )


def test_every_line_is_an_object_that_names_no_prompt_and_no_owner(life):
    for line in lines_of(life[0]):
        then = datetime.fromisoformat(line["time"])
        assert then.utcoffset() == timedelta(0)
        assert then <= datetime.now(UTC)
        assert line["level"] in ("info", "warning", "error")
        assert line["logger"]
        assert line["message"]
    assert SECRET not in life[0]
    assert OWNER not in life[0]


def test_the_lines_tell_what_happened_in_its_order(life):
    ours = [line for line in lines_of(life[0]) if line["logger"].startswith("coupling_core")]
    begun, damaged = ["job queued", "job started"], "damaged result passed over"
    assert [line["message"].split(":")[0] for line in ours] == [
        *begun, "model loaded", "job done",
        damaged, *begun, damaged, "job done",
        *begun, "result evicted", "job done",
        *begun, "result evicted", "A measurement failed", "job failed",
        *begun, "job failed", "model released",
        "a thread died",
    ]  # fmt: skip


def test_a_job_is_told_with_its_fields(life):
    said, folder = life
    first = [line for line in lines_of(said) if line["message"].startswith("job")][:3]
    tiny.folder(folder)  # as it was before it was cut short
    asked = resolve(Request(SECRET, model=str(folder), k=4))
    key = Store().key(asked.request, asked.identity)
    for line in first:
        told = (line["key"], line["model"], line["kind"], line["owners"])
        assert told == (key, str(folder), "depth", 1)
    assert first[0]["seconds"] == 0
    assert 0 < first[2]["seconds"] < 300


def test_a_failure_tells_its_class_and_place_and_others_have_lines_too(life):
    lines = lines_of(life[0])
    (unforeseen,) = [line for line in lines if line["message"] == "A measurement failed"]
    assert (unforeseen["level"], unforeseen["error"]) == ("error", "ValueError")
    assert "in sometimes" in unforeseen["raised"]
    first, second = (line["reason"] for line in lines if line["message"] == "job failed")
    assert first == "ValueError"
    assert "model.safetensors" in second
    by = {line["logger"]: line["message"] for line in lines}
    assert by["elsewhere"] == 'it\'s "quoted"\nand has 2 lines'
    assert "something is old" in by["py.warnings"]


SERVER = """
import logging, os, subprocess, sys
from streamlit import config, error_util, logger
from coupling_core.base import logs

config.get_option("logger.enableRich")  # a server has read its settings by then
before = logger.get_logger("before")
logging.getLogger("silent").propagate = False
logs.set_up(whole_process=True)
before.error("of a library")
logging.getLogger("silent").info("of no interest")
logging.getLogger("silent").warning("as a last resort")
logger.get_logger("late").warning("of a logger made later")
logs.set_up(whole_process=True)
logger.get_logger("late").warning("and of one that is known")
try:
    raise ValueError(f"nothing to be done about {sys.argv[1]}")
except ValueError as error:
    error_util._log_uncaught_app_exception(error)
print("on stdout")
os.write(2, b"terminate called without an active exception\\n\\n{\\xff}\\n")
subprocess.run([sys.executable, "-c", "import os; os.write(2, b'of a worker\\\\n')"])
sys.exit("at the end")
"""


def test_a_server_and_a_command_write_nothing_but_objects():
    ran = in_json(["-c", SERVER, SECRET])
    lines = lines_of(ran.stderr)
    assert ran.stdout == ""
    assert SECRET not in ran.stderr
    ends = (
        "of a library", "as a last resort", "of a logger made later", "and of one that is known",
        "Uncaught app execution", "on stdout", "terminate called without an active exception",
        "{\\xff}", "of a worker", "at the end",
    )  # fmt: skip
    assert len(lines) == len(ends)
    assert all(line["message"].endswith(end) for line, end in zip(lines, ends, strict=True))
    (raised,) = [line for line in lines if line["message"] == "Uncaught app execution"]
    assert (raised["level"], raised["error"]) == ("error", "ValueError")
    ran = in_json(["-m", "coupling_core", "runs", "show", "nothing"])
    assert (ran.returncode, [line["level"] for line in lines_of(ran.stderr)]) == (2, ["error"])
