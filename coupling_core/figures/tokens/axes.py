"""What every map over tokens shares: their texts on the axes, hatched and grey cells, the mouse.

Rows are the token of the Jacobian, the first at the top; columns are the token of the basis.
"""

from collections.abc import Iterable
from html import escape
from operator import index
from typing import SupportsIndex

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float

from coupling_core.analysis.token_scores import PositionScores
from coupling_core.base.errors import InputError
from coupling_core.base.records import resolve_token
from coupling_core.base.results import TokenMeansResult, TokenResult, TokensResult
from coupling_core.figures import cells, style
from coupling_core.figures.token_labels import short
from coupling_core.sources.tokens import visible

MOST_SHOWN = 32
"""Tokens a side of one map; a longer prompt is looked at in windows of so many."""
LABEL = 10
"""Characters of a token on an axis; hovering tells the whole of it."""
LABELS = 96
"""Pixels that the tokens' texts take beside an axis, with its title."""
BAR = 200
"""Pixels of the colour bar, which these labels leave on a small screen."""
ITSELF = "a Jacobian with itself: always 1"

Window = tuple[int, ...]
"""Numbers of the tokens shown, 1..n, in order."""
Asked = Iterable[SupportsIndex] | SupportsIndex
"""The same as people say them: a list, a range, one number; -1 is the last token."""


def window(result: TokenResult, shown: Asked | None) -> Window:
    """The tokens shown: as told, or all, or the first that fit and have a Jacobian."""
    n = len(result.tokens)
    if shown is not None:
        try:
            numbers = [index(each) for each in (shown if isinstance(shown, Iterable) else [shown])]
        except TypeError as error:
            raise InputError(
                f"the tokens shown are their numbers, such as [1, 2] or range(1, 9), and {shown!r} "
                "came"
            ) from error
        return tuple(resolve_token(each, n) for each in numbers)
    first = 1 if n <= MOST_SHOWN else int(np.argmax(result.allowed)) + 1
    return tuple(range(first, min(n, first + MOST_SHOWN - 1) + 1))


def label(number: int, text: str) -> str:
    """A token on an axis: its number and its text, shortened."""
    return f"{short(text, LABEL)} {number}"


def axes(
    tokens: tuple[str, ...],
    rows: Window,
    columns: Window,
    blocks: str,
    pitch: int = 1,
    offset: float = 0.0,
) -> dict[str, object]:
    """Axes with the texts of the tokens, rows downwards; square cells.

    Args:
        tokens: texts of the prompt.
        rows: tokens of the Jacobian.
        columns: tokens of the basis.
        blocks: which block's the rows and the columns are, for the titles.
        pitch: units of a cell.
        offset: centre of the first cell.
    """
    row_words, column_words = blocks.split("|")

    def one(numbers: Window, title: str) -> dict[str, object]:
        return {
            "title": {"text": title},
            "tickvals": offset + pitch * np.arange(len(numbers)),
            "ticktext": [label(number, tokens[number - 1]) for number in numbers],
            "tickfont": {"size": 11},
            "ticklen": 2,
            "constrain": "domain",
        }

    def span(numbers: Window) -> list[float]:
        return [offset - pitch / 2, offset + pitch * (len(numbers) - 0.5)]

    return {
        "legend": style.BELOW,
        "xaxis": one(columns, column_words)
        | {"range": span(columns), "constraintoward": "left", "tickangle": -90},
        "yaxis": one(rows, row_words)
        | {"range": span(rows)[::-1], "scaleanchor": "x", "constraintoward": "top"},
    }


def titles(result: TokenResult) -> str:
    """Titles of the rows and of the columns."""
    row, column = ("every block",) * 2
    if isinstance(result, TokensResult):
        row, column = (f"block {block}" for block in result.blocks)
    return f"Token of the Jacobian, {row}|Token of the basis, {column}"


def empty_cells(
    result: TokensResult | TokenMeansResult,
    found: PositionScores,
    rows: Window,
    columns: Window,
    pitch: int = 1,
    offset: float = 0.0,
    *,
    diagonal: bool = True,
) -> list[go.Scatter | go.Heatmap]:
    """Hatching over what causality forbids; grey, with its reason, over what else has no colour.

    Args:
        result: where the scores come from.
        found: the scores.
        rows: tokens of the Jacobian that are shown.
        columns: tokens of the basis.
        pitch: units of a cell.
        offset: centre of the first cell.
        diagonal: whether a Jacobian against itself is grey, whatever its value.
    """
    at = np.ix_(np.array(rows) - 1, np.array(columns) - 1)
    allowed = result.allowed
    forbidden = ~(allowed[:, None] & allowed)[at]
    drawn: list[go.Scatter | go.Heatmap] = []
    if forbidden.any():
        drawn.append(_hatched(forbidden, pitch, offset))
    trivial = found.itself[at] & diagonal & ~forbidden
    empty = np.isnan(found.coupling)[at] & ~forbidden & ~trivial
    if empty.any() or trivial.any():
        why = ", or ".join([ITSELF] * bool(trivial.any()) + sorted(set(reasons(result)[at][empty])))
        x, y = (offset + pitch * np.arange(n) for n in empty.shape[::-1])
        drawn.append(cells.grey(x, y, empty | trivial, why))
    return drawn


