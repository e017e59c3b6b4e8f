"""Many names of revisions in few words."""

import re
from collections.abc import Collection

SHOWN = 8
"""As many names are told one by one."""

_NUMBERED = re.compile(r"(.*?)(\d+)")


def told(names: Collection[str], wanted: str | None = None) -> str:
    """The names where they are few; else how many, and those nearest to the one that is wanted."""
    if len(names) <= SHOWN:
        return ", ".join(names)
    near = nearest(names, wanted or "")
    return f"{len(names)} revisions" + f" ({near} nearest)" * bool(near)


def nearest(names: Collection[str], wanted: str) -> str:
    """The one or two names whose number comes next to that of a name; "" where it has none."""
    if not (parts := _NUMBERED.fullmatch(wanted)):
        return ""
    numbered = [found for name in names if (found := _NUMBERED.fullmatch(name))]
    numbers = [int(found[2]) for found in numbered if found[1] == parts[1]]
    below = [number for number in numbers if number < int(parts[2])]
    above = [number for number in numbers if number > int(parts[2])]
    two = [*([max(below)] if below else []), *([min(above)] if above else [])]
    return " and ".join(f"{parts[1]}{number}" for number in two)
