"""Two results side by side: their maps in one range, the difference, and one pair's spectra."""

from dataclasses import replace

import numpy as np
import plotly.graph_objects as go

from coupling_core.analysis.alignment import differences
from coupling_core.analysis.compare import Comparison, TokenComparison
from coupling_core.base.records import AnyView, resolve_block
from coupling_core.base.results import Result
from coupling_core.base.units import with_difference, with_minus
from coupling_core.figures import style, words
from coupling_core.figures.maps import scores
from coupling_core.figures.score_squares import window
from coupling_core.figures.spectrum import SPECTRUM, by_index, spectrum_line
from coupling_core.figures.squares import DIFFERENCES_READ, Square, difference_look, grey, panels

SPECTRA = replace(
    SPECTRUM,
    caption="Singular values of the Jacobians of the pair on a log axis. The steeper a line, the "
    "fewer directions its block acts on; coupling does not depend on their scale.",
)
SIDES = ("A", "B")
PANELS = ("A", "B", "A - B")
PAPER_WIDTH = 1140
"""Of all three maps in a file, in pixels."""


def compared_map(
    found: Comparison, side: str, *, selected: tuple[int, int] | None = None
) -> go.Figure:
    """The score map of A or of B on the blocks that are matched, in the fixed range.

    Args:
        found: the comparison.
        side: "A" or "B".
        selected: the pair (l, l') to outline, in A's numbers.

    Returns:
        the map of `scores`, whose customdata is [l, l'] in A's numbers on both sides.
    """
    result, own = (found.a, found.a_scores) if side == "A" else (found.b, found.b_scores)
    figure = scores(result, replace(found.view, blocks=own.blocks), corrected=found.corrected)
    square, meta = _square(found), figure.layout.meta
    figure.update_traces(customdata=square.numbers(), selector={"name": "pairs"})
    return figure.update_layout(
        shapes=square.outlines(selected), meta=meta | {"alt": f"{side}: {meta['alt']}"}
    )


def difference(found: Comparison, *, selected: tuple[int, int] | None = None) -> go.Figure:
    """A - B of every pair, in a diverging range round 0.

    Args:
        found: the comparison.
        selected: the pair (l, l') to outline, in A's numbers.

    Returns:
        a figure whose first trace is the map and whose trace "pairs" takes clicks, with
        customdata [l, l'] in A's numbers.
    """
    itself = [np.equal.outer(own.blocks, own.blocks) for own in (found.a_scores, found.b_scores)]
    why = np.select(
        [itself[0] | itself[1], np.isnan(found.difference)],
        ["a block with itself: 1 in both", "no score in one of the two"],
        "",
    )
    z = np.where(why == "", found.difference, np.nan).astype(np.float32)
    square, look = _square(found), difference_look(found.view, corrected=found.corrected)
    matched = (
        " Blocks of the shallower model are matched with the nearest relative depth "
        "(l - 1) / (L - 1) of the deeper; pairs are named by A's numbers."
    )
    return square.figure(
        f"Map of A - B, the {style.score_name(found.corrected).lower()}. {found.verdict}",
        f"A - B of every pair: {DIFFERENCES_READ}{matched * (not found.same_depth)}",
        square.traces(square.heatmap(z, **look, hoverinfo="skip"), why, _hover_texts(found)),
        height=600,
        selected=selected,
        told=of_two(found.a, found.b, found.view),
    )


def comparison(found: Comparison) -> go.Figure:
    """A, B and A - B in one figure, for a file."""
    parts = [*(compared_map(found, side) for side in SIDES), difference(found)]
    blocks = (found.a_scores.blocks, found.b_scores.blocks, found.a_scores.blocks)
    maps = [
        (Square(rows=own, columns=own), [trace for trace in part.data if trace.name != "pairs"])
        for own, part in zip(blocks, parts, strict=True)
    ]
    whole = panels(maps, PANELS, spacing=0.07, most=8)
    whole.update_yaxes(title_text="", selector=lambda axis: axis.anchor != "x")
    # One colour bar for the two maps, and one for the difference.
    left, right, apart = (trace for trace in whole.data if trace.showscale is None)
    right.showscale = False
    left.colorbar.update(y=1.1, len=260)
    apart.colorbar.update(y=1.1, len=260, x=whole.layout.xaxis3.domain[0])
    return whole.update_layout(
        legend=style.BELOW,
        template=style.TEMPLATE,
        width=PAPER_WIDTH,
        height=520,
        meta=parts[-1].layout.meta,
    )


