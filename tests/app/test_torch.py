"""Pages with stored results come up without torch, which takes seconds to import."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROGRAM = """
import sys
from streamlit.testing.v1 import AppTest

app = AppTest.from_file("app.py", default_timeout=60).run()
for page in ("pages/1_Depth.py", "pages/9_Runs.py", "pages/10_Method.py"):
    app.switch_page(page).run()
    assert not app.exception and not app.error, page
print(sorted({"torch", "transformers", "scipy"} & set(sys.modules)))
"""


def test_no_page_imports_torch() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "[]"
