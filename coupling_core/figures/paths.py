"""Paths of tokens through depth, in their principal components, in two or three dimensions."""

from functools import lru_cache
from typing import Literal

import numpy as np
import plotly.colors as colors
import plotly.graph_objects as go
from jaxtyping import Float, Int

from coupling_core.analysis.projection import COMPONENTS, ProjectedPaths, project_paths
from coupling_core.base.records import PathView
from coupling_core.base.results import TrajectoryResult
from coupling_core.figures import path_words, style
from coupling_core.figures.token_labels import label

Dimensions = Literal[2, 3]
MOST = 64
"""Paths drawn; of a longer prompt they are taken evenly, the selected token always among them."""
LABELLED = 16
"""Up to so many paths carry their token's text."""
PICKS = 600
"""Points, over all paths, on which a click selects a token."""
HEIGHT = 560
CAMERA = {"x": 1.6, "y": 1.6, "z": 0.9}
"""Where the reader stands in three dimensions: far enough for the axes' titles."""


def paths(
    result: TrajectoryResult,
    view: PathView,
    *,
    token: int,
    dimensions: Dimensions = 2,
    twin: TrajectoryResult | None = None,
) -> go.Figure:
    """Each token's path as a line from its embedding on, coloured by its place in the prompt.

    Args:
        result: may be partial.
        view: which states and tokens, and what the components are fitted on.
        token: the selected one, 1..n, drawn in ink and on top.
        dimensions: 2 or 3.
        twin: another result, whose paths are drawn dashed in the same components.

    Returns:
        a figure with one trace a path, named by the token's number, and of the twin by "twin" and
        that; in two dimensions the trace "picks" has, at each point, the token's number as its
        custom data.

    Raises:
        InputError: where the twin's states have another width.
    """
    found = project_paths(result, view)
    beside = None if twin is None else project_paths(twin, onto=found)
    return draw(result, view, found, token=token, dimensions=dimensions, beside=beside)


def draw(
    result: TrajectoryResult,
    view: PathView,
    found: ProjectedPaths,
    *,
    token: int,
    dimensions: Dimensions,
    beside: ProjectedPaths | None = None,
) -> go.Figure:
    """The same of paths that are projected already, and of others `beside` them."""
    chosen = chosen_tokens(found.tokens, token)
    walked = path_words.walked(result, found)
    figure = style.new_figure(
        path_words.paths_alt(result, view, found, token),
        path_words.paths_caption(result, view, found, len(chosen), beside),
        height=HEIGHT,
        showlegend=False,
        **_axes(found, view, dimensions),
    )
    others, own = chosen[found.tokens[chosen] != token], chosen[found.tokens[chosen] == token]
    if len(walked.states) < len(found.states):
        figure.add_trace(_normed(result, found, others, dimensions))
        if own.size:
            ring = _normed(result, found, own, dimensions)
            figure.add_trace(ring.update(meta=style.INKED, name="selected normed"))
    if beside is not None and not found.why_none:
        figure.add_traces(_dashed(beside, dimensions))
    for at in (*others, *own):
        figure.add_trace(_path(result, walked, int(at), dimensions, token))
    figure.add_trace(_ends(result, walked, others, dimensions, "ends"))
    if own.size:
        ends = _ends(result, walked, own, dimensions, "selected", always=True)
        figure.add_trace(ends.update(meta=style.INKED))
        style.reink(figure, style.BLACK)
    trace = go.Scatter if dimensions == 2 else go.Scatter3d
    bar = style.place_bar(len(result.tokens), "Token", "by its place in the prompt", trace)
    figure.add_trace(bar.update(marker_colorbar_len=220))
    if dimensions == 2:
        figure.add_trace(_picks(result, found, chosen))
    if found.why_none:
        text = style.two_lines(*found.why_none.split(": ", 1))
        figure.add_annotation(
            text=text, x=0.5, y=0.6, xref="paper", yref="paper", showarrow=False, font_size=14
        )
    return figure


def chosen_tokens(tokens: Int[np.ndarray, " token"], selected: int) -> Int[np.ndarray, " chosen"]:
    """Which of the tokens are drawn, as indices: all, or evenly spread and the selected one."""
    if len(tokens) <= MOST:
        return np.arange(len(tokens))
    spread = np.linspace(0, len(tokens) - 1, MOST - 1).round().astype(int)
    return np.unique(np.r_[spread, np.flatnonzero(tokens == selected)])


def _axes(found: ProjectedPaths, view: PathView, dimensions: Dimensions) -> dict[str, object]:
    if dimensions == 3:  # where longer titles would leave the picture
        titles = {f"{axis}axis": {"title": {"text": f"PC {i + 1}"}} for i, axis in enumerate("xyz")}
        return {"scene": {**titles, "camera": {"eye": CAMERA}, "dragmode": "turntable"}}
    return {
        f"{axis}axis": {"title": {"text": path_words.component(found, view, i)}} | style.GRID
        for i, axis in enumerate("xy")
    }


