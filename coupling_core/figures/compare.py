"""Two results side by side: their maps in one range, the difference, and one pair's spectra."""

from dataclasses import replace

import numpy as np
import plotly.graph_objects as go

from coupling_core.analysis.compare import Comparison, differences, summarise
from coupling_core.base.records import View, resolve_block
from coupling_core.base.units import counted, rounded, with_difference, with_minus
from coupling_core.figures import style, words
from coupling_core.figures.maps import scores
from coupling_core.figures.spectrum import SPECTRUM, by_index, spectrum_line
from coupling_core.figures.squares import DIFFERENCES_READ, Square, difference_look, panels

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
    figure = scores(result, _view_of(found, own.blocks), corrected=found.corrected)
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
    figure = square.figure(
        difference_alt(found),
        difference_caption(found),
        square.traces(square.heatmap(z, **look, hoverinfo="skip"), why, _hover_texts(found)),
        height=600,
        selected=selected,
    )
    return _told(figure, found)


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
    _share_bars(whole)
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
    return _told(figure, found)


def difference_alt(found: Comparison) -> str:
    """What the difference comes to, in numbers."""
    of = summarise(found)
    a, b, apart = with_difference(of.a, of.b, of.difference)
    return (
        f"Map of A - B, the {style.score_name(found.corrected).lower()} "
        f"({style.score_terms(found.view)}) of {words.subject(found.a)} less that of "
        f"{words.subject(found.b)}, for {len(found.a_scores.blocks)} by "
        f"{counted(len(found.a_scores.blocks), 'block')}. Over {counted(of.pairs, 'pair')} l ≠ "
        f"l' the means are {a} and {b}, their difference {apart}; the two maps "
        f"correlate with r = {rounded(of.correlation, 2)}."
    )


def difference_caption(found: Comparison) -> str:
    """How the difference is read."""
    matched = (
        ""
        if found.same_depth
        else " Blocks of the shallower model are matched with the nearest relative depth "
        "(l - 1) / (L - 1) of the deeper; pairs are named by A's numbers."
    )
    return f"A - B of every pair: {DIFFERENCES_READ}{matched}"


def source(found: Comparison) -> str:
    """Where the numbers come from: both measurements, and in what they differ."""
    left, right = (words.provenance(result, found.view) for result in (found.a, found.b))
    return f"A: {left}. B: {right}. Between them: {'; '.join(differences(found.a, found.b))}."


def _told(figure: go.Figure, found: Comparison) -> go.Figure:
    title = f"{words.subject(found.a)} against {words.subject(found.b)}"
    meta = figure.layout.meta | {"title": title, "source": source(found)}
    return figure.update_layout(meta=meta)


def _view_of(found: Comparison, blocks: tuple[int, ...]) -> View:
    return replace(found.view, blocks=blocks)


def _square(found: Comparison) -> Square:
    """The pairs in A's numbers."""
    return Square(rows=found.a_scores.blocks, columns=found.a_scores.blocks)


def _hover_texts(found: Comparison) -> list[str]:
    """Both scores and their difference, row by row."""
    a, b, apart = found.a_values, found.b_values, found.difference
    ours, theirs = found.a_scores.blocks, found.b_scores.blocks
    texts = []
    for i, j in np.ndindex(apart.shape):
        other = "" if found.same_depth else f" (blocks {theirs[i]} and {theirs[j]})"
        ours_is, theirs_is, less = with_difference(
            float(a[i, j]), float(b[i, j]), float(apart[i, j])
        )
        texts.append(
            f"Jacobian of block {ours[i]} in the basis of block {ours[j]}<br>"
            f"A {ours_is}, B{other} {theirs_is}<br>A - B {'+' * bool(apart[i, j] > 0)}{less}"
        )
    return [with_minus(text) for text in texts]


def _share_bars(whole: go.Figure) -> None:
    """One colour bar for the two maps, and one for the difference."""
    maps = [trace for trace in whole.data if trace.showscale is None]
    left, right, apart = maps
    right.showscale = False
    left.colorbar.update(y=1.1, len=260)
    apart.colorbar.update(y=1.1, len=260, x=whole.layout.xaxis3.domain[0])
