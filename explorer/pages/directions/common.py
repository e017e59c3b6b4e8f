"""What several blocks have in common: how many directions, what they say, and what they carry."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from coupling_core import figures
from coupling_core.analysis.directions import Shared, shared_of
from coupling_core.base.records import DirectionsView
from coupling_core.base.results import DirectionsResult
from coupling_core.base.settings import settings
from coupling_core.base.trials import UNITS, Ablation, Readings
from coupling_core.base.units import percent
from coupling_core.measuring.trying import ablate, read_out
from explorer.panels.chart import Shown, draw, made
from explorer.panels.kept import kept
from explorer.server import admission, backend
from explorer.server.engine import ask
from explorer.session.plain_errors import plain_errors
from explorer.session.session import bound

CHANCE = "no more than chance"
_ASKED = "_shared_tried"
"""Where the session keeps of which blocks the shared directions were to be tried."""


@dataclass(frozen=True)
class Tried:
    """What came of the directions that some blocks share.

    Args:
        read: what they are read as; None where the model has no such readout.
        removed: what it does that they are taken out of what each of the blocks reads.
    """

    read: Readings | None
    removed: Ablation


def show(result: DirectionsResult, first: int, last: int, side: str, shown: Shown) -> None:
    """Draw what blocks share, and offer to try it."""
    blocks = tuple(range(first, last + 1))
    found = kept(shared_of, result, DirectionsView(blocks), side)
    st.markdown(found.verdict)
    figure = made(figures.shared_directions, found, of=(result, blocks, side))
    draw(figure, "shared", shown, found.to_pandas)
    if not found.count:
        return
    asked = (result.request, blocks, side)
    if st.session_state.get(_ASKED) == asked:
        with plain_errors(), st.spinner("The shared directions are read out and taken away"):
            _tell(kept(_tried, result, blocks, side), found)
    elif settings().read_only or backend.gone(result.request):
        st.caption("Shared directions are not tried here: that needs the model.")
    elif st.button("Read them out, and take them away", icon=":material/play_arrow:"):
        st.session_state[_ASKED] = asked
        st.rerun()


def bounds(result: DirectionsResult, first: int, last: int) -> tuple[int, int]:
    """The first and the last block, by number inputs; those nearest to what was asked for."""
    L = result.n_blocks
    start = min(first, L - 1)
    end = min(max(last, start + 1), L)
    with st.container(horizontal=True, gap="medium"):
        for label, field, number, least, most in (
            ("From block", "first_block", start, 1, L - 1),
            ("to block", "last_block", end, start + 1, L),
        ):
            bound(
                st.number_input,
                label,
                field,
                least,
                most,
                place="directions",
                write=lambda _, number=number: number,
                width=140,
            )
    return start, end


def _tried(result: DirectionsResult, blocks: tuple[int, ...], side: str) -> Tried:
    admission.require(backend.resolved(result.request))
    return ask(partial(_try, result, blocks, side), about=result.request)  # type: ignore[no-any-return]


def _try(result: DirectionsResult, blocks: tuple[int, ...], side: str) -> Tried:
    found = shared_of(result, DirectionsView(blocks), side)
    frame = found.directions[:, : found.count]
    readout = "writes" if side == "u" else "reads"
    read = (
        None
        if readout in result.missing
        else read_out(result, frame, readout=readout, progress=False)
    )
    return Tried(read, ablate(result, blocks=blocks, frame=frame, progress=False))


def _tell(found: Tried, shared: Shared) -> None:
    removed, chance = found.removed, found.removed.by_chance
    unit = UNITS[removed.measured_of]
    with st.container(horizontal=True, gap="large"):
        st.metric(f"Effect of taking them away, {unit}", f"{removed.divergence:.3g}")
        st.metric("Random frames, median", f"{np.median(chance):.3g}")
        st.metric("Random, largest of 20", f"{chance.max():.3g}")
        st.metric("Of the states they hold", percent(removed.part, 1))
    st.markdown(removed.verdict)
    if found.read is None:
        return
    beyond = found.read.beyond_chance
    table = pd.DataFrame(
        {
            "shared direction": range(1, len(beyond) + 1),
            "share": shared.share[: len(beyond)],
            "towards": _texts(found.read.towards, beyond),
            "away": _texts(found.read.away, beyond),
            "peakedness": found.read.peakedness,
        }
    )
    st.dataframe(
        greyed(table, beyond),
        hide_index=True,
        height=320,
        column_config={
            name: st.column_config.NumberColumn(format="%.2f") for name in ("share", "peakedness")
        },
        alt="Shared directions with their readouts",
    )
    st.caption(
        f"{int(beyond.sum())} of {len(beyond)} are more peaked than {found.read.floor:.2f}, which "
        "1 of 100 random directions exceeds."
    )


def greyed(table: pd.DataFrame, beyond: np.ndarray) -> Any:
    """A table of readouts in which those that are chance are grey."""
    look = ["" if told else "color: #8a8a8a" for told in beyond]
    return table.style.apply(lambda column: look, subset=["peakedness", "towards", "away"])


def _texts(ends: tuple[tuple[str, ...], ...], beyond: np.ndarray) -> list[str]:
    return [
        " ".join(map(repr, texts)) if told else CHANCE
        for texts, told in zip(ends, beyond, strict=True)
    ]
