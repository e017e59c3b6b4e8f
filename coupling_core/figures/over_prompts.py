"""One model over many prompts: the mean map and graph, and where each prompt stands."""

import html
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from coupling_core.analysis.over_prompts import OfPrompt, mean_scores, origin
from coupling_core.analysis.over_prompts import mean_graph as graph_over_prompts
from coupling_core.analysis.path_curves import curve_over_prompts
from coupling_core.analysis.scores import Interval, last_row
from coupling_core.base.curves import Curves
from coupling_core.base.numbers import number_of
from coupling_core.base.records import DEFAULT_THRESHOLD, View
from coupling_core.base.results import Scores
from coupling_core.base.units import counted, decimals, rounded, with_minus
from coupling_core.base.wording import paragraph
from coupling_core.figures import style, words
from coupling_core.figures.curves import Series, curves
from coupling_core.figures.graph import graph_of, graph_summary
from coupling_core.figures.maps import score_map
from coupling_core.figures.score_squares import ScoreSquare

Of = TypeVar("Of")

HEIGHT = 360
DOT = 9
"""Pixels of a prompt's dot; of the selected one, half as many more."""
WRAP, SHOWN = 60, 240
"""Letters of a line, and of all that is shown, of a prompt's text under the mouse."""
BY_DEPTH = Curves(
    y="{title}",
    caption="The line is the mean over {n} of the median of each prompt's tokens; the band holds "
    "the middle 80\u00a0% of the prompts.{more}",
    at="l = ",
    hover=".4g",
    height=HEIGHT,
)


def mean_map(
    parts: Sequence[OfPrompt], listed: str, *, corrected: bool = True, **look: Any
) -> go.Figure:
    """Map of the mean score of every pair over the prompts of a list, as `figures.scores`."""
    found, view = _means(parts)
    uncertified = sum(not part.certified for part in parts)
    caption = paragraph(
        f"Each cell is the mean over {counted(len(parts), 'prompt')} of the "
        f"{style.score_name(corrected).lower()} of that pair: the scores are averaged, not the "
        "matrices. Rows are the Jacobian's block, columns the basis; "
        f"{words.zero_words(corrected, found.mean().chance)}. The diagonal is 1 by "
        "construction, and grey.",
        last_row(parts[0].final_norm, parts[0].n_blocks, found, corrected),
        (uncertified, f"{counted(uncertified, 'prompt')} with SVDs that are not certified."),
    )
    square, told = ScoreSquare.of(found), origin(parts, listed, view)
    return score_map(square, view, told["title"], caption, told, corrected=corrected, **look)


def mean_graph(
    parts: Sequence[OfPrompt],
    listed: str,
    *,
    corrected: bool = True,
    threshold: float = DEFAULT_THRESHOLD,
    **look: Any,
) -> go.Figure:
    """The layer graph of the mean scores over the prompts of a list, drawn as `figures.graph`."""
    found, view = _means(parts)
    blocks = graph_over_prompts(parts, corrected=corrected, threshold=threshold)
    summary = f"{graph_summary(blocks)} An edge is of the mean of the prompts' scores."
    told = origin(parts, listed, view) | {"summary": summary}
    of = blocks, found, parts[0].n_blocks, view, told["title"]
    return graph_of(*of, corrected=corrected, told=told, **look)


