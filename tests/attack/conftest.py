"""A demo as strangers meet it: a server of its own, with no limit set but those that it brings.

Each attack is bounded, and against this machine's loopback alone. `make attack` runs all of them;
the quick half, which is not marked, runs with the other tests.
"""

from collections.abc import Iterator

import pytest
from driving import App, serving


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    folder = tmp_path_factory.mktemp("demo")
    with serving(folder / "store", folder / "log.txt", COUPLING_MODE="demo") as served:
        yield served
