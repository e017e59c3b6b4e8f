"""Maps of a square: a row is the Jacobian of a block or a token, a column the basis of one.

Row 1 is at the top. Over the colours lie the cells without one, with their reasons in the legend,
and an invisible map that answers the mouse.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Real, Shaped
from plotly.subplots import make_subplots

from coupling_core.base.records import View
from coupling_core.figures import style
from coupling_core.figures.words import numbered
from coupling_core.sources.tokens import visible

FORBIDDEN = "forbidden by causality"
LABELS = 96  # pixels that the tokens' texts take beside an axis, with its title
BAR = 200  # pixels of the colour bar, which these labels leave on a small screen
BEYOND = "Entries beyond the colour bar are drawn in the colour at its end."

Reasons = Shaped[np.ndarray, "row column"]  # why a cell has no colour; "" where it has one
Traces = Sequence[go.Heatmap | go.Scatter]


@dataclass(frozen=True, eq=False, kw_only=True)
class Square:
    """Where the cells lie, by the numbers of their blocks or tokens, and what their axes say."""

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    titles: tuple[str, str] = ("Jacobian of block l", "Basis of block l'")
    texts: tuple[str, ...] = ()  # of the prompt's tokens; none of blocks
    side: int = 1  # units of the axes that a cell takes: 1, or the entries of its matrix
    gap: int = 0  # units between two cells

    @property
    def noun(self) -> str:
        """What is numbered: "block" or "token"."""
        return "token" if self.texts else "block"

    @property
    def pitch(self) -> int:
        """Units from the centre of a cell to that of the next."""
        return self.side + self.gap

    @property
    def x(self) -> Real[np.ndarray, " column"]:
        """Centres of the columns."""
        return self._centres(self.columns)

    @property
    def y(self) -> Real[np.ndarray, " row"]:
        """Centres of the rows."""
        return self._centres(self.rows)

    def _centres(self, numbers: Sequence[int]) -> Real[np.ndarray, " cell"]:
        return (self.side - 1) / 2 + self.pitch * np.arange(len(numbers))

    def name(self, number: int) -> str:
        """A block, or a token with its text."""
        text = f": “{escape(visible(self.texts[number - 1]))}”" if self.texts else ""
        return f"{self.noun} {number}{text}"

    def axes(self, most: int = 16) -> dict[str, object]:
        """Square axes with the texts of all tokens, or with at most `most` numbers of blocks."""
        step = 1 if self.texts else -(-len(self.columns) // most)
        y_title, x_title = self.titles
        if not self.texts and len(self.columns[::step]) in (2, 4, 6):
            x_title = f"<br>{x_title}"  # plotly sets it between two numbers where it has the room

        def axis(title: str, numbers: Sequence[int]) -> dict[str, Any]:
            at, labels = self._centres(numbers), [str(number) for number in numbers]
            if self.texts:
                labels = [numbered(number, self.texts[number - 1]) for number in numbers]
            return {
                "title": {"text": title},
                "tickvals": at[::step],
                "ticktext": labels[::step],
                "range": [at[0] - self.pitch / 2, at[-1] + self.pitch / 2],
                **({"tickfont": {"size": 11}, "ticklen": 2} if self.texts else {}),
            }

        x_axis = axis(x_title, self.columns) | {"tickangle": -90 if self.texts else 0}
        return square_axes(x_axis, axis(y_title, self.rows))

    def heatmap(self, z: Real[np.ndarray, "row column"], **look: object) -> go.Heatmap:
        """A heatmap with a number a cell."""
        return go.Heatmap(x=self.x, y=self.y, z=z, **look)

    def traces(self, colors: go.Heatmap, why: Reasons, texts: Sequence[str]) -> Traces:
        """The colours, what covers the cells without one, and "pairs", which answers the mouse."""
        forbidden = why == FORBIDDEN
        empty = (why != "") & ~forbidden
        drawn: list[go.Heatmap | go.Scatter] = [colors]
        if forbidden.any():
            drawn.append(self._hatched(forbidden))
        if empty.any():
            gap = min(self.gap, 1)
            drawn.append(grey(self.x, self.y, empty, why).update(xgap=gap, ygap=gap))
        return [*drawn, self._pairs(texts)]

    def _hatched(self, which: Bool[np.ndarray, "row column"]) -> go.Scatter:
        """Hatching over the rectangle of each run of cells in a row."""
        x: list[Any] = []
        y: list[Any] = []
        half = self.pitch / 2
        for middle, row in zip(self.y, which, strict=True):
            edges = np.flatnonzero(np.diff(row, prepend=False, append=False))
            for start, stop in edges.reshape(-1, 2):
                left, right = self.x[start] - half, self.x[stop - 1] + half
                x += [left, right, right, left, None]
                y += [middle - half, middle - half, middle + half, middle + half, None]
        pattern = {"shape": "/", "size": 7, "solidity": 0.12}
        pattern |= {"fgcolor": style.INK, "bgcolor": style.NOTHING}
        look = {"fill": "toself", "fillpattern": pattern, "hoverinfo": "skip"}
        return go.Scatter(x=x, y=y, mode="none", name=FORBIDDEN, showlegend=True, **look)

    def _pairs(self, texts: Sequence[str]) -> go.Heatmap:
        """An invisible map over the cells: it carries the hover texts and takes the clicks.

        Plotly finds the cell of a heatmap from the axes, at any width and zoom; markers have a size
        in pixels, and take their neighbours' clicks where cells are smaller.
        """
        shape = len(self.rows), len(self.columns)
        cells, texts_of = np.zeros(shape, np.uint8), np.array(texts, object).reshape(shape)
        look = {"text": texts_of, "hovertemplate": "%{text}<extra></extra>", "opacity": 0}
        return self.heatmap(cells, customdata=self.numbers(), showscale=False, name="pairs", **look)

    def numbers(self) -> Shaped[np.ndarray, "row column 2"]:
        """The numbers of row and column of each cell."""
        return np.stack(np.meshgrid(self.rows, self.columns, indexing="ij"), -1)

    def outlines(self, selected: tuple[int, int] | None) -> list[dict[str, object]]:
        """A square of the accent colour round the selected cell, where it is shown."""
        if not selected or selected[0] not in self.rows or selected[1] not in self.columns:
            return []
        x, y = self.x[self.columns.index(selected[1])], self.y[self.rows.index(selected[0])]
        look = {"line": {"color": style.ACCENT, "width": 3}, "name": "selected"}
        return [rectangle(x, y, self.pitch, self.pitch) | look]

    def figure(
        self,
        alt: str,
        caption: str,
        traces: Traces,
        *,
        height: int,
        selected: tuple[int, int] | None = None,
        told: Mapping[str, object] | None = None,
    ) -> go.Figure:
        """A figure of one map, with the margins that its colour bar, labels and legend need."""
        figure = style.new_figure(alt, caption, told, height=height, **self.axes())
        figure.add_traces(traces)
        figure.update_layout(shapes=self.outlines(selected))
        if not self.texts:
            return style.fix_margins(figure)
        figure.layout.meta["below"] = LABELS
        figure.update_traces(colorbar_len=BAR, selector={"type": "heatmap", "showscale": None})
        return style.fix_margins(figure, left=LABELS + 20, below=LABELS + 20, legend=30)


def panels(
    maps: Sequence[tuple[Square, Traces]], titles: Sequence[str], *, spacing: float, most: int
) -> go.Figure:
    """Maps side by side, at most `most` numbers on an axis; the legend names each reason once."""
    figure = make_subplots(1, len(maps), subplot_titles=titles, horizontal_spacing=spacing)
    named: set[str] = set()
    for column, (square, traces) in enumerate(maps, 1):
        for trace in traces:
            if trace.showlegend:
                trace.showlegend = trace.name not in named
                named.add(trace.name)
            figure.add_trace(trace, 1, column)
        axes = square.axes(most)
        figure.update_xaxes(axes["xaxis"], row=1, col=column)
        anchor = "x" if column == 1 else f"x{column}"
        figure.update_yaxes(axes["yaxis"], scaleanchor=anchor, row=1, col=column)
    return figure


def square_axes(x: dict[str, Any], y: dict[str, Any]) -> dict[str, object]:
    """Axes of square cells, rows downwards, in the upper left of the room there is."""
    whole, down = {"constrain": "domain"}, {"range": y["range"][::-1]}
    return {
        "legend": style.BELOW,
        "xaxis": whole | {"constraintoward": "left"} | x,
        "yaxis": whole | {"constraintoward": "top", "scaleanchor": "x"} | y | down,
    }


def matrix_look(
    values: np.ndarray, view: View, terms: str, *, magnitude: bool, auto_range: bool = False
) -> dict[str, object]:
    """Colours of the entries of matrices: magnitudes from 0, else diverging round 0."""
    limit = max(map(abs, style.span(values))) if auto_range else style.MATRIX_LIMIT
    low, colors = (0.0, style.SEQUENTIAL) if magnitude else (-limit, style.DIVERGING)
    return style.scale(low, limit, colors, style.matrix_name(view, magnitude), terms)


def grey(x: np.ndarray, y: np.ndarray, which: np.ndarray, why: Reasons) -> go.Heatmap:
    """Flat grey over the cells that have no value, with the reasons in the legend."""
    return go.Heatmap(
        x=x,
        y=y,
        z=np.where(which, np.float32(0), np.float32(np.nan)),
        colorscale=[(0, style.NOT_COMPUTED), (1, style.NOT_COMPUTED)],
        showscale=False,
        hoverinfo="skip",
        showlegend=True,
        name=", or ".join(sorted(set(why[which]))),
    )


def rectangle(x: float, y: float, width: float, height: float) -> dict[str, object]:
    """A rectangle by its centre, as a plotly shape."""
    (x0, x1), (y0, y1) = (x - width / 2, x + width / 2), (y - height / 2, y + height / 2)
    return {"type": "rect", "x0": x0, "x1": x1, "y0": y0, "y1": y1}
