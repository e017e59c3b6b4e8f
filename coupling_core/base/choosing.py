"""Names out of a closed list, and what is said of one that is not in it, with the list."""

from collections.abc import Collection
from difflib import get_close_matches

from coupling_core.base.errors import InputError


def nearest(name: object, known: Collection[str]) -> str:
    """A question for the known name that is most like this one, or begins so; "" if none is."""
    by_small, small = {each.lower(): each for each in known}, str(name).lower()
    near = get_close_matches(small, by_small, 1)
    near = near or [each for each in by_small if len(small) > 2 and each.startswith(small)]
    return f" (did you mean {by_small[near[0]]!r}?)" if near else ""


def none_of(what: str, name: object, known: Collection[str]) -> str:
    """The message for a name that is not one of those known."""
    return f"{what} must be one of {', '.join(known)}, and {name!r} came{nearest(name, known)}"


def require_one_of(what: str, name: object, known: Collection[str]) -> None:
    """Refuse a name that is not one of those known."""
    if name not in tuple(known):
        raise InputError(none_of(what, name, known))
