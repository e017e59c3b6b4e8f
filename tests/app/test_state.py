"""The states of the pages and their form in a link."""

from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from coupling_core.analysis.coupling_effect import PairEdit
from coupling_core.base.definitions import DEFINITIONS
from coupling_core.base.records import (
    DTYPES,
    FINAL_NORMS,
    FITS,
    LAYOUTS,
    MEASURES,
    METHODS,
    MODEL_SIZES,
    MODEL_SUBSETS,
    NODE_COLORS,
    PARTS,
    PERFORMANCES,
    PROMPT_NUMBERS,
    QUANTISATIONS,
    ROLES,
    STACKS,
    TOKEN_KINDS,
    Request,
    VisionKind,
)
from coupling_core.experiments.own.plans import BLOCKS, WIDTHS
from coupling_core.sources.suites import suites
from explorer.frame.contents import LINKS, PAGES
from explorer.pages.classroom.state import TITLE as CLASSROOM
from explorer.pages.depth import DepthState
from explorer.pages.directions.effect import SIZES
from explorer.pages.directions.page import Readout
from explorer.pages.tour.state import MOST_DRAWN, STOPS
from explorer.pages.train_one.state import PUSHES
from explorer.session.lesson import MOST_TASKS, Lesson, packed
from explorer.session.state import State

TEXT = st.text(min_size=1).filter(str.strip)
KEYS = st.just("") | st.from_regex(r"[0-9a-f]{32}-k[1-9]\d?-v[1-9]\d?", fullmatch=True)
LESSONS = st.just("") | st.text("abc", max_size=9).map(lambda title: packed(Lesson(title=title)))
SUITES = sorted(name for name, suite in suites().items() if not suite.is_watched)
"""Those of every machine, whatever was trained on this one."""

VALUES = {
    "model": TEXT,
    "revision": TEXT | st.just(""),
    "prompt": TEXT,
    "prompts": st.sampled_from(("", "shipped", "0123456789abcdef")),
    "nth": st.integers(0),
    "token": st.integers().filter(bool),
    "untrained": st.none() | st.integers(0, 2**62),
    "dtype": st.sampled_from(DTYPES),
    "quantize": st.none() | st.sampled_from(QUANTISATIONS),
    "stack": st.none() | st.sampled_from(STACKS),
    "final_norm": st.sampled_from(FINAL_NORMS),
    "k": st.integers(1),
    "definition": st.sampled_from(list(DEFINITIONS)),
    "p": st.integers(2, 40).map(lambda quarter: quarter / 2),
    "role": st.sampled_from(ROLES),
    "blocks": TEXT | st.just(""),
    "figure_3": st.booleans(),
    "block": st.integers(1),
    "basis": st.integers(1),
    "signed": st.booleans(),
    "raw": st.booleans(),
    "auto_range": st.booleans(),
    "kind": st.sampled_from(TOKEN_KINDS),
    "fixed": st.none() | st.integers().filter(bool),
    "all_pairs": st.booleans(),
    "other_token": st.integers().filter(bool),
    "row_window": st.integers(0),
    "column_window": st.integers(0),
    "matrices": st.booleans(),
    "threshold": st.integers(0, 100).map(lambda percent: percent / 100),
    "layout": st.sampled_from(LAYOUTS),
    "node_color": st.sampled_from(NODE_COLORS),
    "a": KEYS,
    "b": KEYS,
    "suites": st.lists(st.sampled_from(SUITES), min_size=1, max_size=3).map(",".join),
    "step": st.integers(0),
    "suite_k": st.integers(1),
    "by_step": st.sampled_from(("coupling", "locality", "paths", "spectra")),
    "over": st.sampled_from(("", *SUITES)),
    "over_prompt": TEXT | st.just(""),
    "sweep": st.just("") | st.from_regex(r"[a-z0-9]{1,20}-[0-9a-f]{8}", fullmatch=True),
    "sweep_k": st.integers(0, 10**5).map(float) | st.sampled_from([0.1, 0.25, 0.5]),
    "measure": st.sampled_from(MEASURES),
    "against": st.none() | st.sampled_from(PERFORMANCES),
    "subset": st.sampled_from(MODEL_SUBSETS),
    "method": st.sampled_from(METHODS),
    "model_size": st.sampled_from(MODEL_SIZES),
    "prompt_number": st.sampled_from(PROMPT_NUMBERS),
    "of_model": TEXT | st.just(""),
    "fit": st.sampled_from(FITS),
    "part": st.sampled_from(PARTS),
    "first": st.booleans(),
    "dimensions": st.sampled_from((2, 3)),
    "along": st.sampled_from(("straightness", "entropy", "singular-values")),
    "picture": st.sampled_from(("", "own", "bag/0018")),
    "patch": st.integers(1),
    "vision_seed": st.integers(0),
    "rate": st.sampled_from(("", "0", "0.25")),
    "vision_kind": st.sampled_from(get_args(VisionKind)),
    "vision_k": st.integers(1),
    "edit": st.sampled_from(get_args(PairEdit)),
    "only": st.integers(0, 99),
    "component": st.integers(1),
    "readout": st.sampled_from(get_args(Readout)),
    "push": st.sampled_from(SIZES),
    "first_block": st.integers(1, 99),
    "last_block": st.integers(1, 99),
    "present": st.booleans(),
    "reacts": st.integers(1, 10**9 - 1),
    "stop": st.integers(1, STOPS),
    "guesses": st.text("-s012", max_size=STOPS),
    "turn": st.integers(-90, 90),
    "draws": st.integers(0, MOST_DRAWN),
    "at": st.integers(0, 10**9 - 1),
    "own_name": st.text(max_size=64).filter(str.strip) | st.just(""),
    "own_blocks": st.sampled_from(BLOCKS),
    "own_width": st.sampled_from(WIDTHS),
    "own_rate": st.sampled_from((1e-4, 3e-3, 1e-2)),
    "own_drop": st.sampled_from((0.0, 0.25, 0.5)),
    "own_push": st.sampled_from(tuple(PUSHES)),
    "own_seed": st.integers(0, 1000),
    "own_shown": st.sampled_from(("", "my-run-1", "my-run-1,b.2")),
    "compared": st.sampled_from(("scores", "directions")),
    "leading": st.integers(0, 99),
    "lesson": LESSONS,
    "task": st.integers(0, MOST_TASKS),
    "draft": LESSONS,
    "noise": st.sampled_from((0.001, 0.3, 3.0)),
}
"""Every field of every page, with what it may be."""


