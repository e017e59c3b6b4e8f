"""The Train one page: what is chosen of a small model, and one or two of them as they learn."""

import contextlib
from collections.abc import Sequence

import streamlit as st

from coupling_core import figures
from coupling_core.analysis.over_prompts import mean_scores
from coupling_core.base.errors import InputError
from coupling_core.base.units import duration, with_minus
from coupling_core.experiments.own.plans import BLOCKS, WIDTHS
from coupling_core.sources.suites import revision, suites
from explorer.pages import depth
from explorer.pages.train_one.learned import VIEW, Learned, find
from explorer.pages.train_one.state import MOST_SHOWN, PUSHES, TrainOneState
from explorer.pages.training import page as training
from explorer.pages.what_if import page as what_if
from explorer.panels.chart import draw, third
from explorer.panels.page import Page
from explorer.panels.way import way
from explorer.server import trainer, visitors
from explorer.session import sign_in
from explorer.session.plain_text import plain, rounded, sentence
from explorer.session.session import bound, change, current, device

GUIDE = """
**What learns.** A GPT-NeoX of the size that you choose reads half a million letters of English, the
texts of Python's own help, for 500 steps, or fewer where the model is large. Up to ten of the steps
are kept.

**Loss** is that on texts which it does not read, in nats a token; a model that knows nothing has
about 7. **Coupling** is the mean chance-corrected score of all pairs of different blocks, with
K = 8, at the last token of four such texts: 0 is chance. **The map** has it pair by pair.

**Two models** of the same seed begin with the same weights and read the same text in the same
order: what differs between them comes of what you changed. One pair of models is no evidence; other
seeds may say otherwise.

**Afterwards** the model is a training run like any other, on the pages Training, Depth, What if and
all others, until somebody deletes its folder.
"""
PAGE = Page(
    "Train one",
    "pages/15_Train_one.py",
    "Yours",
    state=TrainOneState,
    guide=GUIDE,
    picker=None,
)
EVERY = 1.0
"""Seconds between two looks at a model that trains."""
RATES = (3e-4, 1e-3, 3e-3, 1e-2)
DROPS = (0.0, 0.1, 0.2, 0.3, 0.5)
_SAID = "_said_of_training"
_PUSHES = {"none": "Leave it", "raise": "Raise it", "lower": "Lower it"}
_CURVES = ("loss", "corrected")


def show(state: TrainOneState) -> None:
    """Draw the page."""
    st.markdown(
        "A small language model learns English in a minute or two, and you see its blocks become "
        "coupled. Change one thing, train another, and compare the two."
    )
    if trainer.may_train():
        _controls(state)
    else:
        st.info("No models are trained here. Those that were are shown.")
    if (said := _found_out()) is not None:
        with st.expander("Does coupling make a model better?", type="compact"):
            st.markdown(with_minus(said))
    known = trainer.names()
    names = _shown(state, known)
    if not names:
        return
    if len(known) > 1:
        _picker(known)
    found = [find(name, state.prompt) for name in names]
    if any(one.turn and one.turn.is_active for one in found):
        _follow(names, state.prompt)
    else:
        _draw(found)
    for one in found:
        _onwards(one)


@st.cache_resource(show_spinner=False)
def _found_out() -> str | None:
    """What runs that were pushed came to; None where they did not come with the program."""
    from coupling_core.experiments import pushing  # brings scipy, half a second

    runs, seeds = pushing.read_runs(), len(pushing.SEEDS)
    if not all(len(run) == seeds for run in runs.values()):
        return None
    tests = pushing.planned(runs)
    loss = {one.arm: one.interval for one in tests if one.outcome == "loss"}
    told = {
        arm: f"{one.mean:+.3f} nats (95\u00a0%: {one.low:+.3f} to {one.high:+.3f})"
        for arm, one in loss.items()
    }
    return (
        f"{len(runs) * seeds} runs of {seeds} seeds were planned to find out, "
        "before the first of them was made: models like these, whose coupling a penalty raised, or "
        f"lowered, beside a control. {pushing.meaning(runs, tests)} Held-out loss against the "
        f"control: raised {told['raise']}, lowered {told['lower']}. The models are small and learn "
        "for minutes, the penalty is one way of coupling blocks, and it takes part in the "
        "optimiser's steps: it shows nothing about large models. docs/pushing.md of the "
        "program tells all of it, and docs/pushing-vision.md the same of vision transformers."
    )


def _controls(state: TrainOneState) -> None:
    """What is chosen, and the button."""
    with st.container(horizontal=True, gap="medium"):
        bound(st.slider, "Blocks", "own_blocks", BLOCKS[0], BLOCKS[-1], place="own", width=200)
        bound(st.segmented_control, "Width", "own_width", WIDTHS, place="own", required=True)
        bound(
            st.select_slider,
            "Learning rate",
            "own_rate",
            _with(state.own_rate, RATES),
            place="own",
            format_func="{:g}".format,
            width=180,
        )
        bound(
            st.select_slider,
            "Stochastic depth",
            "own_drop",
            _with(state.own_drop, DROPS),
            place="own",
            format_func="{:g}".format,
            width=180,
            help="With which probability a text skips the last block while it is learned; earlier "
            "blocks are skipped less.",
        )
    free = _free()
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        bound(
            st.segmented_control,
            "Coupling",
            "own_push",
            list(PUSHES),
            place="own",
            format_func=_PUSHES.__getitem__,
            required=True,
            help="A penalty in the loss can raise coupling or lower it to chance. It takes more "
            "than twice as long.",
        )
        bound(st.number_input, "Seed", "own_seed", 0, 1000, place="own", width=110)
        bound(
            st.text_input,
            "Name",
            "own_name",
            place="own",
            width=220,
            placeholder=free,
            max_chars=64,
        )
        st.button("Train", type="primary", icon=":material/school:", on_click=_train, args=(free,))
    with contextlib.suppress(InputError):  # of a name that cannot be one, the button tells
        plan = current(TrainOneState).plan(free)
        st.caption(f"{plan.steps[-1]} steps, about {duration(plan.seconds)} of computing.")
    if told := st.session_state.pop(_SAID, ""):
        st.error(told, icon=":material/error:")


