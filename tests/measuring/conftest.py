"""What the tests of measuring share."""

import mortal
import pytest
import tiny

from coupling_core import Request


@pytest.fixture(scope="module")
def llama():
    return tiny.model("llama")


@pytest.fixture(scope="module")
def mortal_folder(tmp_path_factory):
    """What `mortal` takes for a model."""
    return mortal.folder(tmp_path_factory.mktemp("model"))


@pytest.fixture
def ask(mortal_folder):
    """The request for what a prompt says."""
    return lambda prompt: Request(prompt, model=str(mortal_folder), k=8, k_view=4)
