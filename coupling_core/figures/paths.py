"""Paths of tokens through depth, in their principal components, in two or three dimensions."""

from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Literal

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int
from plotly.subplots import make_subplots

from coupling_core.analysis.projection import COMPONENTS, ProjectedPaths, project_paths
from coupling_core.base.records import PathView, resolve_token
from coupling_core.base.results import TrajectoryResult
from coupling_core.figures import path_words, style
from coupling_core.figures.curves import depth_colors
from coupling_core.figures.words import label

Dimensions = Literal[2, 3]
MOST = 64
"""Paths drawn; of a longer prompt they are taken evenly, the selected token always among them."""
LABELLED = 16  # up to so many paths carry their token's text
PICKS = 600  # points, over all paths, on which a click selects a token
HEIGHT = 560
PAPER_WIDTH = 1140  # of two side by side in a file, in pixels
GAP = 0.12  # between the two, of the width: room for the title of the second one's axis
ABOVE = 1.09  # where their bar stands, in heights of the plot: over the titles of the two
CAMERA = {"x": 1.6, "y": 1.6, "z": 0.9}
"""Where the reader stands in three dimensions: far enough for the axes' titles."""
ROOM = 0.08  # of the range over all training steps at each end, for the texts of the tokens
_AT_A_STEP = (
    " Each step has components of its own; their signs are chosen so that the paths lie as at the "
    "step before, and the axes span all steps that are measured."
)


def paths(
    result: TrajectoryResult,
    view: PathView,
    *,
    token: int = -1,
    dimensions: Dimensions = 2,
    twin: TrajectoryResult | None = None,
) -> go.Figure:
    """Each token's path as a line from its embedding on, coloured by its place in the prompt.

    The selected `token` is in ink and on top; those of the twin, which has the same width, are
    dashed in the same components.
    """
    found = project_paths(result, view)
    beside = None if twin is None else project_paths(twin, onto=found)
    return draw(found, token=token, dimensions=dimensions, beside=beside)


def draw(
    found: ProjectedPaths,
    *,
    token: int = -1,
    dimensions: Dimensions = 2,
    beside: ProjectedPaths | None = None,
) -> go.Figure:
    """The same of paths that are projected already, and of others `beside` them."""
    texts = found.result.tokens
    token = resolve_token(token, len(texts))
    chosen = chosen_tokens(found.tokens, token)
    walked = path_words.walked(found)
    figure = style.new_figure(
        path_words.paths_alt(found, token),
        path_words.paths_caption(found, len(chosen), beside),
        height=HEIGHT,
        showlegend=False,
        **_axes(found, dimensions),
    )
    is_selected = found.tokens[chosen] == token
    rings, lines, dots = [], [], []
    if beside is not None and not found.why_none:
        dashed, m = path_words.walked(beside), len(beside.result.tokens)
        for at in chosen_tokens(beside.tokens, m).tolist():
            line = _line(dashed, at, dimensions, 1.5)
            lines.append(line.update(line_dash="dash", name=f"twin {line.name}"))
    for which, width, size, end, ring, ink in (
        (chosen[~is_selected], 1.5, 6, "ends", "normed", None),
        (chosen[is_selected], 3, 9, "selected", "selected normed", style.INKED),
    ):
        if ink and not which.size:
            continue
        if len(walked.states) < len(found.states):
            # A line to the normed state would run back through all of the path.
            normed = _dots(found, which, dimensions, 8, name=ring)
            rings.append(normed.update(marker_symbol="circle-open", meta=ink))
        for at in which.tolist():
            line = _line(walked, at, dimensions, width)
            if dimensions == 3:
                text = label(texts[int(line.name) - 1])
                hover = f"token {line.name}, “{text}”<br>state x<sup>%{{customdata}}</sup>"
                line.update(hoverinfo=None, hovertemplate=f"{hover}<extra></extra>")
            lines.append(line.update(meta=ink))
        ends = _dots(walked, which, dimensions, size, name=end)
        if ink or len(found.tokens) <= LABELLED:
            labels = [label(texts[number - 1]) for number in found.tokens[which]]
            font = {"color": ends.marker.color, "size": 12}
            ends.update(mode="markers+text", text=labels, textposition="top center", textfont=font)
        dots.append(ends.update(marker_line_width=0, meta=ink))
    figure.add_traces([*rings, *lines, *dots])
    style.reink(figure, style.BLACK)
    bar = style.place_bar(len(texts), "Token", "by its place in the prompt", dimensions)
    figure.add_trace(bar.update(marker_colorbar_len=220))
    if dimensions == 2:
        figure.add_trace(_picks(found, chosen))
    if found.why_none:
        text = style.two_lines(*found.why_none.split(": ", 1))
        figure.add_annotation(
            text=text, x=0.5, y=0.6, xref="paper", yref="paper", showarrow=False, font_size=14
        )
    return figure


draw_3d = partial(draw, dimensions=3)


