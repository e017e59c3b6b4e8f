"""One model over many prompts: the mean map and graph, and where each prompt stands."""

import html
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from coupling_core.analysis.over_prompts import OfPrompt, mean_scores, source, whose
from coupling_core.analysis.over_prompts import mean_graph as graph_over_prompts
from coupling_core.analysis.path_curves import curve_over_prompts
from coupling_core.analysis.scores import Interval
from coupling_core.base.records import DEFAULT_THRESHOLD, Layout, NodeColor, View
from coupling_core.base.results import Scores
from coupling_core.base.units import counted, decimals, rounded, with_minus
from coupling_core.base.wording import paragraph
from coupling_core.figures import style, words
from coupling_core.figures.graph import graph_of, graph_summary
from coupling_core.figures.maps import score_map
from coupling_core.figures.score_squares import ScoreSquare

Of = TypeVar("Of")

HEIGHT = 360
DOT = 9
"""Pixels of a prompt's dot; of the selected one, half as many more."""
WRAP, SHOWN = 60, 240
"""Letters of a line, and of all that is shown, of a prompt's text under the mouse."""


def mean_map(
    parts: Sequence[OfPrompt],
    listed: str,
    *,
    corrected: bool = True,
    auto_range: bool = False,
    selected: tuple[int, int] | None = None,
) -> go.Figure:
    """Map of the mean score of every pair over the prompts of a list, drawn as `figures.scores`.

    The parts are of one model in one view, a prompt each; colours have the range of one prompt's.
    """
    found, view = _means(parts)
    uncertified = sum(not part.certified for part in parts)
    caption = paragraph(
        f"Each cell is the mean over {counted(len(parts), 'prompt')} of the "
        f"{style.score_name(corrected).lower()} of that pair: the scores are averaged, not the "
        "matrices. Rows are the Jacobian's block, columns the basis; "
        f"{words.zero_words(corrected, found.mean().chance)}. The diagonal is 1 by "
        "construction, and grey.",
        words.last_row(parts[0].final_norm, parts[0].n_blocks, found, corrected),
        (uncertified, f"{counted(uncertified, 'prompt')} with SVDs that are not certified."),
    )
    return score_map(
        ScoreSquare.of(found),
        view,
        whose(parts, listed),
        caption,
        _origin(parts, listed, view),
        corrected=corrected,
        auto_range=auto_range,
        selected=selected,
    )


def mean_graph(
    parts: Sequence[OfPrompt],
    listed: str,
    *,
    corrected: bool = True,
    threshold: float = DEFAULT_THRESHOLD,
    layout: Layout = "line",
    color: NodeColor = "community",
    auto_range: bool = False,
    selected: tuple[int, int] | None = None,
) -> go.Figure:
    """The layer graph of the mean scores over the prompts of a list, drawn as `figures.graph`.

    Raises:
        InputError: where the threshold is out of range.
    """
    found, view = _means(parts)
    graph = graph_over_prompts(parts, corrected=corrected, threshold=threshold)
    summary = f"{graph_summary(graph)} An edge is of the mean of the prompts' scores."
    return graph_of(
        graph,
        found,
        parts[0].n_blocks,
        view,
        whose(parts, listed),
        corrected=corrected,
        layout=layout,
        color=color,
        auto_range=auto_range,
        selected=selected,
        told=_origin(parts, listed, view) | {"summary": summary},
    )


