"""The Compare page: two stored results, three maps, and one pair of blocks of both."""

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import plotly.graph_objects as go
import streamlit as st

from coupling_core import figures
from coupling_core.analysis.alignment import differences
from coupling_core.analysis.compare import Comparison, compare
from coupling_core.analysis.exports import file_name, signed_differences, to_csv, to_npz
from coupling_core.base.errors import CouplingError, InputError
from coupling_core.base.records import Request, View
from coupling_core.base.results import DirectionsResult
from coupling_core.base.units import rounded, with_minus
from coupling_core.experiments.gallery import MODELS, requests
from coupling_core.store.disk import Entry
from coupling_core.store.request_key import parse_key
from explorer.asking.several import untrained_twin
from explorer.pages import compare_directions
from explorer.panels.chart import Shown, draw, made, third
from explorer.panels.drawer import matrix, selection
from explorer.panels.narrowed import narrowed
from explorer.panels.page import Page
from explorer.panels.recipes import Recipes, call, command, raw, viewed
from explorer.panels.strip import Quiet, facts, page_file, take_along
from explorer.panels.switches import ENTRIES, MATRIX, SCORE, switches
from explorer.server import backend
from explorer.session.link import Natural, Parameter, expect
from explorer.session.plain_text import plain, sentence, weights_form
from explorer.session.session import bound, change
from explorer.session.state import State
from explorer.session.widget_values import picked_row

PROMPT_SHOWN = 48
"""Letters of a prompt in the list of results."""
BIGGEST = 12
"""Rows of the table of the biggest differences."""
GUIDE = """
**Three maps.** *A* and *B* in one range, and their difference: red where *A* is coupled more, blue
where *B* is. Row *l* is the block of the Jacobian, column *l'* the block of the basis.

**Matching.** Blocks go by number. Where the two models differ in depth, block *l* of the shallower
lies at *r* = (*l* - 1) / (*L* - 1) and is matched with the block of the deeper model whose *r* is
nearest; nothing is interpolated. All numbers that you select are *A*'s.

**Correlation** is that of the two maps, pair by pair, without the diagonal: near 1 where the same
blocks are coupled in both, whatever the mean. Two prompts of one model have much in common; a
trained model and its untrained twin have nothing.

**Directions.** The other switch holds the singular vectors of A's and B's blocks against one
another, over the same tokens: what quantisation, fine-tuning or training turned, and by how much.

**Widths.** Models of other widths have other chance floors at one *K*: compare chance-corrected
scores or alignments, not raw ones.
"""
OF_KIND = {"depth": "scores of pairs", "directions": "directions of blocks"}
"""What results are of, by their kind."""
COMPARED = (
    "Compared",
    "compared",
    {"scores": "Scores of pairs", "directions": "Directions of blocks"},
)
_Key = Annotated[str, expect(parse_key, "the key of a stored result")]


@dataclass(frozen=True)
class CompareState(State):
    """What is chosen on this page.

    Args:
        a: store key of the result A; empty is what the sidebar asks for.
        b: store key of B; empty is the other of the two models that the program comes with, or the
            untrained twin of A.
        compared: scores of two depth-wise results, or the directions of two models' blocks.
        leading: K, how many directions of a block are compared; 0 is half of those kept.
    """

    a: Annotated[_Key, Parameter(former="left")] = ""
    b: Annotated[_Key, Parameter(former="right")] = ""
    compared: Literal["scores", "directions"] = "scores"
    leading: Natural = 0

    @property
    def kind(self) -> Literal["depth", "directions"]:
        """Of the results that are compared."""
        return "depth" if self.compared == "scores" else "directions"


PAGE = Page("Compare", "pages/8_Compare.py", "Many models", state=CompareState, guide=GUIDE)


def recipes(a: str, b: str, view: View, state: State) -> Recipes:
    """How to come by what a comparison comes to outside the app."""
    more = ", corrected=False" if state.raw else ""
    program = [
        "from coupling_core import Store, View, compare",
        "",
        f'a, b = (Store().get(key) for key in ("{a}", "{b}"))',
        f"found = compare(a, b, {call(view)}{more})",
        "print(found.verdict)  # see also found.difference, found.a_scores",
    ]
    options = viewed(state, blocks=True)
    shell = command(f"compare {a} {b}", {"k": view.k}, options, raw(state))
    return Recipes("\n".join(program), shell)


