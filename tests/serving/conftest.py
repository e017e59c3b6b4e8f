"""What the tests of jobs share."""

from dataclasses import replace

import pytest

from coupling_core import Request


@pytest.fixture
def asked(tmp_path):
    """Eight requests that differ in the prompt."""
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"weights")
    one = Request("A prompt", model=str(folder), k=8, k_view=4)
    return [replace(one, prompt=f"Prompt {i}") for i in range(8)]
