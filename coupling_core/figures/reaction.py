"""How strongly a block reacts to small moves of its input, direction by direction."""

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from coupling_core.base.records import resolve_block
from coupling_core.base.results import DepthResult
from coupling_core.figures import style
from coupling_core.figures.words import subject


def reactions(result: DepthResult, block: int) -> Float[np.ndarray, " k"]:
    """Singular values of a block's Jacobian, in units of its reaction to a random direction.

    Args:
        result: with the Jacobian.
        block: l, 1..L.

    Returns:
        s_k / (norm_F(J) / sqrt d), the largest first; without a unit.
    """
    usual = result.jacobian_norm[block - 1] / np.sqrt(result.width)
    return result.singular_values[block - 1].astype(np.float64) / usual


def reaction(result: DepthResult, block: int) -> go.Figure:
    """The reactions of one block as a curve, with a line at that to a random direction.

    Args:
        result: with the Jacobian.
        block: l, 1..L.

    Raises:
        InputError: where the model has no such block.
    """
    block = resolve_block(block, result.n_blocks)
    found = reactions(result, block)
    at = np.arange(1, len(found) + 1)
    figure = style.new_figure(
        f"Reactions of block {block} of {subject(result)} along its {len(found)} leading "
        f"directions: {found[0]:.1f} times that to a random direction along the first, "
        f"{found[-1]:.1f} times along the last.",
        "How much the block's output moves when its input is moved a little, along its "
        f"{len(found)} strongest directions of {result.width}; 1 is what a random direction gives.",
        height=360,
        xaxis=style.axis("Direction k, the strongest first", range=[0, len(found) + 1]),
        yaxis=style.axis("Times a random direction", rangemode="tozero"),
    )
    figure.add_trace(style.line(at, found, f"block {block}", style.ACCENT))
    figure.add_hline(1, line=style.DOTTED, name="random")
    return figure
