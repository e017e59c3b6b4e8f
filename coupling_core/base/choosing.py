"""Names of which there is a closed list, as somebody gave one: what is said of a name that is none.

The list is in the message, and before or behind it the name that was probably meant.
"""

from collections.abc import Collection
from difflib import get_close_matches


def nearest(name: object, known: Collection[str]) -> str:
    """A question for the known name that is most like this one, or begins so; "" where none is."""
    by_small, small = {each.lower(): each for each in known}, str(name).lower()
    near = get_close_matches(small, by_small, 1)
    near = near or [each for each in by_small if len(small) > 2 and each.startswith(small)]
    return f" (did you mean {by_small[near[0]]!r}?)" if near else ""


def none_of(what: str, name: object, known: Collection[str], meant: str = "") -> str:
    """What is said of a choice that is none of those that there are.

    Args:
        what: is chosen.
        name: that came.
        known: what there is.
        meant: which of these people call so; "" is the one whose letters are most alike.
    """
    near = nearest(meant or name, known)
    return f"{what} must be one of {', '.join(known)}, and {name!r} came{near}"


def unknown(what: str, name: str, known: Collection[str]) -> str:
    """What is said of a thing of this name, which is not there."""
    return f"{what} {name!r} is unknown{nearest(name, known)}: expected one of {', '.join(known)}"
