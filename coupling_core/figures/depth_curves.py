"""Curves of the Jacobians of one token's blocks: angles, scaling, reactions, random bases.

Scores against K are in `pair`, by distance in `distances`, singular values in `spectrum`.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from coupling_core.analysis.random_bases import random_scores
from coupling_core.analysis.scaling import TOP, inverse_fits
from coupling_core.analysis.scores import score_pairs
from coupling_core.analysis.subspaces import chance_angles, stored_angles
from coupling_core.base.curves import Curves
from coupling_core.base.records import View, resolve_block
from coupling_core.base.results import DepthResult
from coupling_core.base.units import percent
from coupling_core.figures import style
from coupling_core.figures.curves import Series, chance, curves, depth_colors

if TYPE_CHECKING:  # half a second to import
    from pandas import DataFrame

ANGLES = Curves(
    x="Principal angle, smallest first (K = {k})",
    y="Angle (degrees)",
    caption="Angles between the top-{k} singular subspaces of blocks {block} and {basis}: 0° is a "
    "shared direction, 90° a direction orthogonal to the other subspace. Below the chance line "
    "the subspaces have more in common than two random subspaces of this size.",
    y_range=(0, 92),
    hover=".1f",
    unit="°",
    height=380,
)
SCALING = Curves(
    y="Singular value s<sub>k</sub> (no unit)",
    caption="Largest singular values of each block's Jacobian at the selected token. Those of "
    "residual networks fall inversely with depth (preprint, A.3).",
    log=True,
    at="block ",
    hover=".4g",
    height=420,
)
INVERSE_SCALING = replace(
    SCALING,
    y="1 / s<sub>k</sub> (no unit)",
    caption="Inverse of the largest singular values: those that scale inversely with depth lie on "
    "a rising line.{fits}",
    log=False,
)
REACTION = Curves(
    x="Direction k, the strongest first",
    y="Times a random direction",
    caption="How much the block's output moves when its input is moved a little, along its {n} "
    "strongest directions of {width}; 1 is what a random direction gives.",
    zero=True,
    at="k = ",
    height=360,
)


def angles(result: DepthResult, block: int, basis: int, view: View) -> go.Figure:
    """Principal angles of the top-K subspaces of two blocks, at the largest stored K of the view.

    Unlike single singular vectors, which are arbitrary where singular values nearly tie, the
    subspaces are well defined wherever there is a gap at K.
    """
    block, basis = (resolve_block(each, result.n_blocks) for each in (block, basis))
    k, (left, right) = stored_angles(result, block, basis, view)
    index = np.arange(1, k + 1)
    return curves(
        [
            chance(index, chance_angles(k, result.width)),
            Series("left (U)", index, left, style.ACCENT, 2.5),
            Series("right (V)", index, right, style.SECOND, 2.5),
        ],
        ANGLES,
        f"blocks {block} and {basis} of {result.subject}",
        {"k": k, "block": block, "basis": basis},
        xaxis={"range": [0, k + 1]},
        yaxis={"tickvals": [0, 15, 30, 45, 60, 75, 90]},
    )


def angles_table(result: DepthResult, block: int, basis: int, view: View) -> "DataFrame":
    """Twin of the principal angles, in degrees: columns angle, left, right, chance."""
    from pandas import DataFrame

    k, sides = stored_angles(result, block, basis, view)
    found = dict(zip(("left", "right"), sides, strict=True))
    level = chance_angles(k, result.width)
    return DataFrame({"angle": np.arange(1, k + 1), **found, "chance": level})


def scaling(result: DepthResult, *, inverse: bool = False) -> go.Figure:
    """The leading singular values s_k of each block, or their inverses, a line a k."""
    s = result.singular_values[:, :TOP].astype(float)
    values, fits = inverse_fits(s) if inverse else (s, ())
    blocks = np.arange(1, len(s) + 1)
    series = []
    for k, shade in enumerate(depth_colors(np.linspace(0, 1, s.shape[1])), 1):
        width, marks = (2.5, 6) if k == 1 else (1.2, 0)
        one = Series(f"k = {k}", blocks, values[:, k - 1], shade, width, marks=marks)
        series.append(replace(one, more={"showlegend": k in (1, s.shape[1])}))
    if not inverse:
        return curves(series, SCALING, result.subject)
    first, shares = fits[0], [fit.r_squared for fit in fits if np.isfinite(fit.r_squared)]
    name = f"line of k = 1: slope {first.slope:.3g} a block, R² = {first.r_squared:.2f}"
    line = first.intercept + first.slope * blocks
    series.append(Series(name, blocks, line, style.ACCENT, dash="dash", hover=False))
    told = shares and (
        f" Least-squares lines explain {percent(min(shares))} to {percent(max(shares))} of the "
        f"variance (k = 1..{len(fits)}; the table has each fit)."
    )
    return curves(series, INVERSE_SCALING, result.subject, {"fits": told or ""})


def scaling_table(result: DepthResult) -> "DataFrame":
    """Twin of singular values by depth: a row a k, its line through 1 / s_k, and every s_k."""
    from pandas import DataFrame, RangeIndex

    s = result.singular_values[:, :TOP]
    _, lines = inverse_fits(s)
    k = RangeIndex(1, s.shape[1] + 1, name="k")
    values = DataFrame(s.T, k, columns=[f"block {i + 1}" for i in range(len(s))])
    return DataFrame(lines, k).join(values)


def reactions(result: DepthResult, block: int) -> Float[np.ndarray, " k"]:
    """s_k / (norm_F(J) / sqrt d): in units of a block's reaction to a random direction."""
    usual = result.jacobian_norm[block - 1] / np.sqrt(result.width)
    return result.singular_values[block - 1].astype(np.float64) / usual


