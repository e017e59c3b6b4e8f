"""What the tests of kinds share."""

import pytest
import tiny


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tiny Llama on the disk."""
    return tiny.folder(tmp_path_factory.mktemp("model") / "tiny-llama")
