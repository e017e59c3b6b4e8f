"""How the server is set where others use it: by the image's environment and the app's config."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
READ = "import json, sys; from streamlit import config; print(json.dumps({n: config.get_option(n) "
READ += "for n in sys.argv[1:]}))"
EXPECTED = {
    "browser.gatherUsageStats": False,
    "client.showErrorDetails": "none",
    "client.toolbarMode": "viewer",
    "server.enableAgentApi": False,
    "server.enableCORS": True,
    "server.enableStaticServing": False,
    "server.enableXsrfProtection": True,
    "server.fileWatcherType": "none",
    "server.headless": True,
    "server.maxUploadSize": 1,
    "server.trustedUserHeaders": {},
}


@pytest.fixture(scope="module")
def found() -> dict[str, object]:
    """What Streamlit makes of it, in a process of its own."""
    image = dict(re.findall(r"\b([A-Z_]+)=(\S+)", (ROOT / "Dockerfile").read_text()))
    ours = {name: value for name, value in image.items() if name.startswith("STREAMLIT_")}
    done = subprocess.run(
        [sys.executable, "-c", READ, *EXPECTED],
        cwd=ROOT,
        env={**os.environ, **ours},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", EXPECTED)
def test_the_server_is_set_for_strangers(found: dict[str, object], name: str) -> None:
    assert found[name] == EXPECTED[name]
