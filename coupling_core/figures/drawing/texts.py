"""Plotly's markup (<br>, <sub>, <sup>, <b>, <i>, <span>) as lines that matplotlib sets."""

import html
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from coupling_core.base.errors import ComputeError
from coupling_core.figures.drawing.colors import rgba

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.text import Text

POINT = 0.72
"""Points in a pixel: a picture has 100 pixels an inch."""
LINE = 1.3
"""Height of a line in sizes of its letters."""

_TAG = re.compile(r"<(/?)(\w+)([^>]*)>")
_SIZE, _COLOR = re.compile(r"font-size: *([\d.]+)px"), re.compile(r"(?<!-)color: *([^;'\"]+)")
_RAISED = {"sub": "_", "sup": "^"}
_PLAIN = {"b", "i", "span", *_RAISED}


@dataclass(frozen=True)
class Line:
    """A line of text in one size and colour.

    Args:
        text: as matplotlib takes it, with raised and lowered parts as mathematics.
        size: of its letters, in pixels.
        color: as plotly names it.
    """

    text: str
    size: float
    color: str

    @property
    def look(self) -> dict[str, Any]:
        """Size and font: beside mathematics, no other font fills in for a letter that one lacks."""
        family = {"fontfamily": "DejaVu Sans"} if "$" in self.text.replace(r"\$", "") else {}
        return {"fontsize": self.size * POINT, **family}


def lines(marked: str, size: float, color: str) -> list[Line]:
    """The lines of a text of plotly's; a span's size and colour are those of the line it begins.

    Raises:
        ComputeError: on a tag that is not known here.
    """
    found, raised, look = [Line("", size, color)], "", (size, color)
    for part in re.split(r"(<[^>]+>)", marked):
        tag = _TAG.fullmatch(part)
        if tag is None:
            found[-1] = replace(found[-1], text=found[-1].text + _set(part, raised))
        elif tag[2] == "br":
            found.append(Line("", *look))
        elif tag[2] not in _PLAIN:
            raise ComputeError(f"<{tag[2]}> in a figure's text is drawn by Chromium alone")
        elif tag[2] in _RAISED:
            raised = "" if tag[1] else _RAISED[tag[2]]
        elif tag[2] == "span":
            look = (size, color) if tag[1] else _look(tag[3], size, color)
            if not tag[1]:
                found[-1] = replace(found[-1], size=look[0], color=look[1])
    return found


def _look(style: str, size: float, color: str) -> tuple[float, str]:
    sized, colored = _SIZE.search(style), _COLOR.search(style)
    return float(sized[1]) if sized else size, colored[1] if colored else color


def _set(text: str, raised: str) -> str:
    plain = html.unescape(text)
    if not raised or not plain:
        return plain.replace("$", r"\$")
    kept = re.sub(r"([\\{}$%#&_^~])", r"\\\1", plain).replace(" ", r"\ ")
    return f"${raised}{{\\mathrm{{{kept}}}}}$"


def height(marked: str, size: float) -> float:
    """Pixels that a text takes from top to bottom."""
    return sum(LINE * line.size for line in lines(marked, size, "black"))


def put(
    figure: "Figure",
    marked: str,
    x: float,
    y: float,
    *,
    size: float,
    color: str,
    across: str = "left",
    up: str = "top",
    opacity: float = 1.0,
    upright: bool = False,
    widest: float = float("inf"),
) -> "list[Text]":
    """Set a text at a place of the picture.

    Args:
        figure: what is drawn on.
        marked: the text, with plotly's markup.
        x: pixels from the left.
        y: pixels from the bottom.
        size: of the letters, in pixels.
        color: of the letters.
        across: which end of it lies at x: left, center or right.
        up: which end lies at y: top, middle or bottom.
        opacity: of the letters.
        upright: turned to the left, as titles of y axes are; x is then the lowest line's ground.
        widest: pixels that a line may take; a longer text has smaller letters.
    """
    width, tall = (side * 100 for side in figure.get_size_inches())
    told = lines(marked, size, color)
    shrunk = min(1.0, widest / max(1.0, *(_width(figure, line) for line in told)))
    whole = sum(LINE * line.size * shrunk for line in told)
    top = {"top": 0.0, "middle": whole / 2, "bottom": whole}[up]
    made = []
    for line in told:
        step = LINE * line.size * shrunk
        top -= step / 2
        at = (x - top, y) if upright else (x, y + top)
        top -= step / 2
        if line.text.strip():
            made.append(
                figure.text(
                    at[0] / width,
                    at[1] / tall,
                    line.text,
                    **replace(line, size=line.size * shrunk).look,
                    color=rgba(line.color, opacity),
                    ha="center" if upright else across,
                    va="center",
                    rotation=90 if upright else 0,
                )
            )
    return made


def _width(figure: "Figure", line: Line) -> float:
    """Pixels that a line takes at its own size."""
    if not line.text.strip():
        return 0.0
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    text = figure.text(0, 0, line.text, **line.look)
    canvas = figure.canvas if isinstance(figure.canvas, FigureCanvasAgg) else None
    renderer = (canvas or FigureCanvasAgg(figure)).get_renderer()
    found = float(text.get_window_extent(renderer).width)
    text.remove()
    return found


def width(figure: "Figure", marked: str, size: float) -> float:
    """Pixels that the longest line of a text takes."""
    return max(_width(figure, line) for line in lines(marked, size, "black"))
