"""What this package says of itself: as it was installed, or in a checkout that was not."""

import tomllib
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from coupling_core.base.folders import ROOT

NAME = "coupling-explorer"


@cache
def this() -> Any:
    """Its version, what it requires, and its entry points."""
    try:
        return distribution(NAME)
    except PackageNotFoundError:
        return _Checkout()


class _Checkout(Distribution):
    """What an installer would write of pyproject.toml."""

    def read_text(self, filename: str) -> str | None:
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        lines = {"METADATA": _metadata, "entry_points.txt": _entry_points}.get(filename)
        return "\n".join(lines(project)) if lines else None

    def locate_file(self, path: Any) -> Path:
        return ROOT / path


def _metadata(project: dict[str, Any]) -> list[str]:
    extras = project["optional-dependencies"].items()
    wanted = [
        *project["dependencies"],
        *(f'{line} ; extra == "{extra}"' for extra, of in extras for line in of),
    ]
    return [
        "Metadata-Version: 2.4",
        f"Name: {NAME}",
        f"Version: {project['version']}",
        *(f"Requires-Dist: {line}" for line in wanted),
    ]


def _entry_points(project: dict[str, Any]) -> list[str]:
    groups = project["entry-points"].items()
    return [
        line
        for group, of in groups
        for line in (f"[{group}]", *(f"{n} = {v}" for n, v in of.items()))
    ]