def prompt_strip(
    numbers: Mapping[int, float],
    texts: Mapping[int, str],
    over: Interval,
    title: str,
    *,
    origin: Mapping[str, object],
    terms: str = "",
    chance: float | None = None,
    selected: int = 0,
    beside: Mapping[int, float] | None = None,
    other: str = "",
    other_chance: float | None = None,
    name: str = "prompts",
    zero: str = "chance",
    groups: Mapping[int, str] | None = None,
    mean: str = "mean",
    one: str = "prompt",
) -> go.Figure:
    """Where each prompt stands: a dot a prompt, from the lowest number up.

    Args:
        numbers: by the prompts' places in their list, from 1; NaN if one has none.
        texts: of the same prompts.
        over: their mean, with its interval.
        title: of the axis, with its unit.
        origin: the "title" and the "source" of the figure's file.
        terms: definition and K, set smaller under the title.
        chance: the number's chance level, or its ideal value; None if it has neither.
        selected: the prompt to mark; 0 is none.
        beside: the numbers of another model with the same prompts.
        other: the name of that model.
        other_chance: the chance level of its number, if that is another one.
        name: of the dots.
        zero: what `chance` is.
        groups: the group of each prompt, such as its category. Two groups or more have a colour
            each, up to as many as there are colours.
        mean: the name of the mean of a group's numbers.
        one: what stands before a prompt's place: "line" if it is that in a file.

    Returns:
        a figure with the shapes "interval" and "mean", and dots whose customdata is [place of the
        prompt]: a trace called `name`, or one a group, and one of the other model.
    """
    known = {place: value for place, value in numbers.items() if np.isfinite(value)}
    order = sorted(known, key=known.__getitem__)
    x, y = np.array([known[place] for place in order]), np.arange(1, len(order) + 1)
    places = np.array(order, np.int64)[:, None]
    rings = np.array([(beside or {}).get(place, np.nan) for place in order])
    groups, digits, without = groups or {}, decimals(x.tolist(), 3), len(numbers) - len(order)
    zeros = {
        "chance": (zero, chance),
        "other chance": (f"chance of the {other} model", other_chance),
    }
    levels = [(called, what, at) for called, (what, at) in zeros.items() if at is not None]
    values = np.array([*x, *rings, over.low, over.high, *(at for _, _, at in levels[:1])])
    members = _members(order, groups)
    figure = style.new_figure(
        _strip_alt(x, over, title, [f"{one} {place}" for place in order])
        + f" Open circles: {other}." * bool(beside),
        paragraph(
            "Each dot is a prompt. The red line is the mean over the prompts"
            + (", the band its 95\u00a0% interval." if np.isfinite(over.low) else "."),
            *(f"The dotted line is {what}: {at:.3g}." for _, what, at in levels),
            (without, f"{counted(without, 'prompt')} without a number."),
            _groups_caption(dict.fromkeys(groups.values()), "colour is"),
        ),
        {**origin, "on_page": "A click on a dot shows its prompt below."},
        height=HEIGHT,
        xaxis=style.axis(
            style.two_lines(title, terms),
            range=_range(values),
            exponentformat="none",
            ticklabeloverflow="allow",  # the last label may stand past the end of the axis
        ),
        yaxis={
            "title": {"text": "Prompts, from the lowest up"},
            "showticklabels": False,
            "showgrid": False,
            "ticks": "",
        },
        showlegend=bool(beside) or len(members) > 1,
    )
    if np.isfinite(over.low):
        band = {"fillcolor": style.ACCENTED_BAND, "line_width": 0, "layer": "below"}
        figure.add_vrect(over.low, over.high, name="interval", **band)
    figure.add_vline(over.mean, line={"color": style.ACCENT, "width": 1.5}, name="mean")
    for called, _, at in levels:
        figure.add_vline(at, line=style.DOTTED, name=called)
    if beside:
        figure.add_scatter(
            x=rings,
            y=y,
            customdata=places,
            mode="markers",
            marker={"color": style.INK, "size": DOT, "symbol": "circle-open", "line_width": 1.5},
            hovertemplate=f"{other}: %{{x:.3f}}<extra></extra>",
            name=f"the same prompts, {other}",
        )
    for color, (group, rows) in zip(style.CATEGORIES, members.items(), strict=False):
        of_group = f"{group}: {mean} {with_minus(rounded(x[rows].mean(), digits))}" if group else ""
        figure.add_scatter(
            x=x[rows],
            y=y[rows],
            customdata=places[rows],
            mode="markers",
            marker={"color": color, "size": DOT, "opacity": 0.85},
            text=[
                f"{one} {order[row]}: {with_minus(rounded(x[row]))}<br>"
                f"{_wrapped(texts[order[row]])}"
                for row in rows
            ],
            hovertemplate="%{text}<extra></extra>",
            name=f"{of_group} (n = {len(rows)})" if group else name,
        )
    if selected in known:  # a trace of its own: a legend shows the colour of a trace's first dot
        row, line = order.index(selected), {"color": style.ACCENT, "width": 3}
        figure.add_scatter(
            x=x[[row]],
            y=y[[row]],
            mode="markers",
            marker={"color": style.ACCENT, "size": DOT * 1.5, "line": line},
            hoverinfo="skip",
            showlegend=False,
            name="chosen",
        )
    return figure


