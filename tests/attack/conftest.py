"""What strangers, hostile files and failing machines may do.

Each attack is bounded, and against this machine's loopback alone. `make attack` runs all of them;
one quick case of each, which is not marked slow, runs with the other tests.
"""

from pathlib import Path

import pytest

from coupling_core import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty one, without the results that ship."""
    return Store(tmp_path / "results", layers=(), gallery=tmp_path / "none")
