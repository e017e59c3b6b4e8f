"""Top singular values of the Jacobians by depth, and their inverse with its straight line."""

import numpy as np
import plotly.colors as colors
import plotly.graph_objects as go

from coupling_core.analysis.scaling import TOP, inverse_fits
from coupling_core.base.results import DepthResult
from coupling_core.figures import path_words, style

HEIGHT = 420


def scaling(result: DepthResult, *, inverse: bool = False) -> go.Figure:
    """The leading singular values s_k of each block, a line a k.

    Args:
        result: may be partial; a block that waits has no point.
        inverse: draw 1 / s_k, on which inverse scaling with depth is a straight line, and the
            line of least squares through those of k = 1.

    Returns:
        a figure with the traces "s1", "s2", ... and, for the inverse, "fit".
    """
    s = result.singular_values[:, :TOP].astype(float)
    values, lines = inverse_fits(s) if inverse else (s, ())
    name = "1 / s<sub>k</sub>" if inverse else "Singular value s<sub>k</sub>"
    figure = style.new_figure(
        path_words.scaling_alt(result, s, inverse),
        path_words.scaling_caption(inverse, lines),
        height=HEIGHT,
        xaxis={"title": {"text": "Block l"}},
        yaxis=style.axis(f"{name} (no unit)") | ({} if inverse else style.log_axis(values)),
    )
    blocks = np.arange(1, len(s) + 1)
    shades = colors.sample_colorscale(list(style.DEPTH), list(np.linspace(0, 1, s.shape[1])))
    for k, shade in enumerate(shades, 1):
        figure.add_trace(
            go.Scatter(
                x=blocks,
                y=values[:, k - 1],
                mode="lines+markers" if k == 1 else "lines",
                line={"color": shade, "width": 2.5 if k == 1 else 1.2},
                marker={"size": 6},
                uid=f"s{k}",
                name=f"k = {k}",
                showlegend=k in (1, s.shape[1]),
                hovertemplate=f"block %{{x}}, k = {k}: %{{y:.4g}}<extra></extra>",
            )
        )
    if inverse:
        line = lines[0]
        figure.add_trace(
            style.line(
                blocks,
                line.intercept + line.slope * blocks,
                f"line of k = 1: slope {line.slope:.3g} a block, R² = {line.r_squared:.2f}",
                style.ACCENT,
                line_dash="dash",
                uid="fit",
                showlegend=True,
                hoverinfo="skip",
            )
        )
    return figure