def by_depth_over_prompts(
    curves: Float[np.ndarray, "prompt depth"],
    first: int,
    title: str,
    depth: str,
    *,
    origin: Mapping[str, object],
    log: bool = False,
    normed: bool = False,
    selected: tuple[int, Float[np.ndarray, " depth"]] | None = None,
    groups: Mapping[str, Float[np.ndarray, "_ depth"]] | None = None,
) -> go.Figure:
    """A number of paths by depth: the mean over prompts of the median of each prompt's tokens.

    Args:
        curves: the medians; NaN where a prompt has none.
        first: depth of the first column.
        title: of the axis, with its unit.
        depth: title of the axis of depth.
        origin: the "title" and the "source" of the figure's file.
        log: whether the axis is logarithmic.
        normed: whether the last block, and its number, includes the final norm.
        selected: the number of a prompt, and its curve.
        groups: the medians of the prompts of each group, which have a mean line each.
    """
    at, n = np.arange(first, first + curves.shape[1]), counted(len(curves), "prompt")
    mean, low, high, _ = curve_over_prompts(curves)
    known, groups = np.isfinite(low), groups or {}
    band = "middle 80\u00a0% of the prompts"
    figure = style.new_figure(
        f"{title} by depth, mean over {n} of the median of their tokens, with the {band}.",
        paragraph(
            f"The line is the mean over {n} of the median of each prompt's tokens; the band holds "
            f"the {band}.",
            (normed, "The last step includes the final norm, whose rescaling counts too."),
            _groups_caption(groups, "thinner line is the mean over"),
        ),
        origin,
        height=HEIGHT,
        xaxis={"title": {"text": depth}},
        yaxis=style.axis(title) | (style.log_axis(curves) if log else {}),
    )
    ground = at[known], low[known], high[known]
    figure.add_trace(style.band(*ground, band, color=style.ACCENTED_BAND, listed=True))
    figure.add_trace(style.line(at, mean, "mean over prompts", style.ACCENT, 2.5))
    for color, (group, of) in zip(style.CATEGORIES, _with_colors(groups).items(), strict=False):
        called = f"{group}: mean over {counted(len(of), 'prompt')}"
        figure.add_trace(style.line(at, curve_over_prompts(of).mean, called, color, 1.5))
    if selected:
        number, curve = selected
        figure.add_trace(style.line(at, curve, f"prompt {number}", style.CATEGORIES[0]))
    return figure


def _means(parts: Sequence[OfPrompt]) -> tuple[Scores, View]:
    found = mean_scores([part.scores for part in parts])
    assert found.view is not None  # `of_prompt` gives one
    return found, replace(found.view, blocks=found.blocks)


def _origin(parts: Sequence[OfPrompt], listed: str, view: View) -> dict[str, object]:
    return {"title": whose(parts, listed), "source": source(parts, listed, view)}


def _strip_alt(
    x: Float[np.ndarray, " prompt"], over: Interval, title: str, names: Sequence[str]
) -> str:
    if not names:
        return f"{title}: no prompt has a number."
    return (
        f"{title} of {counted(len(names), 'prompt')}, a dot each: mean {rounded(over.mean)}, from "
        f"{rounded(x[0])} ({names[0]}) to {rounded(x[-1])} ({names[-1]})."
    )


def _members(order: Sequence[int], groups: Mapping[int, str]) -> dict[str, list[int]]:
    """The rows of each group's prompts; all have one without a name if they cannot be told apart.

    That is if a prompt is of no group, or there is one group, or more than there are colours.
    """
    rows: dict[str, list[int]] = {groups[place]: [] for place in groups if place in order}
    if not _with_colors(rows) or any(place not in groups for place in order):
        return {"": [*range(len(order))]}
    for row, place in enumerate(order):
        rows[groups[place]].append(row)
    return rows


def _wrapped(text: str) -> str:
    """The beginning of a text in lines, as plotly takes it."""
    lines = textwrap.wrap(textwrap.shorten(text, SHOWN, placeholder=" …"), WRAP)
    return "<br>".join(map(html.escape, lines))


def _range(values: Float[np.ndarray, " point"]) -> list[float]:
    """A range with room at both ends of the numbers."""
    low, high = style.span(values)
    room = 0.05 * ((high - low) or 1)
    return [low - room, high + room]


def _with_colors(groups: Mapping[str, Of]) -> Mapping[str, Of]:
    """The groups, if there are several, and no more than colours; else none."""
    return groups if 1 < len(groups) <= len(style.CATEGORIES) else {}


def _groups_caption(groups: Mapping[str, object], each: str) -> str:
    most = len(style.CATEGORIES)
    return paragraph(
        (_with_colors(groups), f"Each {each} one group of prompts."),
        (len(groups) > most, f"The {len(groups)} groups have no colours: at most {most} can."),
    )