def _train(free: str) -> None:
    """Begin; for the callback of the button, which reads what is chosen by then."""
    state = current(TrainOneState)
    try:
        plan = state.plan(free)
        trainer.train(plan, state.prompt, device(), _owner())
    except InputError as error:
        st.session_state[_SAID] = sentence(error)
        change()
    else:
        others = [name for name in _shown(state, trainer.names()) if name != plan.name]
        change(own_name="", own_shown=",".join([plan.name, *others][:MOST_SHOWN]))


def _owner() -> str:
    return sign_in.person() or visitors.session()


def _free() -> str:
    taken = {*suites(), *trainer.lane().names()}
    return next(name for n in range(1, 1000) if (name := f"my-run-{n}") not in taken)


def _with(value: float, usual: Sequence[float]) -> list[float]:
    """What a link may have chosen among what is usual."""
    return sorted({value, *usual})


def _shown(state: TrainOneState, known: Sequence[str]) -> list[str]:
    """Names of the models that are drawn: those chosen, or the latest of those known."""
    chosen = [name for name in state.own_shown.split(",") if name in known]
    return chosen or list(known[:1])


def _picker(names: Sequence[str]) -> None:
    bound(
        st.multiselect,
        "Models",
        "own_shown",
        names,
        place="own",
        max_selections=MOST_SHOWN,
        read=",".join,
        write=lambda text: [name for name in text.split(",") if name in names] or list(names[:1]),
        help="Two are drawn side by side.",
    )


def _follow(names: Sequence[str], prompt: str) -> None:
    """Look time and again at models that train, until they have ended."""

    @st.fragment(run_every=EVERY)
    def look() -> None:
        found = [find(name, prompt) for name in names]
        active = [one for one in found if one.turn and one.turn.is_active]
        if not active:
            st.rerun()
        for one in active:
            _progress(one)
        _draw(found)

    look()


def _progress(one: Learned) -> None:
    """How far a model is, and a way to stop it."""
    turn = one.turn
    if turn is None:
        return
    told, done = f"{one.name} waits: {turn.ahead} before it", 0.0
    if turn.state == "running":
        told = f"{one.name} begins"
        at = turn.progress
        if at and at.stage == "training":
            done = at.done / at.total
            left = (
                f", about {duration(turn.seconds * (1 - done) / done)} left" if done > 0.05 else ""
            )
            told = f"{one.name}: step {at.done} of {at.total}{left}"
        elif one.kept:
            done, told = 1.0, f"{one.name} is measured step by step"
    st.progress(done, plain(told))
    if trainer.lane().is_of(one.name, _owner()):
        st.button(
            "Cancel",
            icon=":material/stop:",
            key=f"cancel-{one.name}",
            on_click=trainer.lane().cancel,
            args=(one.name, _owner()),
        )


def _draw(found: Sequence[Learned]) -> None:
    """Curves of all models, and the map of each."""
    for one in found:
        if one.turn and one.turn.state == "failed":
            st.error(sentence(f"{one.name}: {one.turn.error}"), icon=":material/error:")
        if one.turn and one.turn.state == "cancelled":
            st.info(f"{plain(one.name)} was cancelled, and nothing of it is kept.")
    drawn = [one for one in found if one.kept]
    if not drawn:
        return
    runs = {one.title: one.kept for one in drawn}
    steps = [number.step for one in drawn for number in one.kept]
    source = f"{', '.join(runs)}; K = {VIEW.k}, means over {drawn[0].over}"
    columns = st.columns(3 if len(drawn) == 1 else 2, gap="large")
    for column, name in zip(columns, _CURVES, strict=False):
        with column:
            figure = figures.by_step(runs, name, VIEW, step=max(steps), source=source)
            draw(figure, name, None, lambda: figures.steps_table(runs))
    places = columns[2:] if len(drawn) == 1 else st.columns(2, gap="large")
    for place, one in zip(places, drawn, strict=False):
        with place:
            _map(one)


def _map(one: Learned) -> None:
    if not one.parts:
        return
    last = one.kept[-1]
    st.markdown(
        f"**{plain(one.name)}**, step {last.step}: "
        f"coupling **{with_minus(rounded(last.corrected))}**, "
        f"held-out loss **{rounded(last.loss, 2)}**"
    )
    draw(
        third(figures.mean_map(one.parts, one.over)),
        f"map-{one.name}",
        None,
        lambda: mean_scores([part.scores for part in one.parts]).to_pandas(),
    )


def _onwards(one: Learned) -> None:
    """The ways to what else can be seen of a model."""
    if one.suite is None:
        return
    last = revision(one.suite.steps[-1])
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.caption(f"{plain(one.name)} on other pages:", width="content")
        chosen = {"model": one.suite.repo, "revision": last, "untrained": None, "blocks": ""}
        way(training.PAGE, "Training", place=one.name, suites=one.name, step=one.suite.steps[-1])
        way(depth.PAGE, "Depth", place=one.name, **chosen)
        way(what_if.PAGE, "What if", place=one.name, **chosen)
