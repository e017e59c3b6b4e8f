"""Numbers with their units, as people write them."""

from coupling_core.units import duration, size

__all__ = ["duration", "ordinal_place", "size"]


def ordinal_place(place: int) -> str:
    """Place in a queue: next, 2nd, 3rd, 4th, ..."""
    if place == 1:
        return "next in line"
    ending = "th" if 10 <= place % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(place % 10, "th")
    return f"{place}{ending} in line"