def prompt_strip(
    numbers: Mapping[int, float],
    texts: Mapping[int, str],
    over: Interval,
    title: str,
    *,
    origin: Mapping[str, object],
    terms: str = "",
    levels: Mapping[str, float] | None = None,
    selected: int = 0,
    beside: Mapping[int, float] | None = None,
    other: str = "",
    name: str = "prompts",
    groups: Mapping[int, str] | None = None,
    one: str = "prompt",
) -> go.Figure:
    """Where each prompt stands: a dot a prompt, from the lowest number up.

    Numbers and texts are by the prompts' places in their list, from 1, and `over` is their mean.
    `levels` are chance levels or ideal values by name, of which the axis reaches the first. `name`
    is of the dots, and `one` stands before a prompt's place.
    """
    known = {place: value for place, value in numbers.items() if np.isfinite(value)}
    order = sorted(known, key=known.__getitem__)
    x, y = np.array([known[place] for place in order]), np.arange(1, len(order) + 1)
    rings = np.array([(beside or {}).get(place, np.nan) for place in order])
    groups, levels, digits = groups or {}, levels or {}, decimals(x.tolist(), 3)
    without, members = len(numbers) - len(order), _members(order, groups)
    alt = f"{title}: no prompt has a number."
    if order:
        low, high = (f"{rounded(x[at])} ({one} {order[at]})" for at in (0, -1))
        n = counted(len(order), "prompt")
        alt = f"{title} of {n}, a dot each: mean {rounded(over.mean)}, from {low} to {high}."
    figure = style.new_figure(
        alt + f" Open circles: {other}." * bool(beside),
        paragraph(
            "Each dot is a prompt. The red line is the mean over the prompts"
            + (", the band its 95\u00a0% interval." if np.isfinite(over.low) else "."),
            *(f"The dotted line is {what}: {at:.3g}." for what, at in levels.items()),
            (without, f"{counted(without, 'prompt')} without a number."),
            _groups_caption(dict.fromkeys(groups.values()), "colour is"),
        ),
        {**origin, "on_page": "A click on a dot shows its prompt below."},
        height=HEIGHT,
        xaxis=style.axis(
            style.two_lines(title, terms),
            range=style.with_room(
                np.array([*x, *rings, over.low, over.high, *[*levels.values()][:1]]), 0.05
            ),
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
    for what, at in levels.items():
        figure.add_vline(at, line=style.DOTTED, name=what)
    places = np.array(order)[:, None]
    if beside:
        ring = {"color": style.INK, "size": DOT, "symbol": "circle-open", "line_width": 1.5}
        theirs = style.dots(rings, y, f"the same prompts, {other}", ring, customdata=places)
        figure.add_trace(theirs.update(hovertemplate=f"{other}: %{{x:.3f}}<extra></extra>"))
    for color, (group, rows) in zip(style.CATEGORIES, members.items(), strict=False):
        of_group = f"{group}: mean {with_minus(rounded(x[rows].mean(), digits))} (n = {len(rows)})"
        told = [
            f"{one} {order[row]}: {with_minus(rounded(x[row]))}<br>{_wrapped(texts[order[row]])}"
            for row in rows
        ]
        look = {"color": color, "size": DOT, "opacity": 0.85}
        called = of_group if group else name
        own = style.dots(x[rows], y[rows], called, look, told, customdata=places[rows])
        figure.add_trace(own)
    if selected in known:  # a trace of its own: a legend shows the colour of a trace's first dot
        line = {"color": style.ACCENT, "width": 3}
        marker = {"color": style.ACCENT, "size": DOT * 1.5, "line": line}
        row = order.index(selected)
        chosen = style.dots([x[row]], [y[row]], "chosen", marker, customdata=[[selected]])
        figure.add_trace(chosen.update(hoverinfo="skip", showlegend=False))
    return figure


def by_depth_over_prompts(
    curves_of: Float[np.ndarray, "prompt depth"],
    curve: Curves,
    *,
    origin: Mapping[str, object],
    normed: bool = False,
    selected: tuple[int, Float[np.ndarray, " depth"]] | None = None,
    groups: Mapping[str, Float[np.ndarray, "_ depth"]] | None = None,
) -> go.Figure:
    """A number of paths by depth: the mean over prompts of the median of each prompt's tokens."""
    at = np.arange(curve.first, curve.first + curves_of.shape[1])
    mean, low, high, _ = curve_over_prompts(curves_of)
    series = [
        Series(
            "mean over prompts",
            at,
            mean,
            style.ACCENT,
            2.5,
            tint=style.ACCENTED_BAND,
            band=(low, high),
            band_name="middle 80\u00a0% of the prompts",
        )
    ]
    for color, (group, of) in zip(
        style.CATEGORIES, _with_colors(groups or {}).items(), strict=False
    ):
        called = f"{group}: mean over {counted(len(of), 'prompt')}"
        series.append(Series(called, at, curve_over_prompts(of).mean, color, 1.5))
    if selected:
        number, curve_of = selected
        series.append(Series(f"prompt {number}", at, curve_of, style.CATEGORIES[0]))
    n = counted(len(curves_of), "prompt")
    more = paragraph(
        (normed, "The last step includes the final norm, whose rescaling counts too."),
        _groups_caption(groups or {}, "thinner line is the mean over"),
    )
    words = {
        "title": number_of("trajectory", curve.numbers[0]).title,
        "n": n,
        "more": f" {more}" * bool(more),
    }
    spec = replace(BY_DEPTH, x=curve.x_title, log=curve.log)
    return curves(series, spec, f"mean over {n}", words, told=origin)


def _means(parts: Sequence[OfPrompt]) -> tuple[Scores, View]:
    found = mean_scores([part.scores for part in parts])
    return found, replace(found.view, blocks=found.blocks)


def _members(order: Sequence[int], groups: Mapping[int, str]) -> dict[str, list[int]]:
    """The rows of each group's prompts; all in one without a name where colours tell none."""
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


def _with_colors(groups: Mapping[str, Of]) -> Mapping[str, Of]:
    """The groups, if there are several, and no more than colours; else none."""
    return groups if 1 < len(groups) <= len(style.CATEGORIES) else {}


def _groups_caption(groups: Mapping[str, object], each: str) -> str:
    most = len(style.CATEGORIES)
    return paragraph(
        (_with_colors(groups), f"Each {each} one group of prompts."),
        (len(groups) > most, f"The {len(groups)} groups have no colours: at most {most} can."),
    )
