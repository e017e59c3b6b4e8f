"""The Tokens page: what is compared, the grid over tokens, and the selected pair below."""

import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from coupling_core import figures
from coupling_core.analysis.locality import by_distance
from coupling_core.analysis.token_scores import score_positions
from coupling_core.base.errors import CouplingError
from coupling_core.base.records import TOKEN_KINDS, Request
from coupling_core.base.results import Result, TokenMeansResult, TokenResult, TokensResult
from coupling_core.figures.pair import cell_words
from coupling_core.figures.score_squares import MOST_SHOWN
from coupling_core.sources.tokens import visible
from explorer.asking import preview
from explorer.pages.tokens.state import TokensState, recipes
from explorer.panels import drawer
from explorer.panels.chart import Shown, draw, draw_partial, made
from explorer.panels.page import Page
from explorer.panels.strip import strip
from explorer.panels.switches import (
    COLOURS,
    ENTRIES,
    MATRIX,
    SCORE,
    Choice,
    above_figures,
    switch,
    switches,
)
from explorer.server import backend
from explorer.session.session import bound

MAP = 600
"""Height of the grid in pixels."""
BESIDE = 470
"""Height of what is beside it."""
BAR = 200
"""Length of a colour bar in a narrow column, in pixels."""
PAIR = {"token": "Token t (Jacobian)", "other_token": "Token t' (basis)"}
LONGEST_LIST = 256
"""A list of more tokens than this is no help; a number is then typed."""
GUIDE = """
**Grid.** Row *t* is the token whose Jacobian is taken, column *t'* the token whose top *K* singular
vectors serve as the basis. *Each token with itself* takes the Jacobians from a token's state to the
same token; *one input token* those from that token to every later one; *one output token* those
from every earlier one to that token. The colour is the score of the Depth page: 0 is what a basis
that has nothing to do with it would give, 1 is full coupling.

**Hatched** cells are forbidden: in a causal model no token hears a later one. **Grey** cells have
no score, and hovering tells why: what comes from another token passes through the attention heads
only, so that its Jacobian may have a rank below *K*.

**By distance.** The whole prompt as one curve: the mean over all pairs of tokens that lie so far
apart, with its spread. A Jacobian against itself is 1 by construction and enters no mean.

**Mean over all pairs** averages each cell over all pairs of blocks (*l*, *l'*); it has no matrices.
"""
PAGE = Page("Tokens", "pages/2_Tokens.py", state=TokensState, kinds=TOKEN_KINDS, guide=GUIDE)

_COMPARED: Choice = (
    "Compared",
    "kind",
    {
        "self": "Each token with itself",
        "fixed-input": "One input token",
        "fixed-output": "One output token",
    },
)
_PAIRS: Choice = ("Blocks", "all_pairs", {False: "One pair", True: "Mean over all pairs"})
_FORMULAS = {
    "self": r"$J^l_{tt}$ against $J^{l'}_{t't'}$",
    "fixed-input": r"$J^l_{t_1 t}$ against $J^{l'}_{t_1 t'}$, with $t_1$ fixed",
    "fixed-output": r"$J^l_{t\, t_2}$ against $J^{l'}_{t' t_2}$, with $t_2$ fixed",
}
_GRID_OF: Choice = ("Grid of", "matrices", {False: "Scores", True: "Matrices"})
_ADVANCED: tuple[Choice, ...] = (ENTRIES, MATRIX, COLOURS)


def controls(state: TokensState) -> tuple[Request, DeltaGenerator]:
    """Draw what determines the measurement; gives it, and the row in which more may stand."""
    request = state.request()
    n_blocks = _count_blocks(request)
    block, basis = drawer.within(state, n_blocks) if n_blocks else (state.block, state.basis)
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        label, field, words = _COMPARED
        switch(label, field, words, place="tokens", help=_FORMULAS[state.kind])
        switches((_PAIRS,), "tokens")
    row = st.container(horizontal=True, gap="small", vertical_alignment="bottom")
    with row:
        if not state.all_pairs:
            drawer.inputs(n_blocks, block, basis)
        if state.kind != "self":
            _fixed(state, request)
    return state.token_request(block, basis), row


