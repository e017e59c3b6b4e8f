"""The Directions page's figures: what singular vectors say beyond chance, and where they recur."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal, cast, get_args

import pandas as pd
import streamlit as st

from coupling_core import figures
from coupling_core.analysis.directions import gaps, tied
from coupling_core.base.records import DirectionsView, Request
from coupling_core.base.results import DirectionsResult
from coupling_core.base.results.directions import READOUTS
from coupling_core.base.units import with_minus
from coupling_core.figures.directions import LABELS
from explorer.asking.several import offer_twin, stored_twin
from explorer.pages.directions import common, effect
from explorer.panels.chart import Shown, draw, draw_named, draw_partial, made
from explorer.panels.page import Page
from explorer.panels.recipes import Recipes, measuring, program
from explorer.panels.strip import strip
from explorer.panels.switches import switches
from explorer.session.link import Count, Parameter, expect
from explorer.session.plain_text import plain
from explorer.session.session import bound
from explorer.session.state import State

Readout = Literal["writes", "reads", "reads_embedding"]
GUIDE = """
**Directions.** Near the state that it met, a block turns a small change along *v* into one along
*u*, *s* times as long. What it reads is *v*, what it writes is *u*. The first few of each block are
those with the largest *s*.

**Readouts.** A direction is compared with every token's row of the unembedding (or of the
embedding). Every direction has a nearest token, a random one too. So a readout counts only where it
is more peaked than those of 99 in 100 random directions. All others are grey: their tokens mean
nothing, however good a story they make.

**Ties.** Where two singular values are closer than rounding can tell, only the plane of both
directions means anything. Such rows are marked with ~.

**Over depth.** The gain says what every other block does with the same pair of directions. The
second figure says how much of each direction lies among the leading ones of other blocks.

**What it does.** The direction is added to the state at the token, and the rest of the model runs.
Random directions of the same size stand beside it: what does no more than they do is no effect of
this direction. Where the untrained twin is measured, its own direction of the same number is added
to its own state too.