def _path(
    result: TrajectoryResult, found: ProjectedPaths, at: int, dimensions: int, token: int
) -> go.Scatter | go.Scatter3d:
    number = int(found.tokens[at])
    is_selected = number == token
    trace = go.Scatter if dimensions == 2 else go.Scatter3d
    return trace(
        **_coordinates(found.coordinates[:, at], dimensions),
        mode="lines",
        line={
            "color": _color(number, len(result.tokens)),
            "width": (3 if is_selected else 1.5) * (dimensions - 1),
        },
        name=str(number),
        meta=style.INKED if is_selected else None,
        customdata=found.states,
        **({"hoverinfo": "skip"} if dimensions == 2 else {"hovertemplate": _hover(result, number)}),
    )


def _dashed(beside: ProjectedPaths, dimensions: int) -> list[go.Scatter | go.Scatter3d]:
    """The paths of another result, under those of the first."""
    result, trace = beside.result, go.Scatter if dimensions == 2 else go.Scatter3d
    walked, width = path_words.walked(result, beside), 1.5 * (dimensions - 1)
    return [
        trace(
            **_coordinates(walked.coordinates[:, at], dimensions),
            mode="lines",
            line={
                "color": _color(int(beside.tokens[at]), len(result.tokens)),
                "width": width,
                "dash": "dash",
            },
            name=f"twin {beside.tokens[at]}",
            hoverinfo="skip",
        )
        for at in chosen_tokens(beside.tokens, len(result.tokens))
    ]


def _hover(result: TrajectoryResult, number: int) -> str:
    text = label(result.tokens[number - 1])
    return f"token {number}, “{text}”<br>state x<sup>%{{customdata}}</sup><extra></extra>"


def _ends(
    result: TrajectoryResult,
    found: ProjectedPaths,
    which: Int[np.ndarray, " chosen"],
    dimensions: int,
    name: str,
    *,
    always: bool = False,
) -> go.Scatter | go.Scatter3d:
    """A dot at the end of each path, and its token's text where it has room."""
    numbers = found.tokens[which]
    shades = [_color(int(number), len(result.tokens)) for number in numbers]
    texts = [label(result.tokens[number - 1]) for number in numbers]
    points = found.coordinates[-1, which].reshape(-1, COMPONENTS)
    is_labelled = always or len(found.tokens) <= LABELLED
    trace = go.Scatter if dimensions == 2 else go.Scatter3d
    return trace(
        **_coordinates(points, dimensions),
        mode="markers+text",
        marker={
            "color": shades,
            "size": (9 if always else 6) / (dimensions - 1),
            "line": {"width": 0},
        },
        text=texts if is_labelled else None,
        textposition="top center",
        textfont={"color": shades, "size": 12},
        hoverinfo="skip",
        name=name,
    )


def _normed(
    result: TrajectoryResult,
    found: ProjectedPaths,
    which: Int[np.ndarray, " chosen"],
    dimensions: int,
) -> go.Scatter | go.Scatter3d:
    """A ring for each token's last state, which the final norm has brought to another scale.

    A line to it would run back through all of the path: it is a step of its own kind.
    """
    shades = [_color(int(number), len(result.tokens)) for number in found.tokens[which]]
    trace = go.Scatter if dimensions == 2 else go.Scatter3d
    return trace(
        **_coordinates(found.coordinates[-1, which], dimensions),
        mode="markers",
        marker={"color": shades, "size": 8 / (dimensions - 1), "symbol": "circle-open"},
        hoverinfo="skip",
        name="normed",
    )


def _coordinates(
    points: Float[np.ndarray, "state c"], dimensions: int
) -> dict[str, Float[np.ndarray, " state"]]:
    """Coordinates by axis; a component that there is not, is drawn as 0."""
    known = np.nan_to_num(points).astype(np.float32)
    return {axis: known[:, i] for i, axis in enumerate("xyz"[:dimensions])}


@lru_cache(maxsize=4096)  # a millisecond each
def _color(number: int, n: int) -> str:
    return colors.sample_colorscale(list(style.DEPTH), [(number - 1) / max(1, n - 1)])[0]


def _picks(
    result: TrajectoryResult, found: ProjectedPaths, chosen: Int[np.ndarray, " chosen"]
) -> go.Scatter:
    """Invisible points that take the clicks: lines alone cannot be selected."""
    stride = -(-len(found.states) * len(chosen) // PICKS)
    states = found.states[::-1][::stride]  # from the end, so that it is among them
    points = found.coordinates[::-1][::stride][:, chosen]
    texts = [label(result.tokens[number - 1]) for number in found.tokens[chosen]]
    return go.Scatter(
        **_coordinates(points.reshape(-1, points.shape[-1]), 2),
        mode="markers",
        marker={"size": style.PICKED_PIXELS, "opacity": 0},
        customdata=np.tile(found.tokens[chosen], len(states)),
        hovertext=[f"“{text}”<br>state x<sup>{state}</sup>" for state in states for text in texts],
        hovertemplate="token %{customdata}, %{hovertext}<extra></extra>",
        name="picks",
    )
