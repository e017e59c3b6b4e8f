"""What this package says of itself: as it was installed, or in a checkout that was not."""

import tomllib
from functools import cache
from importlib.metadata import EntryPoint, EntryPoints, PackageNotFoundError, distribution
from types import SimpleNamespace
from typing import Any

from coupling_core.base.folders import ROOT

NAME = "coupling-explorer"


@cache
def this() -> Any:
    """Its version, what it requires, and its entry points."""
    try:
        return distribution(NAME)
    except PackageNotFoundError:
        return _of_checkout()


def _of_checkout() -> SimpleNamespace:
    """What an installer would write of pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras, groups = project["optional-dependencies"].items(), project["entry-points"].items()
    of_extras = [f'{line} ; extra == "{extra}"' for extra, of in extras for line in of]
    return SimpleNamespace(
        version=project["version"],
        requires=[*project["dependencies"], *of_extras],
        entry_points=EntryPoints(
            EntryPoint(n, v, group) for group, of in groups for n, v in of.items()
        ),
    )
