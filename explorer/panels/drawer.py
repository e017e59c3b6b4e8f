"""What opens for one block pair: the matrix, the spectra, the angles, the score against K."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import streamlit as st

from coupling_core import figures
from coupling_core.base.records import Certificate
from coupling_core.base.results import DepthResult
from explorer.panels.chart import Shown, draw, made
from explorer.session.session import bound
from explorer.session.state import State

BLOCKS = {"block": "Block l (Jacobian)", "basis": "Block l' (basis)"}
"""Fields of the state that say which pair is selected, and what people call them."""


def selected(result: DepthResult, state: State) -> tuple[int, int]:
    """The selected pair (l, l'); past this model's last block, the last and the one before."""
    return within(state, result.n_blocks)


def within(state: State, n_blocks: int) -> tuple[int, int]:
    """The same for a model of so many blocks."""
    chosen = ((state.block, State.block), (state.basis, State.basis))
    if any(number > n_blocks and number != default for number, default in chosen):
        st.warning(f"This model has blocks 1 to {n_blocks}: the nearest pair is shown.")
    # A block in its own basis is 1 by construction, and nothing to begin with.
    basis = state.basis if state.basis <= n_blocks else max(1, n_blocks - 1)
    return min(state.block, n_blocks), basis


def selection(
    n: int, row: int, column: int, fields: Mapping[str, str] = BLOCKS, place: str = "pair"
) -> None:
    """Number inputs for the selected pair: the keyboard's twin of a click."""
    with st.container(horizontal=True):
        inputs(n, row, column, fields, place)


def inputs(
    n: int | None, row: int, column: int, fields: Mapping[str, str] = BLOCKS, place: str = "pair"
) -> None:
    """The inputs alone; n is None where it is not known yet."""
    for (field, label), number in zip(fields.items(), (row, column), strict=True):
        bound(
            st.number_input,
            label,
            field,
            1,
            n,
            place=place,
            write=lambda _, number=number: number,
            width=140,
        )


def drawer(shown: Shown, state: State, block: int, basis: int) -> None:
    """Draw all that is known of the pair (l, l')."""
    pair = block, basis
    left, right = st.columns(2, gap="large")
    with left:
        matrix(shown, pair, magnitude=not state.signed)
        _certificates(shown.result.certificates, block, basis)
    with right:
        singular_values(shown, pair)
    left, right = st.columns(2, gap="large")
    with left:
        score_by_k(shown, pair, corrected=not state.raw)
    with right:
        of = shown.result, *pair, shown.view
        draw(made(figures.angles, *of), "angles", shown, partial(figures.angles_table, *of))


def matrix(shown: Shown, pair: tuple[int, int], name: str = "matrix", **look: Any) -> None:
    """The matrix of a pair of blocks or of tokens, in the colour range that all have."""
    of = shown.result, *pair, shown.view
    draw(made(figures.matrix, *of, **look), name, shown, partial(figures.matrix_table, *of))


def singular_values(shown: Shown, pair: tuple[int, int], **look: Any) -> None:
    """Those of all Jacobians, with the pair's in colour."""
    figure = made(figures.spectrum, *shown, selected=pair, **look)
    draw(figure, "singular-values", shown, partial(figures.spectrum_table, *shown))


def score_by_k(shown: Shown, pair: tuple[int, int], *, corrected: bool) -> None:
    """The score of a pair for every K."""
    of = shown.result, *pair, shown.view
    figure = made(figures.score_by_k, *of, corrected=corrected)
    draw(figure, "score-by-k", shown, partial(figures.score_by_k_table, *of))


def _certificates(certificates: tuple[Certificate, ...], block: int, basis: int) -> None:
    """Say for both blocks how far their singular vectors were checked."""
    lines = [_certificate(number, certificates[number - 1]) for number in sorted({block, basis})]
    st.caption("**Certificate of the SVDs**  \n" + "  \n".join(lines))


def _certificate(number: int, certificate: Certificate) -> str:
    return f"Block {number}: {verdict(certificate)}"


def verdict(certificate: Certificate) -> str:
    """What a certificate says."""
    said = "certified" if certificate.certified else f"not certified: {certificate.reason}"
    return (
        f"{said}; {certificate.method}, orthonormality "
        f"{certificate.orthonormality:.1e}, residual {certificate.residual:.1e} s₁"
    )