def spectra(found: Comparison, block: int, basis: int) -> go.Figure:
    """Singular values of the two blocks of one pair, of A and of B over each other.

    Args:
        found: the comparison.
        block: l, in A's numbers.
        basis: l', in A's numbers.

    Returns:
        a figure with a line a block and result, named after them.

    Raises:
        InputError: where a block is none of those compared.
    """
    block, basis = (resolve_block(each, found.a.n_blocks) for each in (block, basis))
    series = [
        spectrum_line(
            result.singular_values[number - 1], f"{side}, block {number} ({part})", color, 2.5,
            dash, where=f"{side}, block {number}", listed=None,
        )
        for side, result, color, numbers in (
            ("A", found.a, style.ACCENT, (block, basis)),
            ("B", found.b, style.SECOND, (found.partner(block), found.partner(basis))),
        )
        for number, dash, part in zip(numbers, ("solid", "dot"), ("Jacobian", "basis"), strict=True)
    ]  # fmt: skip
    figure = by_index(
        series,
        found.view,
        f"{words.subject(found.a)} (A) and {words.subject(found.b)} (B)",
        SPECTRA,
    )
    told = of_two(found.a, found.b, found.view)
    return figure.update_layout(meta=figure.layout.meta | told)


def token_difference(found: TokenComparison) -> go.Figure:
    """A - B of every pair of tokens, in a diverging range round 0.

    Returns:
        a figure whose first trace is the map, with the tokens' texts on its axes.
    """
    shown = window(found.a, None)
    titles = "Token of the Jacobian", "Token of the basis"
    square = Square(rows=shown, columns=shown, titles=titles, texts=found.a.tokens)
    at = np.ix_(*(np.array(shown) - 1,) * 2)
    z = np.where(found.counted, found.difference, np.nan)[at].astype(np.float32)
    colors = square.heatmap(
        z,
        **difference_look(found.view, corrected=found.corrected),
        customdata=np.dstack([found.a_values[at], found.b_values[at]]),
        hovertemplate="A %{customdata[0]:.3f}, B %{customdata[1]:.3f}<br>A - B %{z:.3f}"
        "<extra></extra>",
    )
    reason = np.full(z.shape, "a Jacobian with itself, or no score in one of the two")
    empty = [grey(square.x, square.y, np.isnan(z), reason)] if np.isnan(z).any() else []
    return square.figure(
        found.verdict,
        f"A - B of every pair of tokens: {DIFFERENCES_READ}",
        [colors, *empty],
        height=640,
        told=of_two(found.a, found.b, found.view),
    )


def of_two(a: Result, b: Result, view: AnyView, more: str = "") -> dict[str, object]:
    """Of which two results a figure is, and in what they differ."""
    left, right = (words.provenance(result, view) for result in (a, b))
    return {
        "title": f"{words.subject(a)} against {words.subject(b)}",
        "source": f"A: {left}. B: {right}. Between them: {'; '.join(differences(a, b))}.{more}",
    }


def _square(found: Comparison) -> Square:
    """The pairs in A's numbers."""
    return Square(rows=found.a_scores.blocks, columns=found.a_scores.blocks)


def _hover_texts(found: Comparison) -> list[str]:
    """Both scores and their difference, row by row."""
    ours, theirs = found.a_scores.blocks, found.b_scores.blocks
    texts = []
    for i, j in np.ndindex(found.difference.shape):
        other = "" if found.same_depth else f" (blocks {theirs[i]} and {theirs[j]})"
        less = float(found.difference[i, j])
        a, b, apart = with_difference(
            float(found.a_values[i, j]), float(found.b_values[i, j]), less
        )
        texts.append(
            f"Jacobian of block {ours[i]} in the basis of block {ours[j]}<br>"
            f"A {a}, B{other} {b}<br>A - B {'+' * (less > 0)}{apart}"
        )
    return [with_minus(text) for text in texts]
