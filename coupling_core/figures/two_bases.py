"""Two bases of the plane, and the matrix of a linear map in the one that is turned."""

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from coupling_core.base.units import with_minus
from coupling_core.figures import style

OWN = 30
"""Degrees by which the first block's own basis is turned."""
VALUES = (1.0, 0.5)
"""How much its map stretches along the two directions of that basis."""
SIDE = 340
_BARE = {"showgrid": False, "zeroline": False, "ticks": "", "title": None}


def turned(degrees: float) -> Float[np.ndarray, "2 2"]:
    """A basis of the plane, its vectors in columns."""
    a = np.radians(degrees)
    return np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]])


def in_basis(degrees: float) -> Float[np.ndarray, "2 2"]:
    """The map, which is symmetric here, in a basis that is turned so far.

    It is diagonal in its own, and in the one that has the same two directions the other way round.
    """
    own, basis = turned(OWN), turned(degrees)
    return basis.T @ (own * VALUES) @ own.T @ basis


def two_bases(degrees: float) -> go.Figure:
    """The first block's basis, and another one that is turned so far, as arrows."""
    figure = style.new_figure(
        f"Two bases of the plane as arrows: that of block 1, turned by {OWN} degrees, and that of "
        f"block 2, turned by {degrees:g}.",
        "The arrows of each basis. Those of block 1 are as long as it reacts strongly.",
        height=SIDE,
        xaxis=_BARE | {"range": [-1.15, 1.15], "showticklabels": False},
        yaxis=_BARE | {"range": [-1.15, 1.15], "scaleanchor": "x", "showticklabels": False},
        margin={"l": 8, "r": 8, "t": 40, "b": 8},
    )
    # The wider ones below, so that both are seen where they point the same way.
    figure.add_traces(_arrows("block 1", turned(OWN) * VALUES, style.ACCENT, 10))
    return figure.add_traces(_arrows("block 2", turned(degrees), style.SECOND, 4))


def in_other_basis(degrees: float) -> go.Figure:
    """The first block's map in the other basis, as a matrix: the trace "matrix"."""
    A = in_basis(degrees)
    told = ", ".join(f"{value:.2f}" for value in A.flat)
    ticks = {"tickvals": [1, 2], "constrain": "domain"}
    figure = style.new_figure(
        f"The map of block 1 in the basis of block 2, a matrix with the entries {told}.",
        "What block 1 does, written in the basis of block 2. Brightness is magnitude.",
        height=SIDE,
        xaxis=_BARE | ticks,
        yaxis=_BARE | ticks | {"scaleanchor": "x", "autorange": "reversed"},
        margin={"l": 32, "r": 8, "t": 40, "b": 32},
    )
    return figure.add_heatmap(
        z=np.abs(A), x=[1, 2], y=[1, 2], zmin=0, zmax=1, colorscale=style.SEQUENTIAL,
        text=[[with_minus(f"{v:.2f}") for v in row] for row in A], texttemplate="%{text}",
        textfont_size=20, showscale=False, name="matrix", hoverinfo="skip",
    )  # fmt: skip


def _arrows(name: str, basis: Float[np.ndarray, "2 2"], color: str, width: int) -> list[go.Scatter]:
    return [
        go.Scatter(
            x=[0, x], y=[0, y], mode="lines+markers", name=name, legendgroup=name,
            showlegend=number == 0, hoverinfo="skip", line={"color": color, "width": width},
            marker={
                "symbol": "arrow", "size": [0, 12 + width], "angleref": "previous", "color": color,
            },
        )
        for number, (x, y) in enumerate(basis.T)
    ]  # fmt: skip
