"""The Perturbation page's figures: noise by size, by depth, and where first order ends."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated, cast

import streamlit as st

from coupling_core import figures
from coupling_core.analysis.exports import frame
from coupling_core.analysis.perturbation import nearest_size
from coupling_core.base.records import AnyView, Request
from coupling_core.base.results import PerturbationResult
from coupling_core.base.units import with_minus
from explorer.asking.several import offer_twin, stored_twin
from explorer.panels.chart import Shown, draw, draw_named, draw_partial, made
from explorer.panels.page import Page
from explorer.panels.recipes import Recipes, measuring, program
from explorer.panels.strip import strip
from explorer.session.link import Parameter, expect
from explorer.session.session import bound
from explorer.session.state import State

GUIDE = """
**Noise.** A random vector is added to the embedding of the chosen token, and the model runs on. Its
size is in units of the embedding's own norm: 0.1 is a tenth of it. Each size is drawn 32 times. The
preprint's Figure 34 shows how alike the states stay behind the first and the last block.

**Where the noise lies.** Anywhere; only along the directions that block 1 reads most; or only along
as many random directions, which is the control.

**First order.** Near the states that it met, the model is a product of matrices, *M = I + J* of
each block. What that product makes of the noise is dashed. Where dashed and solid curves part, a
Jacobian no longer says what happens.

**Radius.** The size of noise at which the product is off by a tenth of the true change, in half of
the draws. It is the neighbourhood in which everything that is said of Jacobians here holds. In a
model that reads both ways, noise also travels over other tokens, which the product leaves out.
"""


@dataclass(frozen=True)
class PerturbationState(State):
    """What is chosen on this page.

    Args:
        noise: the size at which the distances over depth are drawn.
    """

    noise: Annotated[
        float, Parameter("noise"), expect(lambda e: 0 < e < float("inf"), "a positive number")
    ] = 0.1


PAGE = Page(
    "Perturbation",
    "pages/12_Perturbation.py",
    "Why",
    state=PerturbationState,
    kinds=("perturbation",),
    guide=GUIDE,
    asks_k=False,
)
VIEW = AnyView()


def recipes(request: Request) -> Recipes:
    """How to come by the numbers outside the app."""
    names = "found)  # by way and state; see also result.cosine and result.error"
    return Recipes(
        program(request, None, "perturbation_radius", names),
        measuring("perturbation", request, {}, {}),
    )


def show(result: PerturbationResult, state: PerturbationState) -> None:
    """Draw a stored result."""
    strip(result, VIEW, recipes(result.request), GUIDE)
    st.markdown(with_minus(result.part("views").verdict(result, VIEW)))
    shown, table = Shown(result, VIEW), partial(frame, result, VIEW)
    twin = cast(PerturbationResult | None, stored_twin(result.request))
    left, right = st.columns(2, gap="large")
    with left:
        st.header("How alike the states stay", anchor=False)
        draw(made(figures.noise_by_size, result, twin=twin), "by-size", shown, table)
    with right:
        st.header("How far a Jacobian can be trusted", anchor=False)
        draw_named("radius", shown, twin=twin)
    st.header("How far noise gets", anchor=False)
    sizes = result.noise_sizes.tolist()
    at = nearest_size(result, state.noise)
    bound(
        st.select_slider,
        "Size of the noise, in norms of the embedding",
        "noise",
        sizes,
        write=lambda _: sizes[at],
        format_func=lambda size: f"{size:g}",
        width=420,
    )
    draw(made(figures.noise_by_depth, result, size=sizes[at], twin=twin), "by-depth", shown, table)
    offer_twin(result.request)


def partial_perturbation(result: PerturbationResult) -> None:
    """The cosines so far."""
    draw_partial(figures.noise_by_size(result))
