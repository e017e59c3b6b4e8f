"""Two results side by side: their maps in one range, the difference, and one pair's spectra."""

from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from coupling_core.analysis.alignment import differences
from coupling_core.analysis.compare import Comparison, TokenComparison
from coupling_core.base.records import AnyView, resolve_block
from coupling_core.base.results import Result
from coupling_core.base.units import with_difference, with_minus
from coupling_core.figures import cells, pairs, style, words
from coupling_core.figures.scores import scores
from coupling_core.figures.spectrum import line, plot
from coupling_core.figures.tokens import axes

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
    figure.data = [trace for trace in figure.data if trace.name != "pairs"]
    _select(figure, found, selected, pairs.hover_texts(result, own))
    meta = figure.layout.meta
    return figure.update_layout(meta=meta | {"alt": f"{side}: {meta['alt']}"})


def difference(found: Comparison, *, selected: tuple[int, int] | None = None) -> go.Figure:
    """A - B of every pair, in a diverging range round 0.

    Args:
        found: the comparison.
        selected: the pair (l, l') to outline, in A's numbers.

    Returns:
        a figure whose first trace is the map and whose trace "pairs" takes clicks, with
        customdata [l, l'] in A's numbers.
    """
    itself = pairs.itself(found.a_scores) | pairs.itself(found.b_scores)
    z = np.where(itself, np.nan, found.difference).astype(np.float32)
    blocks = found.a_scores.blocks
    at = np.arange(len(blocks), dtype=np.float64)
    matched = (
        " Blocks of the shallower model are matched with the nearest relative depth "
        "(l - 1) / (L - 1) of the deeper; pairs are named by A's numbers."
    )
    figure = style.new_figure(
        f"Map of A - B, the {style.score_name(found.corrected).lower()}. {found.verdict}",
        f"A - B of every pair: {cells.DIFFERENCES_READ}{matched * (not found.same_depth)}",
        height=600,
        **pairs.axes(at, blocks, side=1),
    )
    figure.add_trace(
        cells.differences(at, at, z, found.view, corrected=found.corrected, hoverinfo="skip")
    )
    reasons = ["a block with itself: 1 in both"] * bool(itself.any())
    reasons += ["no score in one of the two"] * bool((np.isnan(z) & ~itself).any())
    if reasons:
        figure.add_trace(cells.grey(at, at, np.isnan(z), ", or ".join(reasons)))
    _select(figure, found, selected, _hover_texts(found))
    return of_two(style.fix_margins(figure), found.a, found.b, found.view)


def comparison(found: Comparison) -> go.Figure:
    """A, B and A - B in one figure, for a file."""
    panels = [*(compared_map(found, side) for side in SIDES), difference(found)]
    whole = make_subplots(1, 3, subplot_titles=PANELS, horizontal_spacing=0.07)
    named: set[str] = set()
    for column, panel in enumerate(panels, 1):
        own = found.b_scores.blocks if column == 2 else found.a_scores.blocks
        layout = pairs.axes(np.arange(len(own), dtype=np.float64), own, side=1, most=8)
        for trace in panel.data:
            if trace.name == "pairs":
                continue
            # A reason for grey cells stands once in the legend, however many maps have such cells.
            trace.showlegend = bool(trace.showlegend) and trace.name not in named
            named |= {trace.name} if trace.showlegend else set()
            whole.add_trace(trace, row=1, col=column)
        whole.update_xaxes(layout["xaxis"], row=1, col=column)
        anchor = "x" if column == 1 else f"x{column}"
        whole.update_yaxes(layout["yaxis"], row=1, col=column, scaleanchor=anchor)
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
        meta=panels[-1].layout.meta,
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
    lines = []
    for side, result, color, numbers in (
        ("A", found.a, style.ACCENT, (block, basis)),
        ("B", found.b, style.SECOND, (found.partner(block), found.partner(basis))),
    ):
        for number, dash, part in zip(
            numbers, ("solid", "dot"), ("Jacobian", "basis"), strict=True
        ):
            drawn = line(result.singular_values[number - 1], f"{side}, block {number}")
            look = {"line": {"width": 2.5, "color": color, "dash": dash}, "showlegend": None}
            lines.append(drawn.update(name=f"{drawn.name} ({part})", **look))
    first = (f"{of.y[0]:.3g} ({of.name})" for of in lines)
    figure = plot(
        f"Singular values of two blocks of A, {words.subject(found.a)}, and of B, "
        f"{words.subject(found.b)}, by index on a log axis. The largest are {', '.join(first)}.",
        "Singular values of the Jacobians of the pair on a log axis. The steeper a line, the "
        "fewer directions its block acts on; coupling does not depend on their scale.",
        found.view,
        np.concatenate([of.y for of in lines]),
        height=480,
    )
    figure.add_traces(lines)
    return of_two(figure, found.a, found.b, found.view)


def token_difference(found: TokenComparison) -> go.Figure:
    """A - B of every pair of tokens, in a diverging range round 0.

    Returns:
        a figure whose first trace is the map, with the tokens' texts on its axes.
    """
    shown = axes.window(found.a, None)
    at = np.ix_(*(np.array(shown) - 1,) * 2)
    z = np.where(found.counted, found.difference, np.nan)[at].astype(np.float32)
    figure = style.new_figure(
        found.verdict,
        f"A - B of every pair of tokens: {cells.DIFFERENCES_READ}",
        height=640,
        **axes.axes(found.a.tokens, shown, shown, "Token of the Jacobian|Token of the basis"),
    )
    x = np.arange(len(shown))
    hover = {
        "customdata": np.dstack([found.a_values[at], found.b_values[at]]),
        "hovertemplate": "A %{customdata[0]:.3f}, B %{customdata[1]:.3f}<br>A - B %{z:.3f}"
        "<extra></extra>",
    }
    figure.add_trace(cells.differences(x, x, z, found.view, corrected=found.corrected, **hover))
    if np.isnan(z).any():
        reason = "a Jacobian with itself, or no score in one of the two"
        figure.add_trace(cells.grey(x, x, np.isnan(z), reason))
    return axes.fix_margins(of_two(figure, found.a, found.b, found.view))


def of_two(figure: go.Figure, a: Result, b: Result, view: AnyView, more: str = "") -> go.Figure:
    """A figure that says of which two results it is, and in what they differ."""
    left, right = (words.provenance(result, view) for result in (a, b))
    source = f"A: {left}. B: {right}. Between them: {'; '.join(differences(a, b))}.{more}"
    title = f"{words.subject(a)} against {words.subject(b)}"
    return figure.update_layout(meta=figure.layout.meta | {"title": title, "source": source})


def _select(
    figure: go.Figure, found: Comparison, selected: tuple[int, int] | None, texts: list[str]
) -> None:
    """Let a map be hovered and clicked in A's numbers, and outline the selected pair."""
    blocks = found.a_scores.blocks
    at = np.arange(len(blocks), dtype=np.float64)
    if selected and set(selected) <= set(blocks):
        figure.add_shape(pairs.outline(blocks, at, selected, side=1))
    figure.add_trace(cells.squares(at, at, blocks, blocks, texts))


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
