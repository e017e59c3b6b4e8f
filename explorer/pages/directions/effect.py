"""What a direction does: added to the state, with the rest of the model run on."""

from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from coupling_core.base.results import DirectionsResult
from coupling_core.base.settings import settings
from coupling_core.base.trials import UNITS, Steering
from coupling_core.base.units import with_minus
from coupling_core.measuring.trying import steer
from explorer.panels.kept import kept
from explorer.server import admission, backend
from explorer.server.engine import ask
from explorer.session.plain_errors import plain_errors
from explorer.session.session import bound
from explorer.session.state import State

SIZES = (-3.0, -1.0, -0.3, -0.1, 0.1, 0.3, 1.0, 3.0)
"""How far, in units of the state's norm: all are run together, so that the slider costs nothing."""
_ASKED = "_steered"
"""Where the session keeps what steering was asked for."""


def show(
    result: DirectionsResult,
    block: int,
    component: int,
    state: State,
    twin: DirectionsResult | None,
) -> None:
    """Offer to add the direction, and tell what came of it.

    Where the untrained twin's directions are stored, its own is tried beside.
    """
    side = "u" if state.readout == "writes" else "v"
    told = "writes" if side == "u" else "reads"
    st.header(f"What it does: the direction that block {block} {told}", anchor=False)
    request, n_blocks = result.request, result.n_blocks
    if block == n_blocks and side == "u" and result.provenance.get("final_norm", True):
        if request.final_norm == "include":
            st.info(
                "What the last block writes comes out of the final norm, and nothing is added "
                "behind it. Leave the final norm out (Advanced) to try it."
            )
            return
    asked = (request, block, component, side)
    if st.session_state.get(_ASKED) == asked:
        with plain_errors(), st.spinner("The rest of the model runs with the direction added"):
            has_twin = twin is not None and component <= int(twin.rank[block - 1])
            untrained = kept(_steered, twin, block, component, side) if has_twin else None
            _tell(kept(_steered, result, block, component, side), state.push, untrained)
    elif settings().read_only or backend.gone(request):
        st.caption("Directions are not tried here: that needs the model.")
    elif st.button("Add it to the state", icon=":material/play_arrow:"):
        st.session_state[_ASKED] = asked
        st.rerun()


def _steered(result: DirectionsResult, block: int, component: int, side: str) -> Steering:
    admission.require(backend.resolved(result.request))
    run = partial(
        steer, result, block=block, components=(component,), sizes=SIZES, side=side, progress=False
    )
    return ask(run, about=result.request)  # type: ignore[no-any-return]


def _tell(found: Steering, size: float, untrained: Steering | None) -> None:
    bound(
        st.select_slider,
        "Size e, in units of the state's norm",
        "push",
        SIZES,
        place="directions",
        width=420,
    )
    at = found.sizes.index(size)
    unit, chance = UNITS[found.measured_of], found.by_chance[:, at]
    effect = float(found.divergence[0, at])
    larger = int((chance >= effect).sum())
    with st.container(horizontal=True, gap="large"):
        st.metric(f"Effect, {unit}", f"{effect:.3g}", width="content")
        st.metric("Random directions, median", f"{np.median(chance):.3g}", width="content")
        st.metric("Random, largest of 20", f"{chance.max():.3g}", width="content")
        if untrained is not None:
            of_twin = float(untrained.divergence[0, at])
            st.metric("Untrained twin, its own", f"{of_twin:.3g}", width="content")
    if larger:
        st.markdown(
            f"**{larger} of {len(chance)} random directions do as much or more at this size.** "
            "That is no effect of this direction."
        )
    else:
        st.markdown(f"None of {len(chance)} random directions of this size does as much.")
    if not len(found.rises[0][at]):
        return
    ends = {
        "rises": list(map(repr, found.rises[0][at])),
        "by, nats": [with_minus(f"{change:+.2f}") for change in found.rise[0, at]],
        "falls": list(map(repr, found.falls[0][at])),
        "by, nats ": [with_minus(f"{change:+.2f}") for change in found.fall[0, at]],
    }
    st.dataframe(pd.DataFrame(ends), hide_index=True, width=560, alt="Tokens that rise and fall")
    st.caption("Tokens whose log-probability rises and falls most at this token.")