**In common.** The directions that lie most in the leading ones of all chosen blocks. How many
independent subspaces would share is known, and only what is beyond that counts. They are those that
the chosen readout is about: what the blocks write, or what they read.
"""


@dataclass(frozen=True)
class DirectionsState(State):
    """What is chosen on this page.

    Args:
        component: k, which of the block's directions.
        readout: by what the block's directions are read out.
        push: e, how far the direction is added, in units of the state's norm.
        first_block: of those whose shared directions are looked for.
        last_block: of them.
    """

    component: Count = 1
    readout: Readout = "writes"
    push: Annotated[float, expect(lambda e: e in effect.SIZES, "one of the sizes")] = 0.3
    first_block: Annotated[Count, Parameter("from")] = 9
    last_block: Annotated[Count, Parameter("to")] = 16


PAGE = Page(
    "Directions",
    "pages/10_Directions.py",
    "Why",
    state=DirectionsState,
    kinds=("directions",),
    guide=GUIDE,
    asks_k=False,
)
VIEW = DirectionsView()


def recipes(request: Request) -> Recipes:
    """How to come by the directions outside the app."""
    names = "found.count, found.share[:5])  # shared by all blocks; see also result.beyond_chance"
    return Recipes(
        program(request, VIEW, "shared_of", names),
        measuring("directions", request, {}, {}),
    )


def show(result: DirectionsResult, state: DirectionsState) -> None:
    """Draw a stored result."""
    strip(result, VIEW, recipes(result.request), GUIDE)
    st.markdown(result.part("views").verdict(result, VIEW))
    shown = Shown(result, VIEW)
    twin = cast(DirectionsResult | None, stored_twin(result.request))
    st.header("How many say more than chance", anchor=False)
    draw_named("readouts", shown, twin=twin)
    offer_twin(result.request)
    block, component = _chosen(result, state)
    _list(result, block, state.readout)
    st.header(f"Direction {component} of block {block}", anchor=False)
    left, right = st.columns(2, gap="large")
    table = partial(figures.direction_table, result, block, component)
    with left:
        figure = made(figures.direction_track, result, block, component)
        draw(figure, "gain-over-depth", shown, table)
    with right:
        figure = made(figures.direction_elsewhere, result, block, component)
        draw(figure, "held-over-depth", shown, table)
    effect.show(result, block, component, state, twin)
    if result.n_blocks > 1:
        st.header("What several blocks have in common", anchor=False)
        first, last = common.bounds(result, state.first_block, state.last_block)
        side = "u" if state.readout == "writes" else "v"
        common.show(result, first, last, side, shown)


def partial_directions(result: DirectionsResult, state: DirectionsState) -> None:
    """How many readouts are beyond chance, so far."""
    draw_partial(figures.readouts(result, VIEW))


def _chosen(result: DirectionsResult, state: DirectionsState) -> tuple[int, int]:
    """The block and the direction, by number inputs; those nearest to what was asked for."""
    block = min(state.block, result.n_blocks)
    most = max(1, int(result.rank[block - 1]))
    component = min(state.component, most)
    st.header("What one block's directions say", anchor=False)
    there = [name for name in get_args(Readout) if name not in result.missing]
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        for label, field, number, last in (
            ("Block l", "block", block, result.n_blocks),
            ("Direction k", "component", component, most),
        ):
            bound(
                st.number_input,
                label,
                field,
                1,
                last,
                place="directions",
                write=lambda _, number=number: number,
                width=140,
            )
        if there:
            words = {name: LABELS[name][0].upper() + LABELS[name][1:] for name in there}
            switches([("Readout", "readout", words)], "directions")
    return block, component


def _list(result: DirectionsResult, block: int, readout: Readout) -> None:
    """The block's directions with both ends of their readouts, or that these are chance."""
    at = READOUTS.index(readout)
    if why := result.missing.get(readout):
        st.info(f"There is no such readout: {plain(why)}.")
    gap, ties = gaps(result)[block - 1], tied(result)[block - 1]
    beyond = result.beyond_chance[at, block - 1]
    rows = []
    for k in range(int(result.rank[block - 1])):
        ends = [_end(result, at, block, k, sign) for sign in (0, 1)]
        rows.append(
            {
                "k": f"{k + 1}{' ~' if ties[k] else ''}",
                "towards": ends[0] if beyond[k] else common.CHANCE,
                "away": ends[1] if beyond[k] else common.CHANCE,
                "peakedness": float(result.peakedness[at, block - 1, k]),
                "singular value": float(result.singular_values[block - 1, k]),
                "gap to the next": float(gap[k]),
            }
        )
    table = pd.DataFrame(rows)
    st.dataframe(
        common.greyed(table, beyond[: len(rows)]),
        hide_index=True,
        height=320,
        column_config={
            name: st.column_config.NumberColumn(format=format)
            for name, format in (
                ("singular value", "%.3g"), ("gap to the next", "%.2g"), ("peakedness", "%.2f")
            )
        },
        alt=f"Directions of block {block} with their singular values and readouts",
    )  # fmt: skip
    st.caption(
        f"{int(beyond.sum())} of {result.count} are more peaked than "
        f"{result.floor[at, block - 1]:.2f}, which 1 of 100 random directions exceeds. In "
        "brackets: how many standard deviations the first token lies from the mean of all. A row "
        "with ~ is tied with the next."
    )


def _end(result: DirectionsResult, readout: int, block: int, k: int, sign: int) -> str:
    ids = result.top[readout, block - 1, k, sign]
    texts = " ".join(repr(result.vocabulary[str(i)]) for i in ids if i >= 0)
    return f"{texts} ({with_minus(f'{result.top_z[readout, block - 1, k, sign, 0]:+.1f}')})"
