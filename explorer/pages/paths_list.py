"""The Trajectories page over a list of prompts: one number of the paths of each prompt."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
import streamlit as st
from jaxtyping import Float

from coupling_core import figures
from coupling_core.analysis.exports import columns_of
from coupling_core.analysis.path_curves import median
from coupling_core.base.curves import Curves
from coupling_core.base.drawing import figures_of
from coupling_core.base.numbers import Number, array_of, mean, number_of
from coupling_core.base.records import Request
from coupling_core.base.results import TrajectoryResult
from coupling_core.base.units import counted
from explorer.asking import listing
from explorer.pages.trajectories import NUMBERS, PathsState
from explorer.panels import over_list
from explorer.panels.chart import draw
from explorer.panels.recipes import Recipes, many, measuring
from explorer.panels.switches import switches
from explorer.server.prompt_lists import PromptList
from explorer.session.plain_text import plain

GUIDE = """
**Prompts.** Each dot is one prompt: the mean of a number over its tokens. The line is the mean over
the prompts, and the band its 95\u00a0% interval. A click on a dot shows the prompt.

**By depth.** Of each prompt the median of its tokens; the line is the mean over the prompts.
"""
DEFAULT = "straightness"


@dataclass(frozen=True)
class Group:
    """What is drawn of each prompt.

    Args:
        words: what people call it.
        figure: of a number of each whole path.
        curve: of a number by depth.
    """

    words: str
    figure: str
    curve: str

    @property
    def number(self) -> Number:
        """The number of whole paths."""
        return number_of("trajectory", spec(self.figure).numbers[0])


GROUPS: Mapping[str, Group] = {
    name: Group(words, *names[:2]) for name, (words, names) in NUMBERS.items() if len(names) > 1
}
"""By their names in the state; the other groups of the page are of one prompt."""


@dataclass(frozen=True, eq=False)
class Paths:
    """What is kept of a prompt's result.

    Args:
        model: what to call it.
        final_norm: whether it belongs to the last block, in words.
        number: mean over the tokens; NaN where none has one.
        curve: median over the tokens.
    """

    model: str
    final_norm: str
    number: float
    curve: Float[np.ndarray, " depth"]


def spec(figure: str) -> Curves:
    """The record of a figure of numbers."""
    return cast(Curves, figures_of("trajectory")[figure].draws)


def paths_of(result: TrajectoryResult, figure: str, curve: str) -> Paths:
    """What is kept of a result."""
    number, by_depth = (
        array_of(result, result.default_view(), spec(name).numbers[0]) for name in (figure, curve)
    )
    return Paths(result.model_name, result.final_norm_words, mean(number), median(by_depth))


def show(state: PathsState, listed: PromptList) -> None:
    """Draw the page for a list."""
    group = GROUPS.get(state.along, GROUPS[DEFAULT])
    requests = listing.asked(state.request("trajectory"), listed)
    found = over_list.measured(requests, paths_of, group.figure, group.curve)
    if not found:
        return
    numbers = _numbers(listed, found, group)
    over_list.tell(numbers, f"of each prompt's tokens' {_name(group)}")
    names = {name: one.words for name, one in GROUPS.items()}
    shown = names if state.along in names else names | {state.along: "One prompt's alone"}
    switches([("What is drawn", "along", shown)], "trajectories-list")
    left, right = st.columns(2, gap="large")
    with left:
        over_list.strip_of(numbers, state.nth)
    with right:
        _by_depth(found, group, numbers, state.nth)
    line = f"**{plain(next(iter(found.values())).model)}** · {plain(listed.title)}"
    over_list.tools(numbers, recipes(requests[0], group, listed), GUIDE, (), line)


def recipes(request: Request, group: Group, listed: PromptList) -> Recipes:
    """How to come by the numbers of a list outside the app."""
    file, column = over_list.file_called(listed), group.number.name
    norm = {} if request.final_norm == Request.final_norm else {"final_norm": request.final_norm}
    return Recipes(
        many(request, "trajectory", file, column, norm),
        measuring("trajectory", request, {}, {}, prompts=file),
    )


def _name(group: Group) -> str:
    """The number in words, without what it is compared with."""
    title = group.number.title.partition(" (")[0]
    return title[0].lower() + title[1:]


def _numbers(listed: PromptList, found: Mapping[int, Paths], group: Group) -> over_list.Numbers:
    first = next(iter(found.values()))
    column = columns_of("trajectory")[group.number.name]
    whose = f"{first.model}, {counted(len(found), 'prompt')} of {listed.title}"
    return over_list.Numbers(
        listed,
        {number: one.number for number, one in found.items()},
        f"Mean over the tokens: {group.number.title}",
        group.number.name,
        {"title": whose, "source": f"{whose} · {first.final_norm}"},
        chance=cast(float | None, column.ideal),
        zero=column.ideal_name,
    )


def _by_depth(
    found: Mapping[int, Paths], group: Group, numbers: over_list.Numbers, nth: int
) -> None:
    curve = spec(group.curve)
    curves = np.stack([one.curve for one in found.values()])
    figure = figures.by_depth_over_prompts(
        curves,
        curve,
        origin=numbers.origin,
        normed=curve.rescaled and next(iter(found.values())).final_norm == "final norm included",
        selected=(nth, found[nth].curve) if nth in found else None,
    )
    draw(figure, group.curve, None, lambda: _table(found, curve.first))


def _table(found: Mapping[int, Paths], first: int) -> pd.DataFrame:
    columns = {f"prompt {number}": one.curve for number, one in found.items()}
    n = len(next(iter(found.values())).curve)
    return pd.DataFrame({"depth": range(first, first + n)} | columns)