def _count_blocks(request: Request) -> int | None:
    """L, from what is stored of this model, or from what it is; None where neither tells."""
    try:
        asked = backend.resolved(request)
        digest = asked.identity.get("digest")
        for entry in backend.entries():
            if entry.identity.get("digest") == digest and entry.request.stack == request.stack:
                return entry.n_blocks
        return preview.count_blocks(asked)
    except CouplingError:
        return None  # the page tells why, where it needs the model itself


def _fixed(state: TokensState, request: Request) -> None:
    """Choose the fixed token by its text where the texts are known, else by its number."""
    end = "Input token, fixed" if state.kind == "fixed-input" else "Output token, fixed"
    found = backend.tokens(request)
    n = len(found.texts) if found else 0
    if found is None or not 0 < n <= LONGEST_LIST:
        bound(
            st.number_input, end, "fixed", step=1, place=f"tokens-{state.kind}",
            write=lambda _: state.fixed_token,
        )  # fmt: skip
        return

    def labelled(number: int) -> str:
        last = n if number == -1 else number
        if not 1 <= last <= n:
            return f"{number} (this prompt has 1 to {n})"
        return f"{last} · {visible(found.texts[last - 1])}"

    options = [*range(1, n), -1]
    shown = -1 if state.fixed_token == n else state.fixed_token
    bound(
        st.selectbox,
        end,
        "fixed",
        options if shown in options else [*options, shown],
        place=f"tokens-{state.kind}-{hash(found.texts)}",
        format_func=labelled,
        write=lambda _: shown,
        width=240,
    )


def show(result: Result, state: TokensState, row: DeltaGenerator) -> None:
    """Draw a stored result, and in the row the switches that it has."""
    assert isinstance(result, TokensResult | TokenMeansResult)
    shown = Shown(result, state.view(result, blocks=False))
    token, other = selected(result, state)
    with row:
        switches((SCORE, *(_GRID_OF,) * isinstance(result, TokensResult)), "tokens", _ADVANCED)
    with st.container():
        with above_figures("tokens"):
            strip(*shown, recipes(result.request, shown.view, state), GUIDE, selected=token)
        _windows(result, state, token, other)
        left, right = st.columns([3, 2], gap="large")
        with left:
            _grid(shown, state, (token, other))
        with right:
            _beside(shown, state, (token, other))
    if isinstance(result, TokensResult):
        _below(shown, state, (token, other))


def _beside(shown: Shown, state: TokensState, pair: tuple[int, int]) -> None:
    """The selected pair: its matrix, or what there is of it where there is none."""
    result = shown.result
    n = len(result.tokens)
    drawer.selection(n, *pair, PAIR, f"pair-{n}")
    if isinstance(result, TokensResult):
        _matrix(result, shown, state, pair)
    else:
        st.caption(cell_words(result, *pair, shown.view))
        _distance(shown, state)


def partial_map(result: Result, state: TokensState) -> None:
    """The grid of what is measured so far; it fills in token by token."""
    assert isinstance(result, TokensResult | TokenMeansResult)
    view = state.view(result, blocks=False)
    figure = figures.scores(result, view, corrected=not state.raw, auto_range=state.auto_range)
    draw_partial(figure, without="pairs")


def selected(result: TokenResult, state: TokensState) -> tuple[int, int]:
    """The selected pair (t, t'), within this prompt."""
    n = len(result.tokens)
    found = []
    for chosen, default in (
        (state.token, TokensState.token),
        (state.other_token, TokensState.other_token),
    ):
        number = chosen + n + 1 if chosen < 0 else chosen
        if not 1 <= number <= n and chosen != default:
            st.warning(
                f"This prompt has tokens 1 to {n}: instead of {chosen} the nearest is shown."
            )
        found.append(min(max(number, 1), n))
    return found[0], found[1]


