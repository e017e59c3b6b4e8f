"""What a worker of the tests imports first: its signs of life and words come sooner."""

import pytest

from coupling_core.measuring.worker import process, serving

serving.BEAT, serving.WORDS = 0.05, 0.0
MODULES = ("hasty",)


def listen(monkeypatch: pytest.MonkeyPatch, silent: int = 200) -> None:
    """Look at a worker sooner, and take it to hang after so many looks in silence."""
    monkeypatch.setattr(process, "LOOK", 0.1)
    monkeypatch.setattr(process, "SILENT", silent)
