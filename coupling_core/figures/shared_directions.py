"""How many directions several blocks have in common."""

import numpy as np
import plotly.graph_objects as go

from coupling_core.analysis.directions import Shared
from coupling_core.figures import style
from coupling_core.figures.words import subject

_DONE = {"u": "write", "v": "read"}


def shared_directions(found: Shared) -> go.Figure:
    """The eigenvalues of the blocks' mean projection, beside what independent subspaces give.

    Args:
        found: what they share.
    """
    numbers = np.arange(1, len(found.share) + 1)
    told = f"blocks {found.blocks[0]} to {found.blocks[-1]} {_DONE[found.side]}"
    figure = style.new_figure(
        f"How much each shared direction lies in all of what {told}, {subject(found.result)}: "
        f"{found.count} are beyond chance.",
        f"Directions that {told}, the most shared first. One whose share is 1 lies among the "
        f"leading {len(numbers)} of every one of these blocks. Independent subspaces practically "
        "never share a direction above the dotted line.",
        height=340,
        xaxis={"title": {"text": "Shared direction"}},
        yaxis=style.axis("Share of the blocks") | {"range": [0, 1.02]},
    )
    trace = style.line(numbers, found.share, "shared direction", style.ACCENT)
    figure.add_trace(trace.update(hovertemplate="direction %{x}: %{y:.2f}"))
    chance = np.full(len(numbers), found.chance)
    figure.add_trace(
        style.line(numbers, chance, "by chance, at most", style.INK, 1, line_dash="dot")
    )
    return figure