def _windows(result: TokenResult, state: TokensState, token: int, other: int) -> None:
    """Where the prompt is too long for one grid, choose which part of it is shown."""
    n = len(result.tokens)
    if n <= MOST_SHOWN:
        return
    starts = _starts(n)

    def labelled(first: int) -> str:
        if not first:
            return "with the selected token"
        return f"tokens {first} to {min(n, first + MOST_SHOWN - 1)}"

    with st.container(horizontal=True, gap="medium"):
        for label, field in (("Rows", "row_window"), ("Columns", "column_window")):
            bound(
                st.selectbox,
                f"{label} of the grid",
                field,
                [0, *starts],
                place=f"tokens-{n}",
                format_func=labelled,
                write=lambda first: first if first in starts else 0,
                width=240,
            )
    st.caption(
        f"The prompt has {n} tokens, of which {MOST_SHOWN} by {MOST_SHOWN} are "
        "shown at a time; the means and the curve by distance are of all."
    )


def _starts(n: int) -> list[int]:
    return list(range(1, n + 1, MOST_SHOWN))


def window(n: int, first: int, chosen: int) -> tuple[int, ...]:
    """Numbers of the tokens shown: from `first` on, or, where that is 0, those with the chosen."""
    most = MOST_SHOWN
    start = first if first in _starts(n) else (chosen - 1) // most * most + 1
    return tuple(range(start, min(n, start + most - 1) + 1))


def _grid(shown: Shown, state: TokensState, pair: tuple[int, int]) -> None:
    result, view = shown
    n = len(result.tokens)
    rows = window(n, state.row_window, pair[0])
    columns = window(n, state.column_window, pair[1])
    if state.matrices and isinstance(result, TokensResult):
        figure = made(
            figures.mosaic, result, view, finish=_tall, rows=rows, columns=columns,
            magnitude=not state.signed, auto_range=state.auto_range, selected=pair,
        )  # fmt: skip
    else:
        figure = made(
            figures.scores, result, view, finish=_tall, rows=rows, columns=columns,
            corrected=not state.raw, auto_range=state.auto_range, selected=pair,
        )  # fmt: skip
    draw(
        figure,
        "tokens",
        shown,
        lambda: figures.scores_table(result, view),
        picks=("token", "other_token"),
    )


def _tall(figure: go.Figure) -> go.Figure:
    return figure.update_layout(height=MAP)


def _low(figure: go.Figure) -> go.Figure:
    bar = {"type": "heatmap", "showscale": None}
    return figure.update_layout(height=BESIDE).update_traces(colorbar_len=BAR, selector=bar)


def _narrow(figure: go.Figure) -> go.Figure:
    return figure.update_traces(marker_colorbar_len=BAR, selector={"name": "places"})


def _matrix(result: TokensResult, shown: Shown, state: TokensState, pair: tuple[int, int]) -> None:
    drawer.matrix(shown, pair, finish=_low, magnitude=not state.signed)
    lines = [
        f"Block {block}, token {number}: {drawer.verdict(certificate)}"
        for block, number, side in zip(result.blocks, pair, result.certificates, strict=True)
        if (certificate := side[number - 1]) is not None
    ]
    if lines:
        lines = list(dict.fromkeys(lines))
        st.caption("**Certificate of the SVDs**  \n" + "  \n".join(lines))


def _distance(shown: Shown, state: TokensState) -> None:
    result, view = shown
    draw(
        made(figures.distance, result, view, corrected=not state.raw),
        "distance",
        shown,
        lambda: by_distance(score_positions(result, view), corrected=not state.raw).to_pandas(),
    )


def _below(shown: Shown, state: TokensState, pair: tuple[int, int]) -> None:
    left, middle, right = st.columns(3, gap="medium")
    with left:
        _distance(shown, state)
    with middle:
        drawer.score_by_k(shown, pair, corrected=not state.raw)
    with right:
        drawer.singular_values(shown, pair, finish=_narrow)