def show(state: CompareState) -> None:
    """Draw the page."""
    switches([COMPARED], "compare")
    stored = {
        entry.key: entry
        for entry in backend.listed(backend.entries())
        if entry.request is not None and entry.request.kind == state.kind
    }
    keys = _chosen(state, stored)
    _pickers(*keys, stored)
    a, b = map(backend.get, keys)
    if isinstance(a, DirectionsResult) and isinstance(b, DirectionsResult):
        compare_directions.show(a, b, state.leading)
        return
    most, view = min(a.k_max, b.k_max), state.view(a, b)
    if view.k > most:
        st.info(f"K = {view.k} is more than both hold.")
        st.button(f"Use K = {most} instead", on_click=change, kwargs={"k": most})
    found = compare(a, b, view, corrected=not state.raw)
    _strip(found, state)
    _switches()
    _sums(found)
    pair = _selected(found, state)
    narrowed(state, found.a.n_blocks)
    _maps(found, pair)
    _pair(found, state, pair)


def _chosen(state: CompareState, stored: dict[str, Entry]) -> tuple[str, str]:
    """The keys of A and B; where the link names none, of two models or of a model and its twin."""
    kind = state.kind
    asked = [one.of_kind(kind) for one in (state.request(), requests()[0])]
    pairs = [pair for one in asked for pair in _pairs(one)]
    found = next(filter(None, (_keys(pair, stored) for pair in pairs)), tuple(stored)[:2])
    if len(found) < 2 and not (state.a and state.b):
        raise InputError(
            "a comparison needs two results, and fewer are stored: compute some on "
            f"{'Depth' if kind == 'depth' else 'Directions'} first"
        )
    a, b = found if len(found) == 2 else ("", "")
    return _here(state.a, a, stored, kind), _here(state.b, b, stored, kind)


def _here(asked: str, other: str, stored: dict[str, Entry], kind: str) -> str:
    """The key that was asked for; another, and why, where no such result can be compared here."""
    if not asked or asked in stored:
        return asked or other
    try:
        found = backend.get(asked).request.kind
        if found == kind:
            return asked
        of = OF_KIND.get(found, found)
        raise InputError(
            f"the result {asked} is of {of}, and {OF_KIND[kind]} are compared: change what is "
            "compared, or choose another result"
        )
    except CouplingError as error:
        if not other:
            raise
        st.warning(f"{sentence(error)} Another one is shown.")
        return other


def _pairs(request: Request) -> list[tuple[Request, Request]]:
    """What is compared with what, the most telling first; directions only of one model."""
    trained = replace(request, untrained=None)
    others = [replace(trained, model=name) for name in MODELS if name != trained.model]
    of_two = request.kind == "depth" and trained.model in MODELS and trained == request
    return [*((trained, other) for other in others if of_two), (trained, untrained_twin(request))]


def _keys(asked: tuple[Request, Request], stored: dict[str, Entry]) -> tuple[str, ...]:
    """The keys of two requests; () where not both are stored."""
    try:
        digests = [digest(backend.key(one)) for one in asked]
    except CouplingError:  # a model that is not at hand
        return ()
    by_digest = {digest(key): key for key in reversed(stored)}
    return tuple(by_digest[d] for d in digests) if set(digests) <= set(by_digest) else ()


def digest(key: str) -> str:
    """What a key says of its request, the sizes apart."""
    return key.partition("-")[0]


def _pickers(a: str, b: str, stored: dict[str, Entry]) -> None:
    columns = st.columns(2, gap="large")
    for column, label, field, key in zip(columns, "AB", "ab", (a, b), strict=True):
        with column:
            bound(
                st.selectbox,
                label,
                field,
                [*stored, *([] if key in stored else [key])],
                place="compare",
                help="The results of the store, the last used first.",
                format_func=lambda key: _label(key, stored),
                write=lambda _, key=key: key,
            )
    st.button(
        "Exchange A and B",
        on_click=change,
        kwargs={"a": b, "b": a},
        icon=":material/swap_horiz:",
    )


def _label(key: str, stored: dict[str, Entry]) -> str:
    """A result in a line: model, weights, prompt, token."""
    entry = stored.get(key)
    if entry is None or entry.request is None:
        return f"{key}, which is not stored here"
    asked = entry.request
    text = asked.prompt_words if isinstance(asked.prompt, str) else "".join(entry.tokens)
    prompt = textwrap.shorten(text, PROMPT_SHOWN, placeholder=" …")
    parts = (
        str(entry.identity.get("name", asked.model)),
        "trained" if asked.untrained is None else f"untrained {asked.untrained}",
        asked.revision or "",
        weights_form(asked),
        "final norm excluded" if asked.final_norm == "exclude" else "",
        f"“{prompt}”",
        f"token {entry.token} of {len(entry.tokens)}",
        f"K ≤ {entry.k_max}",
    )
    return " · ".join(filter(None, parts))


