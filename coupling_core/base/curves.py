"""What a figure of curves says, apart from its numbers and from whatever draws it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

X_TITLES: Mapping[str, str] = {
    "block": "Block l",
    "state": "State x<sup>l</sup> (0 is the embedding)",
    "k": "Number of singular triplets K",
    "index": "Index k of the singular value",
    "distance": "Distance |l - l'| (blocks)",
    "token": "Token",
    "step": "Training step",
}
"""Titles of axes, by what is counted along them."""


@dataclass(frozen=True)
class Curves:
    """A figure of curves: its axes and its caption.

    Titles and caption can be templates, in which `{k}` stands for what a figure fills in.

    Args:
        numbers: names of the numbers of a kind that are drawn, where the figure is of such.
        x: what the curves run over, a key of `X_TITLES`, or the title of the axis.
        y: title of the axis, with its unit; of numbers, their own where nothing is said.
        caption: how the figure is read; of numbers, what they are where nothing is said.
        log: whether the y axis is logarithmic.
        zero: whether the y axis begins at 0.
        y_range: ends of the y axis where these are fixed.
        hover: a value as the mouse shows it, in d3's format.
        unit: after the value.
        at: what the mouse calls a place, before its number; "" shows all curves at a place.
        height: in pixels.
        each: whether each token has a curve of the number.
        rescaled: whether a final norm in the last block, which rescales its state, moves it.
    """

    numbers: Sequence[str] = ()
    x: str = "block"
    y: str = ""
    caption: str = ""
    log: bool = False
    zero: bool = False
    y_range: tuple[float, float] | None = None
    hover: str = ".3f"
    unit: str = ""
    at: str = ""
    height: int = 400
    each: bool = False
    rescaled: bool = True

    @property
    def x_title(self) -> str:
        """Title of the x axis."""
        return X_TITLES.get(self.x, self.x)

    @property
    def first(self) -> int:
        """Where it begins along x."""
        return 0 if self.x == "state" else 1

    @property
    def drawn_by(self) -> str:
        """Module and function of `coupling_core.figures` that draws numbers of a kind."""
        if self.x == "token":
            return "token_numbers.per_token"
        return "token_numbers.by_depth" if self.each else "curves.number_curves"
