"""Principal angles between the singular subspaces of two blocks."""

import numpy as np
import plotly.graph_objects as go

from coupling_core.analysis.subspaces import chance_angles, stored_angles
from coupling_core.base.records import View, resolve_block
from coupling_core.base.results import DepthResult
from coupling_core.figures import style, words

SIDES = (("left (U)", style.ACCENT), ("right (V)", style.SECOND))


def angles(result: DepthResult, block: int, basis: int, view: View) -> go.Figure:
    """Principal angles of the left and of the right top-K subspaces, with what chance gives.

    Unlike single singular vectors, which are arbitrary where singular values nearly tie, the
    subspaces are well defined wherever there is a gap at K.

    Args:
        result: may be partial; a pair that waits has no curve.
        block: l.
        basis: l'.
        view: the angles are those of the largest stored K that does not exceed its K.

    Returns:
        a figure with the traces "left (U)", "right (V)" and "chance".

    Raises:
        InputError: where K or a block is not in the result.
    """
    block, basis = (resolve_block(each, result.n_blocks) for each in (block, basis))
    k, sides = stored_angles(result, block, basis, view)
    index = np.arange(1, k + 1)
    figure = style.new_figure(
        words.angles_alt(result, block, basis, sides),
        words.angles_caption(block, basis, k),
        height=380,
        xaxis={
            "title": {"text": f"Principal angle, smallest first (K = {k})"},
            "range": [0, k + 1],
        },
        yaxis=style.axis("Angle (degrees)", range=[0, 92], tickvals=[0, 15, 30, 45, 60, 75, 90]),
        hovermode="x unified",
    )
    chance = chance_angles(k, result.width)
    figure.add_trace(style.line(index, chance, "chance", width=1.5, line_dash="dash"))
    for (name, color), degrees in zip(SIDES, sides, strict=True):
        figure.add_trace(style.line(index, degrees, name, color, 2.5))
    return figure.update_traces(hovertemplate="%{y:.1f}°")
