"""Paths of two results side by side, each in principal components of its own."""

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from coupling_core.analysis.projection import project_paths
from coupling_core.base.records import PathView, resolve_token
from coupling_core.base.results import TrajectoryResult
from coupling_core.figures import path_words, style
from coupling_core.figures.paths import HEIGHT, draw

GAP = 0.12
"""Between the two, of the width: room for the title of the second one's axis."""
PAPER_WIDTH = 1140
"""Of both in a file, in pixels."""
ABOVE = 1.09
"""Where the bar stands, in heights of the plot: over the titles of the two."""
_BAR = "places"


def paths_apart(
    a: TrajectoryResult,
    b: TrajectoryResult,
    view: PathView,
    *,
    token: int = -1,
    other_token: int | None = None,
) -> go.Figure:
    """The paths of A at the left and those of B at the right, on axes of their own.

    Components of two models that were trained apart do not correspond, and where the states of one
    are far smaller nothing is seen of them in shared ones.
    """
    n = len(b.tokens)
    if other_token is None:
        other_token = min(token, n) if token > 0 else max(token, -n)
    token, other_token = resolve_token(token, len(a.tokens)), resolve_token(other_token, n)
    names = path_words.which(a, b), path_words.which(b, a, second=True)
    whole = make_subplots(1, 2, subplot_titles=names, horizontal_spacing=GAP)
    panels = [
        draw(project_paths(result, view), token=inked)
        for result, inked in ((a, token), (b, other_token))
    ]
    # Where B has more tokens, the bar that says which colour is which is its own.
    with_bar = 2 if len(b.tokens) > len(a.tokens) else 1
    for column, panel in enumerate(panels, 1):
        hidden = {"picks"} if column == with_bar else {"picks", _BAR}
        kept = [trace for trace in panel.data if trace.name not in hidden]
        whole.add_traces(kept, rows=1, cols=column)
        for axes, own in ((whole.update_xaxes, "xaxis"), (whole.update_yaxes, "yaxis")):
            axes(panel.layout[own], row=1, col=column)
        for note in panel.layout.annotations:  # why there are no components
            axis = "" if column == 1 else str(column)
            place = {"xref": f"x{axis} domain", "yref": f"y{axis} domain"}
            whole.add_annotation(note).layout.annotations[-1].update(place)
    sides = zip(("Left, ", "Right, "), path_words.both_in_words(a, b), panels, strict=True)
    said = [(side + told, panel.layout.meta) for side, told, panel in sides]
    alt, caption = (
        " ".join(f"{side}: {meta[name]}" for side, meta in said) for name in ("alt", "caption")
    )
    whole.update_traces(marker_colorbar_y=ABOVE, selector={"name": _BAR})
    return whole.update_layout(
        template=style.TEMPLATE,
        showlegend=False,
        width=PAPER_WIDTH,
        height=HEIGHT,
        meta={"alt": alt, "caption": f"{caption} The axes of the two are not the same."},
    )