def _strip(found: Comparison, state: State) -> None:
    """Say what is compared, in what the two differ, and offer ways to take it along."""
    with st.container(gap="xsmall"):
        st.caption(f"They differ in {plain('; '.join(differences(found.a, found.b)))}.")
        sides = (("A", found.a), ("B", found.b))
        quiet = Quiet(
            "What A and B are",
            [f"**{side}** · {facts(result, found.view)}" for side, result in sides],
        )
        name = file_name(found.a, found.view, f"with {found.b.model_name}", "")
        keys = (found.a.key, found.b.key)
        view = replace(found.view, blocks=state.range_of(found.a.n_blocks))
        files = (
            page_file(name),
            ("Arrays (.npz)", lambda: to_npz(found.arrays()), f"{name}.npz"),
            (
                "Differences (.csv)",
                lambda: to_csv(signed_differences(found.to_pandas(), found)),
                f"{name}.csv",
            ),
        )
        take_along(files, recipes(*keys, view, state), GUIDE, quiet)


def _switches() -> None:
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        switches((SCORE, ENTRIES), "compare", [MATRIX])


def _sums(found: Comparison) -> None:
    """The means, and how much the two maps have in common."""
    st.markdown(plain(with_minus(found.verdict)))
    fold = st.expander("The biggest differences", key="biggest", on_change=change, type="compact")
    if fold.open:
        with fold:
            _biggest(found)


def _biggest(found: Comparison) -> None:
    """The pairs that differ most; a click on a row selects its pair."""
    table = found.to_pandas().head(BIGGEST)
    key = f"biggest@{found.a.key}-{found.b.key}-{found.view}-{found.corrected}"

    def take() -> None:
        row = picked_row(st.session_state.get(key), len(table))
        if row is not None:
            block, basis = table.loc[row, ["block", "basis"]]
            change(block=int(block), basis=int(basis))

    numbers = table.select_dtypes("floating").columns
    st.dataframe(
        table.style.format(lambda value: with_minus(rounded(value, 4)), subset=numbers),
        hide_index=True,
        key=key,
        on_select=take,
        selection_mode="single-row",
        alt="Table of the pairs of blocks that differ most",
    )


def _selected(found: Comparison, state: State) -> tuple[int, int]:
    """The selected pair in A's numbers; a block without a partner gives way to the nearest."""
    blocks = found.a_scores.blocks
    block = _nearest(state.block, blocks)
    # Two blocks stay two: one in its own basis is diagonal by construction.
    others = [other for other in blocks if other != block]
    pair = block, _nearest(state.basis, others if state.block != state.basis else blocks)
    if (state.block, state.basis) not in (pair, (State.block, State.basis)):
        st.caption(
            f"The selected pair, {state.block} and {state.basis}, is not among the blocks that "
            "are matched: the nearest is shown."
        )
    return pair


def _nearest(wanted: int, blocks: Sequence[int]) -> int:
    return min(blocks, key=lambda block: abs(block - wanted))


def _maps(found: Comparison, pair: tuple[int, int]) -> None:
    view = found.view
    shown = {
        "A": (_map(found, figures.compared_map, "A", selected=pair), Shown(found.a, view)),
        "B": (_map(found, figures.compared_map, "B", selected=pair), Shown(found.b, view)),
        "A - B": (_map(found, figures.difference, selected=pair), found),
    }
    columns = st.columns(3, gap="medium")
    for column, (title, (figure, of)) in zip(columns, shown.items(), strict=True):
        with column:
            st.subheader(title, anchor=False)
            draw(
                figure,
                f"map-{title.replace(' ', '')}",
                of,
                found.to_pandas,
                picks=("block", "basis"),
            )


def _map(
    found: Comparison, build: Callable[..., go.Figure], *args: object, **options: object
) -> go.Figure:
    of = (found.a, found.b, found.view, found.corrected)
    return made(build, found, *args, finish=third, of=of, **options)


def _pair(found: Comparison, state: State, pair: tuple[int, int]) -> None:
    """Both matrices of the pair in one range, and their spectra over each other."""
    block, basis = pair
    partners = tuple(map(found.partner, pair))
    st.header(f"Block {block} in the basis of block {basis}", anchor=False)
    if partners != pair:
        st.caption(f"In B: block {partners[0]} in the basis of block {partners[1]}.")
    selection(found.a.n_blocks, block, basis)
    columns = st.columns(3, gap="medium")
    sides = (("A", found.a, pair), ("B", found.b, partners))
    for column, (side, result, numbers) in zip(columns[:2], sides, strict=True):
        view = replace(found.view, blocks=None)
        with column:
            st.subheader(side, anchor=False)
            look = {"finish": third, "magnitude": not state.signed}
            matrix(Shown(result, view), numbers, f"matrix-{side}", **look)
    with columns[2]:
        st.subheader("Singular values", anchor=False)
        draw(
            _map(found, figures.spectra, *pair),
            "spectra",
            found,
            lambda: figures.pair_spectra_table(found, *pair),
        )
