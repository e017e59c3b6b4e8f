"""What is compared, in what the two differ, and the ways to take it along."""

from dataclasses import replace

import streamlit as st

from coupling_core import figures
from coupling_core.analysis import exports
from coupling_core.analysis.compare import Comparison, differences
from coupling_core.analysis.exports.compare import comparison_arrays, comparison_table
from coupling_core.base.records import View
from explorer.panels.recipes import Recipes, call, command, raw, viewed
from explorer.panels.strip import facts, take_along
from explorer.session.plain_text import plain
from explorer.session.state import State

_BYTES = "application/octet-stream"
GUIDE = """
**Three maps.** *A* and *B* in one range, and their difference: red where *A* is coupled more, blue
where *B* is. Row *l* is the block of the Jacobian, column *l'* the block of the basis.

**Matching.** Blocks go by number. Where the two models differ in depth, block *l* of the shallower
lies at *r* = (*l* - 1) / (*L* - 1) and is matched with the block of the deeper model whose *r* is
nearest; nothing is interpolated. All numbers that you select are *A*'s.

**Correlation** is that of the two maps, pair by pair, without the diagonal: near 1 where the same
blocks are coupled in both, whatever the mean. Two prompts of one model have much in common; a
trained model and its untrained twin have nothing.

**Widths.** Models of other widths have other chance floors at one *K*: compare chance-corrected
scores or alignments, not raw ones.
"""


def recipes(left: str, right: str, view: View, state: State) -> Recipes:
    """How to come by what a comparison comes to outside the app.

    Args:
        left: store key of A.
        right: store key of B.
        view: how both are looked at.
        state: its switches.
    """
    more = ", corrected=False" if state.raw else ""
    program = [
        "from coupling_core import Store, View, compare, summarise",
        "",
        f'left, right = (Store().get(key) for key in ("{left}", "{right}"))',
        f"found = compare(left, right, {call(view)}{more})",
        "print(summarise(found))  # see also found.difference, found.left_scores",
    ]
    options = viewed(state, blocks=True)
    shell = command(f"compare {left} {right}", {"k": view.k}, options, raw(state))
    return Recipes("\n".join(program), shell)


def compare_strip(found: Comparison, state: State) -> None:
    """Say what is compared, in what the two differ, and offer ways to take it along.

    Args:
        found: the comparison.
        state: how it is looked at.
    """
    with st.container(gap="xsmall"):
        for side, result in (("A", found.left), ("B", found.right)):
            st.caption(f"**{side}** · {facts(result, found.view)}")
        st.caption(f"They differ in · {plain('; '.join(differences(found)))}")
        keys = (found.left.key, found.right.key)
        view = replace(found.view, blocks=state.view(found.left.n_blocks).blocks)
        take_along(lambda: _files(found), recipes(*keys, view, state), GUIDE)


def _files(found: Comparison) -> None:
    for label, data, name in (
        ("Arrays (.npz)", lambda: exports.to_npz(comparison_arrays(found)), "comparison.npz"),
        ("Differences (.csv)", lambda: comparison_table(found), "comparison.csv"),
        ("All three maps (.html)", lambda: _page(found), "comparison.html"),
    ):
        st.download_button(label, data, name, _BYTES, on_click="ignore", width="stretch")


def _page(found: Comparison) -> bytes:
    return figures.render(figures.comparison(found), ".html", found.left, found.view)
