"""The app's process never has torch, whatever is looked at or computed: its worker has."""

import os
import subprocess
import sys
from pathlib import Path

import tiny

ROOT = Path(__file__).parents[2]
STORED = """
import sys
from streamlit.testing.v1 import AppTest

app = AppTest.from_file("app.py", default_timeout=60).run()
for page in ("pages/1_Depth.py", "pages/13_Runs.py", "pages/14_Method.py"):
    app.switch_page(page).run()
    assert not app.exception and not app.error, page
print(sorted({"torch", "transformers", "tokenizers", "scipy"} & set(sys.modules)))
"""
COMPUTED = """
import sys, time
from streamlit.testing.v1 import AppTest
from explorer.server.engine import worker
from explorer.asking.queue import queue

app = AppTest.from_file("app.py", default_timeout=60)
app.query_params.update(model=sys.argv[1], prompt="The cat sat", k="4")
app.run()
next(button for button in app.button if button.label == "Probe").click().run()
assert "dl" in str([html.proto.body for html in app.get("html")])
app.switch_page("pages/1_Depth.py").run()
next(button for button in app.button if button.label == "Compute").click().run()
while queue().active():
    time.sleep(0.05)
app.run()
assert not app.exception and not app.error, [error.value for error in app.error]
assert [chart for chart in app.get("plotly_chart")]
worker.forget("none", "none")
ours = {"torch", "transformers", "tokenizers", "accelerate", "bitsandbytes"}
print(sorted(ours & set(sys.modules)))
"""


def run(program: str, *arguments: object) -> str:
    """What a program prints that is started as the app is."""
    ran = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


def test_no_page_imports_torch() -> None:
    assert run(STORED) == "[]"


def test_neither_probing_nor_computing_imports_it(tmp_path: Path) -> None:
    assert run(COMPUTED, tiny.folder(tmp_path / "tiny")) == "[]"
