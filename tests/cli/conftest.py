"""What the tests of the command line share."""

import pytest
import tiny


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tiny Llama on the disk."""
    return tiny.folder(tmp_path_factory.mktemp("models") / "tiny-llama")
