"""What a figure of curves says, apart from its numbers and from whatever draws it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

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
        numbers: what the legend calls each number of a kind that is drawn, by its name.
        x: what the curves run over, a key of `X_TITLES`, or the title of the axis.
        y: title of the axis, with its unit.
        caption: how the figure is read.
        log: whether the y axis is logarithmic.
        log_x: whether the x axis is.
        zero: whether the y axis begins at 0.
        y_range: ends of the y axis where these are fixed.
        hover: a value as the mouse shows it, in d3's format.
        unit: after the value.
        at: what the mouse calls a place, before its number; "" shows all curves at a place.
        height: in pixels.
    """

    numbers: Mapping[str, str] = field(default_factory=dict)
    x: str = "block"
    y: str = ""
    caption: str = ""
    log: bool = False
    log_x: bool = False
    zero: bool = False
    y_range: tuple[float, float] | None = None
    hover: str = ".3f"
    unit: str = ""
    at: str = ""
    height: int = 400

    @property
    def x_title(self) -> str:
        """Title of the x axis."""
        return X_TITLES.get(self.x, self.x)