def paths_at(
    projected: Mapping[int, ProjectedPaths],
    step: int,
    *,
    token: int,
    dimensions: Dimensions = 2,
) -> go.Figure:
    """The paths of `project_steps` at one step of a training run, on axes that span all steps."""
    figure = draw(projected[step], token=token, dimensions=dimensions)
    meta = figure.layout.meta
    figure.update_layout(meta=meta | {"caption": meta["caption"] + _AT_A_STEP})
    every = [paths.coordinates.reshape(-1, COMPONENTS) for paths in projected.values()]
    points = np.nan_to_num(np.concatenate(every))
    ranges = [{"range": style.with_room(values, ROOM)} for values in points.T]
    if dimensions == 3:
        axes = {f"{name}axis": ends for name, ends in zip("xyz", ranges, strict=True)}
        return figure.update_layout(scene=axes | {"aspectmode": "cube"})
    return figure.update_xaxes(ranges[0]).update_yaxes(ranges[1])


def paths_apart(
    a: TrajectoryResult,
    b: TrajectoryResult,
    view: PathView,
    *,
    token: int = -1,
) -> go.Figure:
    """The paths of A at the left and those of B at the right, on axes of their own.

    In ink are the token of A and the one of B that is nearest to its place.
    Components of two models that were trained apart do not correspond, and where the states of one
    are far smaller nothing is seen of them in shared ones.
    """
    n = len(b.tokens)
    names = path_words.which(a, b), path_words.which(b, a, second=True)
    whole = make_subplots(1, 2, subplot_titles=names, horizontal_spacing=GAP)
    panels = [
        draw(project_paths(result, view), token=inked)
        for result, inked in ((a, token), (b, max(-n, min(token, n))))
    ]
    # Where B has more tokens, the bar that says which colour is which is its own.
    with_bar = 2 if len(b.tokens) > len(a.tokens) else 1
    for column, panel in enumerate(panels, 1):
        hidden = {"picks"} if column == with_bar else {"picks", "places"}
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
    whole.update_traces(marker_colorbar_y=ABOVE, selector={"name": "places"})
    return whole.update_layout(
        template=style.TEMPLATE,
        showlegend=False,
        width=PAPER_WIDTH,
        height=HEIGHT,
        meta={"alt": alt, "caption": f"{caption} The axes of the two are not the same."},
    )


def chosen_tokens(tokens: Int[np.ndarray, " token"], selected: int) -> Int[np.ndarray, " chosen"]:
    """Which of the tokens are drawn, as indices: all, or evenly spread and the selected one."""
    if len(tokens) <= MOST:
        return np.arange(len(tokens))
    spread = np.linspace(0, len(tokens) - 1, MOST - 1).round().astype(int)
    return np.unique(np.r_[spread, np.flatnonzero(tokens == selected)])


def _axes(found: ProjectedPaths, dimensions: Dimensions) -> dict[str, object]:
    if dimensions == 3:  # where longer titles would leave the picture
        titles = {f"{axis}axis": {"title": {"text": f"PC {i + 1}"}} for i, axis in enumerate("xyz")}
        return {"scene": {**titles, "camera": {"eye": CAMERA}, "dragmode": "turntable"}}
    return {
        f"{axis}axis": {"title": {"text": path_words.component(found, i)}} | style.GRID
        for i, axis in enumerate("xy")
    }


def _scatter(
    points: Float[np.ndarray, "point c"], dimensions: int, **look: object
) -> go.Scatter | go.Scatter3d:
    """Points or a line; a component that there is not, is drawn as 0."""
    known = np.nan_to_num(points).astype(np.float32)
    at = {axis: known[:, i] for i, axis in enumerate("xyz"[:dimensions])}
    return (go.Scatter if dimensions == 2 else go.Scatter3d)(**at, **look)


def _line(
    found: ProjectedPaths, at: int, dimensions: int, width: float
) -> go.Scatter | go.Scatter3d:
    """One path."""
    number = int(found.tokens[at])
    return _scatter(
        found.coordinates[:, at],
        dimensions,
        mode="lines",
        line={"color": _color(number, len(found.result.tokens)), "width": width * (dimensions - 1)},
        name=str(number),
        customdata=found.states,
        hoverinfo="skip",
    )


def _dots(
    found: ProjectedPaths, which: np.ndarray, dimensions: int, size: float, name: str
) -> go.Scatter | go.Scatter3d:
    """A dot at the last state of each path."""
    n = len(found.result.tokens)
    shades = [_color(int(number), n) for number in found.tokens[which]]
    return _scatter(
        found.coordinates[-1, which].reshape(-1, COMPONENTS),
        dimensions,
        mode="markers",
        marker={"color": shades, "size": size / (dimensions - 1)},
        hoverinfo="skip",
        name=name,
    )


@lru_cache(maxsize=4096)  # a millisecond each
def _color(number: int, n: int) -> str:
    return depth_colors([(number - 1) / max(1, n - 1)])[0]


def _picks(found: ProjectedPaths, chosen: Int[np.ndarray, " chosen"]) -> go.Scatter | go.Scatter3d:
    """Invisible points that take the clicks: lines alone cannot be selected."""
    stride = -(-len(found.states) * len(chosen) // PICKS)
    states = found.states[::-1][::stride]  # from the end, so that it is among them
    points = found.coordinates[::-1][::stride][:, chosen]
    texts = [label(found.result.tokens[number - 1]) for number in found.tokens[chosen]]
    return _scatter(
        points.reshape(-1, points.shape[-1]),
        2,
        mode="markers",
        marker=style.PICKED,
        customdata=np.tile(found.tokens[chosen], len(states)),
        hovertext=[f"“{text}”<br>state x<sup>{state}</sup>" for state in states for text in texts],
        hovertemplate="token %{customdata}, %{hovertext}<extra></extra>",
        name="picks",
    )
