"""The Spectrum page's figures: eigenvalues of the blocks' linear maps, and products over depth."""

from dataclasses import dataclass
from typing import cast

import streamlit as st

from coupling_core import figures
from coupling_core.base.drawing import figures_of
from coupling_core.base.records import AnyView, Request
from coupling_core.base.results import SpectrumResult
from explorer.asking.several import offer_twin, stored_twin
from explorer.pages.directions import page as directions
from explorer.panels.chart import Shown, draw_named, draw_partial
from explorer.panels.page import Page
from explorer.panels.recipes import Recipes, measuring, program
from explorer.panels.strip import strip
from explorer.panels.way import way
from explorer.session.link import Natural
from explorer.session.session import bound
from explorer.session.state import State

GUIDE = """
**Eigenvalues.** Near the state that it met, a block is the matrix *M = I + J*. A direction that *M*
only scales is an eigenvector, and its eigenvalue says by how much: 1 leaves it as it is, what lies
outside the circle grows, what lies inside shrinks, and a pair off the real axis turns.

**Certain or not.** Eigenvalues of a matrix that is far from normal may move far when the matrix
changes little. Open circles may be off by more than a hundredth, given what float32 leaves of the
Jacobian. A click on an eigenvalue shows its block alone.

**Normal or not.** A normal matrix has orthogonal eigenvectors. The departure is the share of *M*
that no such matrix has. Where *u · v* is below 0, a block takes away from a state what it acts on
most.

**Products.** Block after block, a small change of the first state is multiplied by each *M* in
turn. The effective rank is the number of directions that arrive with about the same strength. The
crosses show the same blocks in random orders: only what differs from them is due to the order.
All of it is linear, at the states of this one token.
"""


@dataclass(frozen=True)
class SpectrumState(State):
    """What is chosen on this page.

    Args:
        only: the block whose eigenvalues are drawn; 0 draws those of all.
    """

    only: Natural = 0


PAGE = Page(
    "Spectrum",
    "pages/11_Spectrum.py",
    "Why",
    state=SpectrumState,
    kinds=("spectrum",),
    guide=GUIDE,
    asks_k=False,
)
VIEW = AnyView()


def recipes(request: Request) -> Recipes:
    """How to come by the spectra outside the app."""
    names = "found)  # by block; see also result.departure, .values and .to_pandas()"
    return Recipes(
        program(request, None, "effective_rank", names, ".product_values"),
        measuring("spectrum", request, {}, {}),
    )


def show(result: SpectrumResult, state: SpectrumState) -> None:
    """Draw a stored result."""
    strip(result, VIEW, recipes(result.request), GUIDE)
    st.markdown(result.part("views").verdict(result, VIEW))
    shown = Shown(result, VIEW)
    twin = cast(SpectrumResult | None, stored_twin(result.request))
    left, right = st.columns(2, gap="large")
    with left:
        st.header("Eigenvalues", anchor=False)
        bound(st.slider, "Block (0 shows all)", "only", 0, result.n_blocks, width=320)
        block = min(state.only, result.n_blocks) or None
        draw_named("eigenvalues", shown, picks=("only",), block=block)
        if block:
            told = f"What the directions of block {block} read, write and do"
            way(directions.PAGE, told, block=block)
    with right:
        st.header("How far from normal", anchor=False)
        draw_named("maps", shown, twin=twin)
        st.header("What products leave over", anchor=False)
        draw_named("products", shown, twin=twin)
    for name in figures_of("spectrum"):
        if name not in ("eigenvalues", "maps", "products"):
            draw_named(name, shown, twin=twin)
    offer_twin(result.request)


def partial_spectrum(result: SpectrumResult, state: SpectrumState) -> None:
    """The eigenvalues so far."""
    draw_partial(figures.eigenvalues(result))