@given(st.fixed_dictionaries(VALUES))
def test_a_link_carries_the_states_of_all_pages(chosen: dict[str, object]) -> None:
    assert set(chosen) == set(LINKS.defaults)
    assert LINKS.read(LINKS.write(chosen, CLASSROOM)) == (chosen, ())
    assert "draft" not in LINKS.write(chosen, "Depth")


def test_a_link_names_only_what_is_not_the_default() -> None:
    for page in PAGES.values():
        assert LINKS.write(vars(page.state())) == {}
    assert LINKS.write(vars(State(k=10, signed=True))) == {"k": "10", "signed": "1"}


def test_a_link_of_before_means_what_it_meant() -> None:
    key = f"{'a' * 32}-k50-v24"
    chosen, problems = LINKS.read({"left": key, "right": key, "mode": "fixed-input"})
    assert chosen == LINKS.defaults | {"a": key, "b": key, "kind": "fixed-input"}
    assert not problems


def test_a_bad_value_costs_only_itself() -> None:
    chosen, problems = LINKS.read({"k": "-3", "role": "B"})
    assert chosen == LINKS.defaults | {"role": "B"}
    assert len(problems) == 1
    assert LINKS.read({"first": "1"}) == (LINKS.defaults | {"first": True}, ())


def test_a_mosaic_has_at_most_24_blocks() -> None:
    shown = {  # blocks, whether those of figure 3, how many there are: which, and the stride
        ("", True, 30): (tuple(range(9, 17)), 1),
        ("1-4", False, 30): ((1, 2, 3, 4), 1),
        ("", False, 24): (tuple(range(1, 25)), 1),
        ("", False, 25): (tuple(range(1, 26, 2)), 2),
        ("", False, 80): (tuple(range(1, 81, 4)), 4),
        ("", True, 12): (tuple(range(1, 13)), 1),  # too shallow for figure 3
    }
    found = {
        asked: DepthState(blocks=asked[0], figure_3=asked[1]).mosaic_blocks(asked[2])
        for asked in shown
    }
    assert found == shown


def test_another_measurement_is_looked_at_the_same_way() -> None:
    asked = Request("Another text", model="folder", token=2, untrained=7, final_norm="exclude")
    state = State(k=40, definition="page", block=5).of_request(asked, k_max=16)
    assert state == State(
        model="folder",
        prompt="Another text",
        token=2,
        untrained=7,
        final_norm="exclude",
        k=16,
        definition="page",
        block=5,
    )
    assert state.request() == Request(
        "Another text", model="folder", token=2, k=16, untrained=7, final_norm="exclude"
    )


def test_what_determines_the_weights_is_asked_for_and_read_back() -> None:
    state = State(model="folder", dtype="bfloat16", quantize="nf4", stack="encoder")
    asked = state.request()
    assert (asked.dtype, asked.quantize, asked.stack) == ("bfloat16", "nf4", "encoder")
    assert State().of_request(asked, k_max=50) == State().of_request(state.request(), 50) == state
