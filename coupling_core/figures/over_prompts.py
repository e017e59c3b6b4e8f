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
from coupling_core.base.units import counted, decimals, rounded, with_minus
from coupling_core.figures import style, words
from coupling_core.figures.graph import graph_of
from coupling_core.figures.graph_words import graph_summary
from coupling_core.figures.maps import score_map
from coupling_core.figures.score_squares import ScoreSquare

Of = TypeVar("Of")

HEIGHT = 360
DOT = 9
"""Pixels of a prompt's dot; of the selected one, half as many more."""
WRAP = 60
"""Letters of a line of a prompt's text under the mouse."""
SHOWN = 240
"""Letters of a prompt's text there."""


def mean_map(
    parts: Sequence[OfPrompt],
    listed: str,
    *,
    corrected: bool = True,
    auto_range: bool = False,
    selected: tuple[int, int] | None = None,
) -> go.Figure:
    """Map of the mean score of every pair over many prompts, in the range of one prompt's map.

    Args:
        parts: of one model in one view, a prompt each.
        listed: what the list of prompts is called.
        corrected: average the chance-corrected score, else c.
        auto_range: stretch the colours over what is drawn, and say so.
        selected: the pair (l, l') to outline.

    Returns:
        a figure whose first trace is the map and whose trace "pairs" takes clicks, with
        customdata [l, l'].
    """
    found, view, told = mean_scores([part.scores for part in parts]), _view(parts), _told(parts)
    name = style.score_name(corrected).lower()
    caption = (
        f"Each cell is the mean over {counted(len(parts), 'prompt')} of the {name} of that pair: "
        "the scores are averaged, not the matrices. Rows are the Jacobian's block, columns the "
        f"basis; {words.zero_words(corrected, found.mean().chance)}. The diagonal is 1 by "
        "construction, and grey."
        f"{words.last_row(parts[0].final_norm, parts[0].n_blocks, found, corrected)}"
    )
    shown = ScoreSquare.of(found)
    return score_map(
        shown,
        view,
        whose(parts, listed),
        caption + told,
        {"title": whose(parts, listed), "source": source(parts, listed, view)},
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
    """The layer graph of the mean scores over many prompts.

    Args:
        parts: of one model in one view, a prompt each.
        listed: what the list of prompts is called.
        corrected: weigh by the mean chance-corrected score, else by the mean c.
        threshold: smallest weight drawn, 0..1.
        layout: where the nodes lie.
        color: what colours them.
        auto_range: stretch width and opacity over what is drawn, and say so.
        selected: the pair (l, l') to mark.

    Returns:
        a figure as `graph` gives it.

    Raises:
        InputError: where the threshold is out of range.
    """
    found, view = mean_scores([part.scores for part in parts]), _view(parts)
    drawn = graph_over_prompts(parts, corrected=corrected, threshold=threshold)
    return graph_of(
        drawn,
        found,
        parts[0].n_blocks,
        view,
        whose(parts, listed),
        corrected=corrected,
        layout=layout,
        color=color,
        auto_range=auto_range,
        selected=selected,
        told={
            "title": whose(parts, listed),
            "source": source(parts, listed, view),
            "summary": f"{graph_summary(drawn)} An edge is of the mean of the prompts' scores.",
        },
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
    """Where each prompt stands: a dot a prompt, in the order of their numbers.

    Args:
        numbers: by the prompts' numbers in their list, from 1; NaN where one has none.
        texts: of the same prompts.
        over: their mean, with its interval.
        title: of the axis, with its unit.
        origin: the "title" and the "source" of the figure's file.
        terms: definition and K, set smaller under the title.
        chance: what the number is by chance, or in an ideal case; None where there is neither.
        selected: the prompt to mark; 0 is none.
        beside: the numbers of another model with the same prompts.
        other: what to call that one.
        other_chance: what its number is by chance, where that is another one.
        name: what to call the dots.
        zero: what `chance` is.
        groups: the group of each prompt, such as its category, by the same numbers. From two on,
            and up to as many as there are colours, each has its own.
        mean: what the mean of a group's numbers is called.
        one: what stands before the number of a prompt: "line" where they are those of a file.

    Returns:
        a figure with the shapes "interval" and "mean" and a trace called `name`, or one for each
        group, called by it and its mean, whose customdata is [number of the prompt], and one like
        it, called `other`, where that has numbers.
    """
    known = {place: one for place, one in numbers.items() if np.isfinite(one)}
    order = sorted(known, key=known.__getitem__)
    values = np.array([known[place] for place in order])
    also = np.array([(beside or {}).get(place, np.nan) for place in order])
    ends = np.array([over.low, over.high, *also])
    drawn = np.concatenate([values, ends[np.isfinite(ends)]])
    digits = decimals(values.tolist(), 3)
    grouped = _grouped(order, groups or {})
    every = dict.fromkeys((groups or {}).values(), ())
    figure = style.new_figure(
        _strip_alt(order, values, over, title, one) + f" Beside them: {other}." * bool(beside),
        _strip_caption(len(order), len(numbers) - len(order), over, chance, zero)
        + f" The other dotted line is chance of the {other} model: {rounded(other_chance or 0)}."
        * (other_chance is not None)
        + _of_groups(every, "colour is of"),
        {**origin, "on_page": "A click on a dot shows its prompt below."},
        height=HEIGHT,
        xaxis=style.axis(
            style.two_lines(title, terms),
            range=_span(drawn, chance),
            exponentformat="none",
            ticklabeloverflow="allow",  # the last label may stand past the end of the axis
        ),
        yaxis={
            "title": {"text": "Prompts, from the lowest up"},
            "showticklabels": False,
            "showgrid": False,
            "ticks": "",
        },
        showlegend=bool(beside) or len(grouped) > 1,
    )
    if np.isfinite(over.low):
        box = {"x0": over.low, "x1": over.high, "y0": 0, "y1": 1, "yref": "paper"}
        figure.add_shape(
            type="rect",
            name="interval",
            fillcolor=style.ACCENTED_BAND,
            line_width=0,
            layer="below",
            **box,
        )
    figure.add_vline(over.mean, line={"color": style.ACCENT, "width": 1.5}, name="mean")
    if chance is not None:
        figure.add_vline(chance, line=style.DOTTED, name="chance")
    if other_chance is not None:
        figure.add_vline(other_chance, line=style.DOTTED, name="other chance")
    if beside:
        figure.add_trace(_rings(order, also, other))
    for color, (group, places) in zip(style.CATEGORIES, grouped.items(), strict=False):
        of_group = with_minus(rounded(float(values[places].mean()), digits))
        called = f"{group}: {mean} {of_group} (n = {len(places)})"
        called = called if group else name
        figure.add_trace(_dots(order, values, texts, called, color, places, one))
    if selected in order:
        figure.add_trace(_chosen(order.index(selected), values))
    return figure


def _rings(order: Sequence[int], values: Float[np.ndarray, " prompt"], name: str) -> go.Scatter:
    """The numbers of another model, each in the row of its prompt."""
    return go.Scatter(
        x=values,
        y=np.arange(1, len(order) + 1),
        customdata=np.array(order).reshape(-1, 1),
        mode="markers",
        marker={"color": style.INK, "size": DOT, "symbol": "circle-open", "line": {"width": 1.5}},
        hovertemplate=f"{name}: %{{x:.3f}}<extra></extra>",
        name=f"the same prompts, {name}",
    )


def _grouped(order: Sequence[int], groups: Mapping[int, str]) -> dict[str, list[int]]:
    """The places of each group in the order, from 0, as the groups come in the list of prompts.

    All are one, without a name, where a prompt is of none, or there is one group, or more than
    there are colours.
    """
    found: dict[str, list[int]] = {groups[number]: [] for number in groups if number in order}
    if not _drawn_groups(found) or any(one not in groups for one in order):
        return {"": list(range(len(order)))}
    for at, number in enumerate(order):
        found[groups[number]].append(at)
    return found


def _dots(
    order: Sequence[int],
    values: Float[np.ndarray, " prompt"],
    texts: Mapping[int, str],
    name: str,
    color: str,
    places: Sequence[int],
    one: str,
) -> go.Scatter:
    """The dots at some places of the order, from 0."""
    return go.Scatter(
        x=values[places],
        y=np.array(places) + 1,
        customdata=np.array(order)[places].reshape(-1, 1),
        mode="markers",
        marker={"color": color, "size": DOT, "opacity": 0.85},
        text=[
            f"{one} {order[at]}: {with_minus(rounded(values[at]))}<br>{_wrapped(texts[order[at]])}"
            for at in places
        ],
        hovertemplate="%{text}<extra></extra>",
        name=name,
    )


def _chosen(at: int, values: Float[np.ndarray, " prompt"]) -> go.Scatter:
    """A larger dot over the chosen one, which leaves hovers and clicks to that.

    It is a trace of its own: a legend shows the colour of a trace's first dot.
    """
    line = {"color": style.ACCENT, "width": 3}
    return go.Scatter(
        x=[values[at]],
        y=[at + 1],
        mode="markers",
        marker={"color": style.ACCENT, "size": DOT * 1.5, "line": line},
        hoverinfo="skip",
        showlegend=False,
        name="chosen",
    )


def _wrapped(text: str) -> str:
    """The beginning of a text in lines, as plotly takes it."""
    lines = textwrap.wrap(textwrap.shorten(text, SHOWN, placeholder=" …"), WRAP)
    return "<br>".join(map(html.escape, lines))


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
        depth: what is counted along the depth.
        origin: the "title" and the "source" of the figure's file.
        log: whether the axis is logarithmic.
        normed: whether the last block has the final norm in it, and the number with it.
        selected: the number of a prompt, and its curve, which is drawn too.
        groups: the medians of the prompts of each group, such as a category. Up to as many groups
            as there are colours have a line each.

    Returns:
        a figure with the traces "middle 80 % of the prompts", "mean over prompts", the mean of each
        group and, where one is selected, its own.
    """
    at = np.arange(first, first + curves.shape[1])
    mean, low, high, _ = curve_over_prompts(curves)
    there = np.isfinite(low)
    figure = style.new_figure(
        f"{title} by depth, mean over {counted(len(curves), 'prompt')} of the median of their "
        "tokens, with the middle 80\u00a0% of the prompts.",
        f"The line is the mean over {counted(len(curves), 'prompt')} of the median of each "
        "prompt's tokens; the band holds the middle 80\u00a0% of the prompts."
        + " The last step has the final norm in it, whose rescaling counts too." * normed
        + _of_groups(groups or {}, "thinner line is the mean over"),
        origin,
        height=HEIGHT,
        xaxis={"title": {"text": depth}},
        yaxis=style.axis(title) | (style.log_axis(curves) if log else {}),
    )
    band = style.band(
        at[there],
        low[there],
        high[there],
        "middle 80\u00a0% of the prompts",
        color=style.ACCENTED_BAND,
        listed=True,
    )
    figure.add_trace(band)
    figure.add_trace(style.line(at, mean, "mean over prompts", style.ACCENT, 2.5))
    for color, (group, of) in zip(style.CATEGORIES, _drawn_groups(groups or {}), strict=False):
        called = f"{group}: mean over {counted(len(of), 'prompt')}"
        figure.add_trace(style.line(at, curve_over_prompts(of).mean, called, color, 1.5))
    if selected:
        number, curve = selected
        figure.add_trace(style.line(at, curve, f"prompt {number}", style.CATEGORIES[0]))
    return figure


def _drawn_groups(groups: Mapping[str, Of]) -> list[tuple[str, Of]]:
    """The groups, where there are several, and no more than colours."""
    return [*groups.items()] if 1 < len(groups) <= len(style.CATEGORIES) else []


def _of_groups(groups: Mapping[str, object], what: str) -> str:
    """What is said of groups: what is of each, or that they are too many to be drawn."""
    if len(groups) < 2:
        return ""
    if _drawn_groups(groups):
        return f" Each {what} one group of prompts."
    most = len(style.CATEGORIES)
    return f" The prompts are of {len(groups)} groups, and more than {most} have no colours."


def _view(parts: Sequence[OfPrompt]) -> View:
    view = parts[0].scores.view
    assert view is not None  # `of_prompt` gives one
    return replace(view, blocks=parts[0].scores.blocks)


def _told(parts: Sequence[OfPrompt]) -> str:
    uncertified = sum(not part.certified for part in parts)
    if not uncertified:
        return ""
    return f" Of {counted(uncertified, 'prompt')} not all SVDs are certified."


def _span(values: Float[np.ndarray, " prompt"], chance: float | None) -> list[float] | None:
    """A range with room at both ends, that has chance in it."""
    if not values.size:
        return None
    low, high = values.min(), values.max()
    if chance is not None:
        low, high = min(low, chance), max(high, chance)
    room = 0.05 * ((high - low) or 1)
    return [float(low - room), float(high + room)]


def _strip_alt(
    order: Sequence[int],
    values: Float[np.ndarray, " prompt"],
    over: Interval,
    title: str,
    one: str,
) -> str:
    if not order:
        return f"{title}: no prompt has a number."
    return (
        f"{title} of {counted(len(order), 'prompt')}, a dot each: mean {rounded(over.mean)}, from "
        f"{rounded(float(values[0]))} ({one} {order[0]}) to {rounded(float(values[-1]))} ({one} "
        f"{order[-1]})."
    )


def _strip_caption(n: int, without: int, over: Interval, chance: float | None, zero: str) -> str:
    told = "A dot is a prompt. The red line is the mean over the prompts"
    told += ", the band its 95\u00a0% interval." if np.isfinite(over.low) else "."
    if chance is not None:
        floors = ", the mean of the prompts' floors" * (zero == "chance" and chance != 0)
        told += f" The dotted line is {zero}: {rounded(chance) if chance else 0}{floors}."
    return told + f" {counted(without, 'prompt')} without a number." * bool(without)
