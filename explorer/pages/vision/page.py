"""The Vision page: stochastic depth, coupling and accuracy; one picture over the rates."""

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import plotly.graph_objects as go
import streamlit as st

from coupling_core import figures
from coupling_core.base.errors import InputError
from coupling_core.base.images import in_words, read_image, to_pixels
from coupling_core.base.records import Request, View
from coupling_core.base.results import DepthResult, Result
from coupling_core.base.units import percent
from coupling_core.experiments.gallery import PICTURE, PICTURES
from coupling_core.experiments.vision import SUITE
from coupling_core.sources.prompts.files import IMAGES, files_of
from explorer.asking.several import together
from explorer.pages import depth
from explorer.pages.vision import experiment
from explorer.pages.vision.experiment import GUIDE, VisionState
from explorer.panels.chart import draw, made
from explorer.panels.drawer import selected
from explorer.panels.page import Page
from explorer.panels.switches import SCORE, switch, switches
from explorer.panels.uploader import taken, uploader
from explorer.server import backend
from explorer.session.plain_errors import plain_errors
from explorer.session.plain_text import plain
from explorer.session.session import bound, change

CLASS_TOKEN = 1
OWN = "own"
"""The name of a picture that this session brought; no link carries it."""
_OWN_PICTURE = "_own_picture"
PAGE = Page(
    "Vision", "pages/7_Vision.py", "Many models", state=VisionState, guide=GUIDE, picker=None
)


def show(state: VisionState) -> None:
    """Draw the page."""
    st.title("Stochastic depth in vision transformers", anchor=False)
    with plain_errors():
        experiment.show(state)
    st.header("One picture over the rates", anchor=False)
    with plain_errors():
        _picture(state)


def _picture(state: VisionState) -> None:
    """Score maps over the rates at one token of one picture."""
    name, prompt = _chosen(state)
    tokens = SUITE.tokens
    patch = min(max(1, state.patch), len(tokens))
    left, right = st.columns([1, 3], gap="large")
    with left:
        _controls(state, name)
        draw(
            made(_drawn_picture, prompt, patch),
            "picture",
            None,
            lambda: _token_table(tokens),
            picks=("patch",),
        )
        bound(
            st.number_input,
            "Token, 1 is the class token",
            "patch",
            1,
            len(tokens),
            place="vision",
            write=lambda _: patch,
        )
    with right:
        switches([SCORE], "vision")
        runs = {run.rate: run for run in SUITE.runs if run.seed == state.vision_seed}
        asked = {
            f"{rate:g}": Request(prompt, model=run.repo, token=patch, k=state.vision_k)
            for rate, run in runs.items()
        }
        found = together(asked) or _at_class_token(asked, patch)
        if found:
            _maps(found, state)
            _open(found, state)


def _at_class_token(asked: dict[str, Request], patch: int) -> dict[str, Result]:
    """What is stored of the class token, where nothing is of the chosen patch."""
    found = {
        rate: result
        for rate, request in asked.items()
        if patch != CLASS_TOKEN and (result := backend.find(replace(request, token=CLASS_TOKEN)))
    }
    if found:
        st.caption("Until this patch is measured, the maps are those of the class token, token 1.")
    return found


def _drawn_picture(prompt: str, patch: int) -> go.Figure:
    return figures.picture(to_pixels(prompt), SUITE.tokens, patch, source=in_words(prompt))


def _chosen(state: VisionState) -> tuple[str, str]:
    """Name and prompt of the picture that is looked at."""
    own = st.session_state.get(_OWN_PICTURE)
    if state.picture == OWN and own:
        return OWN, own
    names = pictures()
    if state.picture and state.picture not in names:
        was = "your own picture" if state.picture == OWN else f"the picture {state.picture!r}"
        st.warning(f"{was.capitalize()} is not here: another one is shown.")
    name = state.picture if state.picture in names else _name(PICTURE)
    return name, picture(name)


def _controls(state: VisionState, name: str) -> None:
    own = [OWN] if st.session_state.get(_OWN_PICTURE) else []
    bound(
        st.selectbox,
        "Picture",
        "picture",
        [*own, *pictures()],
        place="vision",
        write=lambda _: name,
        format_func=lambda n: "Your own" if n == OWN else n.replace("/", " "),
    )
    with st.popover("Your own picture", icon=":material/upload:", type="tertiary"):
        uploader(
            "An image file",
            "file@vision",
            IMAGES,
            on_change=_take_in,
            help="Models of Fashion-MNIST know white clothes on black ground, in grey.",
        )
        if error := st.session_state.pop("_refused_picture", ""):
            st.error(error)
    switch(
        "Seed of the runs",
        "vision_seed",
        {seed: str(seed) for seed in SUITE.seeds},
        place="vision",
        write=lambda seed: seed if seed in SUITE.seeds else SUITE.seeds[0],
    )


def _take_in() -> None:
    """Take in a picture; for the callback of the control."""
    file = taken("file@vision")
    if file is None:
        return
    try:
        st.session_state[_OWN_PICTURE] = read_image(file.getvalue())
        change(picture=OWN)
    except InputError as error:
        st.session_state["_refused_picture"] = str(error)


def _maps(found: dict[str, DepthResult], state: VisionState) -> None:
    results = {float(rate): result for rate, result in found.items()}
    first = next(iter(results.values()))
    view = View(state.vision_k, state.definition, state.p, state.role, level=state.level)
    pair = selected(first, state)
    whose = f"{SUITE.title}, seed {state.vision_seed}, {first.measured}"
    source = figures.provenance(first, view, whose)
    draw(
        made(
            figures.rate_maps,
            results,
            view,
            corrected=not state.raw,
            selected=pair,
            source=source,
        ),
        "maps",
        None,
        lambda: figures.rate_maps_table(results, view),
        picks=("block", "basis"),
    )
    said = [
        f"rate {rate:g}: {plain(name)} ({percent(share)})"
        for rate, result in results.items()
        for name, share in result.next_tokens[:1]
    ]
    st.caption("The picture is taken for: " + ", ".join(said) + ".")
    if not all(result.certified for result in results.values()):
        st.warning("Not all of these decompositions are certified: see each on the page Depth.")


def _open(found: dict[str, DepthResult], state: VisionState) -> None:
    """The way to all that is known of one run."""
    rates = list(found)
    near = state.rate if state.rate in found else rates[0]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        words = {rate: rate for rate in rates}
        switch("Rate", "rate", words, place="vision", write=lambda _: near)
        if st.button("This run on Depth", icon=":material/arrow_forward:"):
            asked = found[near].request
            change(model=asked.model, prompt=asked.prompt, untrained=None, k=asked.k)
            change(token=asked.token)
            st.switch_page(depth.PAGE.file)


def _token_table(tokens: tuple[str, ...]):
    import pandas as pd

    return pd.DataFrame({"token": range(1, len(tokens) + 1), "name": tokens})


@lru_cache(maxsize=1)
def pictures() -> list[str]:
    """The names of the pictures that come with the program."""
    return [_name(file) for file in files_of(PICTURES)]


def _name(file: Path) -> str:
    return file.relative_to(PICTURES).with_suffix("").as_posix()


@lru_cache(maxsize=64)
def picture(name: str) -> str:
    """One of them, as a prompt."""
    return read_image(Path(PICTURES, name).with_suffix(".png"))
