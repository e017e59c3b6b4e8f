"""How the server is set where others use it: by the image's environment and the app's config."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXPECTED = {
    "browser": {"gatherUsageStats": False},
    "client": {"showErrorDetails": "none", "toolbarMode": "viewer"},
    "server": {
        "enableAgentApi": False, "enableCORS": True, "enableStaticServing": False,
        "enableXsrfProtection": True, "fileWatcherType": "none", "headless": True,
        "maxUploadSize": 1,
    },
}  # fmt: skip


@pytest.mark.full
def test_the_server_is_set_for_strangers():
    image = dict(re.findall(r"\b([A-Z_]+)=(\S+)", (ROOT / "Dockerfile").read_text()))
    ours = {name: value for name, value in image.items() if name.startswith("STREAMLIT_")}
    # Streamlit reads the environment only where it is started as a program.
    done = subprocess.run(
        [sys.executable, "-m", "streamlit", "config", "show"],
        cwd=ROOT, env=os.environ | ours, capture_output=True, text=True, check=True,
    )  # fmt: skip
    # What is as it comes is written as a comment.
    assert {
        section: {name: shown(done.stdout, section, name) for name in options}
        for section, options in EXPECTED.items()
    } == EXPECTED


def shown(config: str, section: str, name: str) -> object:
    """The value of an option."""
    part = config.split(f"\n[{section}]\n")[1].split("\n[")[0]
    (value,) = re.findall(rf"^(?:# )?{name} = (.*)$", part, re.MULTILINE)
    return tomllib.loads(f"value = {value}")["value"]