def reasons(result: TokensResult | TokenMeansResult) -> np.ndarray:
    """Why a cell that is allowed may have no score: an array of texts (position position)."""
    if isinstance(result, TokenMeansResult):
        waiting = (result.pairs[..., 0] == 0) & (not result.complete)
        rank = np.broadcast_to(result.rank.max(0), (2, len(result.tokens)))
    else:
        waiting = np.isnan(result.diagonal[0, ..., 0])
        rank = result.rank
    zero = (rank[0] == 0)[:, None] | (rank[1] == 0)
    return np.where(
        waiting,
        "not measured yet",
        np.where(zero, "the output does not see a token", "undefined (rank below K)"),
    )


def _hatched(which: Bool[np.ndarray, "row column"], pitch: int, offset: float) -> go.Scatter:
    """Hatching over the rectangle of each run of cells in a row."""
    x: list[float | None] = []
    y: list[float | None] = []
    half = pitch / 2
    for row, one in enumerate(which):
        edges = np.flatnonzero(np.diff(np.concatenate([[False], one, [False]]).astype(int)))
        middle = offset + pitch * row
        for start, stop in edges.reshape(-1, 2):
            left, right = (offset + pitch * edge - half for edge in (start, stop))
            x += [left, right, right, left, None]
            y += [middle - half, middle - half, middle + half, middle + half, None]
    return go.Scatter(
        x=x,
        y=y,
        fill="toself",
        mode="none",
        fillpattern={
            "shape": "/",
            "fgcolor": style.INK,
            "bgcolor": "rgba(0, 0, 0, 0)",
            "size": 7,
            "solidity": 0.12,
        },
        hoverinfo="skip",
        name="forbidden by causality",
        showlegend=True,
    )


def points(
    result: TokensResult | TokenMeansResult,
    found: PositionScores,
    rows: Window,
    columns: Window,
    pitch: int = 1,
    offset: float = 0.0,
) -> go.Heatmap:
    """What carries the hover texts of the cells and takes the clicks.

    Returns:
        a trace whose customdata is [t, t'] for each cell.
    """
    why = reasons(result)
    texts = [_hover(result, found, t, other, why) for t in rows for other in columns]
    x, y = (offset + pitch * np.arange(len(numbers)) for numbers in (columns, rows))
    return cells.squares(x, y, rows, columns, texts)


def _hover(
    result: TokenResult, found: PositionScores, token: int, other: int, why: np.ndarray
) -> str:
    cell = token - 1, other - 1
    head = "".join(
        f"{what} {number}: “{escape(visible(result.tokens[number - 1]))}”<br>"
        for what, number in (("Jacobian of token", token), ("in the basis of token", other))
    )
    if not result.allowed[list(cell)].all():
        return head + "forbidden by causality"
    if np.isnan(found.coupling[cell]):
        return head + str(why[cell])
    lines = cells.score_lines(found.coupling[cell], found.chance[cell], found.corrected[cell])
    itself = f"<br>{ITSELF}" * bool(found.itself[cell])
    return head + lines + itself


def outline(
    rows: Window,
    columns: Window,
    selected: tuple[int, int] | None,
    pitch: int = 1,
    offset: float = 0.0,
) -> list[dict[str, object]]:
    """A square of the accent colour round the selected cell, where it is shown."""
    if selected is None or selected[0] not in rows or selected[1] not in columns:
        return []
    y, x = (
        offset + pitch * numbers.index(number)
        for numbers, number in zip((rows, columns), selected, strict=True)
    )
    return [cells.outline(x, y, pitch)]


def fix_margins(figure: go.Figure) -> go.Figure:
    """Give a map the margins that its colour bar, labels and legend need."""
    figure.layout.meta["below"] = LABELS
    for trace in figure.select_traces({"type": "heatmap"}):
        if trace.showscale is not False:
            trace.colorbar.len = BAR
    return style.fix_margins(figure, left=LABELS + 20, axis_below=LABELS + 20, legend=30)


def values(
    found: PositionScores, corrected: bool, rows: Window, columns: Window
) -> Float[np.ndarray, "row column"]:
    """What a map of these tokens colours: NaN where a Jacobian meets its own basis."""
    shown = np.where(found.itself, np.nan, found.corrected if corrected else found.coupling)
    return shown[np.ix_(np.array(rows) - 1, np.array(columns) - 1)].astype(np.float32)