def reaction(result: DepthResult, block: int) -> go.Figure:
    """How strongly a block reacts to small moves of its input, direction by direction."""
    block = resolve_block(block, result.n_blocks)
    found = reactions(result, block)
    k = np.arange(1, len(found) + 1)
    figure = curves(
        [Series(f"block {block}", k, found, style.ACCENT)],
        REACTION,
        result.subject,
        {"n": len(found), "width": result.width},
        xaxis={"range": [0, len(found) + 1], **style.GRID},
    )
    figure.add_hline(1, line=style.DOTTED, name="random")
    return figure


def random_bases(
    result: DepthResult, pair: tuple[int, int], view: View, count: int, seed: int = 0
) -> go.Figure:
    """A pair's raw score and those of random bases with the same Jacobian, from 0 to 1."""
    found = score_pairs(result, view)
    at = tuple(block - 1 for block in pair)
    own, level = float(found.coupling[at]), float(found.chance[at])
    drawn = random_scores(result, pair[0], view, count, seed)
    spread = np.random.default_rng(seed).uniform(-0.5, 0.5, count)
    ends = f" from {drawn.min():.3f} to {drawn.max():.3f}" if count else ""
    axis = f"Raw score c ({style.score_terms(view)})"
    figure = style.new_figure(
        f"Raw scores of block {pair[0]} of {result.subject}: {own:.3f} in the basis of block "
        f"{pair[1]}, chance level {level:.3f}, random bases ({count}){ends}.",
        f"Raw scores of block {pair[0]}'s Jacobian: in the basis of block {pair[1]}, and in random "
        "bases, which lie so close together that they look like one. The dotted line is the mean "
        "score of random bases; heights mean nothing.",
        height=260,
        xaxis=style.axis(axis, range=[-0.02, 1.02], dtick=0.2),
        yaxis={"visible": False, "range": [-1, 1.6]},
    )
    grey = {"color": style.INK, "size": 9}
    red = {"color": style.ACCENT, "size": 16, "symbol": "diamond"}
    figure.add_trace(style.dots(drawn, spread, "random bases", grey))
    figure.add_trace(style.dots([own], [0], f"basis of block {pair[1]}", red))
    figure.update_traces(showlegend=True, hovertemplate="%{x:.3f}<extra></extra>")
    return figure.add_vline(level, line=style.DOTTED, name="floor")
