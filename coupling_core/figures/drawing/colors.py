"""Plotly's colours and colour scales as matplotlib has them."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from coupling_core.base.errors import ComputeError

Rgba = tuple[float, float, float, float]
_RGB = re.compile(r"rgba?\(([^)]*)\)")


def rgba(color: str, opacity: float = 1.0) -> Rgba:
    """A colour in parts of 1; its own opacity is multiplied with the one given.

    Raises:
        ComputeError: on a text that is no colour.
    """
    from matplotlib.colors import to_rgba

    found = _RGB.fullmatch(color.strip())
    try:
        if found:
            parts = [float(part) for part in found[1].split(",")]
            red, green, blue = (part / 255 for part in parts[:3])
            return red, green, blue, (parts[3] if len(parts) > 3 else 1.0) * opacity
        red, green, blue, alpha = to_rgba(color)
    except ValueError as error:
        raise ComputeError(f"{color!r} is no colour that can be drawn without Chromium") from error
    return red, green, blue, alpha * opacity


def scale(given: Sequence[Any]) -> tuple[Float[np.ndarray, " stop"], Float[np.ndarray, "stop 4"]]:
    """The stops of a colour scale, 0..1, and their colours."""
    if given and isinstance(given[0], str):
        stops = np.linspace(0, 1, len(given))
        return stops, np.array([rgba(color) for color in given])
    return np.array([float(at) for at, _ in given]), np.array([rgba(color) for _, color in given])


def colored(
    values: Float[np.ndarray, "*any"], low: float, high: float, given: Sequence[Any]
) -> Float[np.ndarray, "*any 4"]:
    """Colours of values on a scale between two ends; of NaN, none at all."""
    stops, ends = scale(given)
    part = np.clip((values - low) / ((high - low) or 1.0), 0, 1)
    known = np.isfinite(part)
    safe = np.where(known, part, 0.0)
    found = np.stack([np.interp(safe, stops, ends[:, i]) for i in range(4)], -1)
    found[~known] = 0
    return found
