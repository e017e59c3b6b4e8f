"""Two results side by side: their maps in one range, the difference, and one pair's spectra."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from coupling_core.analysis.alignment import differences
from coupling_core.analysis.compare import Comparison
from coupling_core.base.records import AnyView, resolve_block
from coupling_core.base.results import Result
from coupling_core.base.units import with_difference, with_minus
from coupling_core.figures import style, words
from coupling_core.figures.maps import scores
from coupling_core.figures.score_squares import ScoreSquare
from coupling_core.figures.spectrum import SPECTRUM, by_index, spectrum_line
from coupling_core.figures.squares import Square, panels

if TYPE_CHECKING:  # half a second to import
    from pandas import DataFrame

SPECTRA = replace(
    SPECTRUM,
    caption="Singular values of the Jacobians of the pair on a log axis. The steeper a line, the "
    "fewer directions its block acts on; coupling does not depend on their scale.",
)
DIFFERENCES = (
    "red where A is coupled more, blue where B is, and the colour of the page where the two agree. "
    "Differences beyond the colour bar are drawn in the colours at its ends."
)
MATCHED = (
    " Blocks of the shallower model are matched with the nearest relative depth (l - 1) / (L - 1) "
    "of the deeper; pairs are named by A's numbers."
)
ITSELF = {"block": "a block with itself: 1 in both", "token": "a Jacobian with itself"}
"""Why a map of differences does not colour its diagonal."""
PAPER_WIDTH = 1140
"""Of all three maps in a file, in pixels."""


def compared_map(
    found: Comparison, side: str, *, selected: tuple[int, int] | None = None
) -> go.Figure:
    """The map of A or of B on the blocks that are matched; pairs are in A's numbers on both."""
    result, own = (found.a, found.a_scores) if side == "A" else (found.b, found.b_scores)
    figure = scores(result, own.view, corrected=found.corrected)
    square, meta = _square(found), figure.layout.meta
    figure.update_traces(customdata=square.numbers(), selector={"name": "pairs"})
    return figure.update_layout(
        shapes=square.outlines(selected), meta=meta | {"alt": f"{side}: {meta['alt']}"}
    )


def difference(found: Comparison, *, selected: tuple[int, int] | None = None) -> go.Figure:
    """A - B of every pair, in a diverging range round 0; pairs are in A's numbers."""
    square = _square(found)
    apart = square.take(found.difference)
    why = np.select(
        [square.take(found.itself), np.isnan(apart)],
        [ITSELF[square.noun], "no score in one of the two"],
        "",
    )
    score, limit = style.score_name(found.corrected).lower(), style.DIFFERENCE_LIMIT
    ticks, terms = style.open_ends(-limit, limit, 5), style.score_terms(found.view)
    look = style.scale(-limit, limit, style.DIVERGING, f"A - B, {score}", terms, **ticks)
    shown = np.where(why == "", apart, np.nan).astype(np.float32)
    colors = square.heatmap(shown, **look, hoverinfo="skip", name="difference")
    pairs = "pair of tokens" if square.texts else "pair"
    return square.figure(
        f"Map of A - B, the {score}. {found.verdict}",
        f"A - B of every {pairs}: {DIFFERENCES}{MATCHED * (not found.same_depth)}",
        square.traces(colors, why, _hover_texts(found, square)),
        height=640 if square.texts else 600,
        selected=selected,
        told=of_two(found.a, found.b, found.view),
    )


def comparison(found: Comparison) -> go.Figure:
    """A, B and A - B in one figure, for a file."""
    parts = [*(compared_map(found, side) for side in "AB"), difference(found)]
    blocks = (found.a_scores.numbers, found.b_scores.numbers, found.a_scores.numbers)
    maps = [
        (Square(rows=own, columns=own), [trace for trace in part.data if trace.name != "pairs"])
        for own, part in zip(blocks, parts, strict=True)
    ]
    whole = panels(maps, ("A", "B", "A - B"), spacing=0.07, most=8)
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
    """Singular values of the blocks l and l' of A, and of their partners in B, over each other."""
    looks = [
        (color, dash, part)
        for color in (style.ACCENT, style.SECOND)
        for dash, part in (("solid", "Jacobian"), ("dot", "basis"))
    ]
    lines = zip(_pair_spectra(found, block, basis), looks, strict=True)
    series = [
        spectrum_line(s, f"{where} ({part})", where, None, color=color, width=2.5, dash=dash)
        for (where, s), (color, dash, part) in lines
    ]
    of = f"{found.a.subject} (A) and {found.b.subject} (B)"
    told = of_two(found.a, found.b, found.view)
    return by_index(series, found.view, of, SPECTRA, told=told)


def pair_spectra_table(found: Comparison, block: int, basis: int) -> "DataFrame":
    """Twin of `spectra`: a row an index k, as far as both models have it, a column a line."""
    from pandas import DataFrame

    k = min(found.a.k_max, found.b.k_max)
    named = {where: s[:k] for where, s in _pair_spectra(found, block, basis)}
    return DataFrame({"k": range(1, k + 1), **named})


def _pair_spectra(
    found: Comparison, block: int, basis: int
) -> list[tuple[str, Float[np.ndarray, " k"]]]:
    """Singular values of two blocks of A, and of their partners in B, by what the mouse says."""
    own = [resolve_block(each, found.a.n_blocks) for each in (block, basis)]
    partners = [found.partner(number) for number in own]
    return [
        (f"{side}, block {number}", result.singular_values[number - 1])
        for side, result, numbers in (("A", found.a, own), ("B", found.b, partners))
        for number in numbers
    ]


def of_two(a: Result, b: Result, view: AnyView, more: str = "") -> dict[str, object]:
    """Of which two results a figure is, and in what they differ."""
    left, right = (words.provenance(result, view) for result in (a, b))
    return {
        "title": f"{a.subject} against {b.subject}",
        "source": f"A: {left}. B: {right}. Between them: {'; '.join(differences(a, b))}.{more}",
    }


def _square(found: Comparison) -> ScoreSquare:
    """The pairs in A's numbers; of many tokens those that fit."""
    square = ScoreSquare.of(found.a_scores)
    titles = ("Token of the Jacobian", "Token of the basis") if square.texts else square.titles
    return replace(square, titles=titles)


def _hover_texts(found: Comparison, square: ScoreSquare) -> list[str]:
    """Both scores and their difference, row by row."""
    maps = np.stack([*map(square.take, (found.a_values, found.b_values, found.difference))], -1)
    theirs, between, texts = found.b_scores.numbers, "<br>" if square.texts else " ", []
    for i, j in np.ndindex(maps.shape[:2]):
        row, column = square.name(square.rows[i]), square.name(square.columns[j])
        other = f" (blocks {theirs[i]} and {theirs[j]})" * (not found.same_depth)
        x, y, less = maps[i, j].tolist()
        a, b, apart = with_difference(x, y, less)
        texts.append(
            f"Jacobian of {row}{between}in the basis of {column}<br>"
            f"A {a}, B{other} {b}<br>A - B {'+' * (less > 0)}{apart}"
        )
    return [with_minus(text) for text in texts]
