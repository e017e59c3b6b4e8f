"""A pair's raw score beside those that random bases get with the same Jacobian."""

import numpy as np
import plotly.graph_objects as go

from coupling_core.analysis.random_bases import random_scores
from coupling_core.analysis.scores import score_pairs
from coupling_core.base.records import View
from coupling_core.base.results import DepthResult
from coupling_core.figures import style
from coupling_core.figures.words import subject


def random_bases(
    result: DepthResult, pair: tuple[int, int], view: View, count: int, seed: int = 0
) -> go.Figure:
    """The scores as points on a line from 0 to 1, with the chance floor.

    Args:
        result: with the Jacobian of the pair's first block.
        pair: block of the Jacobian and block of the basis.
        view: K and definition.
        count: how many random bases.
        seed: of the draws.

    Returns:
        a figure with the traces "random" and "pair", and a line at the floor.

    Raises:
        InputError: where K or a block is not in the result.
    """
    found = score_pairs(result, view)
    at = tuple(block - 1 for block in pair)
    own, floor = float(found.coupling[at]), float(found.chance[at])
    drawn = random_scores(result, pair[0], view, count, seed)
    told = f"{count} random bases" if count != 1 else "one random basis"
    between = f" from {drawn.min():.3f} to {drawn.max():.3f}" if count else ""
    figure = style.new_figure(
        f"Raw scores of block {pair[0]} of {subject(result)}: {own:.3f} in the basis of block "
        f"{pair[1]}, the chance floor {floor:.3f}, and {told}{between}.",
        f"Raw scores of block {pair[0]}'s Jacobian: in the basis of block {pair[1]}, and in bases "
        "drawn at random, which lie so close together that they look like one. The dotted line is "
        "the score that a random basis gets on average; heights mean nothing.",
        height=260,
        xaxis=style.axis(
            f"Raw score c ({style.score_terms(view)})", range=[-0.02, 1.02], dtick=0.2
        ),
        yaxis={"visible": False, "range": [-1, 1.6]},
    )
    spread = np.random.default_rng(seed).uniform(-0.5, 0.5, count)
    figure.add_trace(
        go.Scatter(
            x=drawn, y=spread, mode="markers", name="random bases",
            marker={"color": style.INK, "size": 9}, hovertemplate="%{x:.3f}<extra></extra>",
        )
    )  # fmt: skip
    figure.add_trace(
        go.Scatter(
            x=[own], y=[0], mode="markers", name=f"basis of block {pair[1]}",
            marker={"color": style.ACCENT, "size": 16, "symbol": "diamond"},
            hovertemplate="%{x:.3f}<extra></extra>",
        )
    )  # fmt: skip
    figure.update_traces(showlegend=True)
    figure.add_vline(floor, line=style.DOTTED, name="floor")
    return figure
