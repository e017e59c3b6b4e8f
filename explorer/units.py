"""Numbers with their units, as people write them."""

from coupling_core.units import size

__all__ = ["duration", "ordinal_place", "size"]


def duration(seconds: float) -> str:
    """Seconds in words: 0.3 s, 42 s, 3 min."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def ordinal_place(place: int) -> str:
    """Place in a queue: next, 2nd, 3rd, 4th, ..."""
    if place == 1:
        return "next in line"
    ending = "th" if 10 <= place % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(place % 10, "th")
    return f"{place}{ending} in line"
