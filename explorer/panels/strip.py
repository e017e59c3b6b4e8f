"""The line above the figures that says what they are of, and the ways to take them along."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import streamlit as st

from coupling_core.analysis.exports import arrays, file_name, frame, signed, to_csv, to_npz
from coupling_core.analysis.scores import definition_name
from coupling_core.analysis.ways import ways
from coupling_core.base.records import AnyView, View
from coupling_core.base.results import Result
from coupling_core.store import archive
from explorer.asking.queue import queue
from explorer.panels.chart import IMAGE_FORMAT
from explorer.panels.recipes import Recipes
from explorer.panels.to_lesson import to_lesson
from explorer.panels.whole import whole
from explorer.session import chips
from explorer.session.plain_text import plain, weights_form
from explorer.session.session import keeps_prompt, link, note_length

HASH_SHOWN = 12
_BYTES = "application/octet-stream"

Download = tuple[str, Callable[[], bytes], str]
"""Of a file: what its button says, what makes it, and its name."""


def strip(
    result: Result,
    view: AnyView,
    recipes: Recipes,
    guide: str,
    *,
    selected: int = 0,
) -> None:
    """Say what is drawn, and offer link, files, recipes and a guide.

    `selected` is the token that is chosen among those that were measured, 0 where the result is of
    one.
    """
    note_length(len(result.tokens))
    whole().of = result, view
    with st.container(gap="xsmall"):
        if selected:
            chips.pick(result.tokens, selected)
        else:
            chips.of_result(result)
        files = (
            page_file(file_name(result, view, whole().title, "")),
            (
                "Result (.safetensors)",
                lambda: archive.encode(result),
                file_name(result, view, "", archive.SUFFIX),
            ),
            (
                "Arrays (.npz)",
                lambda: to_npz(arrays(result, view)),
                file_name(result, view, "", ".npz"),
            ),
            (
                "Scores (.csv)",
                lambda: to_csv(signed(frame(result, view), result, view)),
                file_name(result, view, "", ".csv"),
            ),
        )
        quiet = Quiet(brief(result, view), (facts(result, view),), ways(result))
        take_along(files, recipes, guide, quiet)


def page_file(name: str) -> Download:
    """All figures of the page in one file, which needs no network."""
    return "This page (.html)", whole().file, f"{name}.html"


class Quiet(NamedTuple):
    """The one line that says what is drawn, and what it opens to.

    Args:
        line: as Markdown.
        facts: a paragraph each, as Markdown.
        ways: how the Jacobians were had.
    """

    line: str
    facts: Sequence[str]
    ways: Sequence[str] = ()


def take_along(files: Iterable[Download], recipes: Recipes, guide: str, quiet: Quiet) -> None:
    """Say what is drawn in a line that opens, and offer link, files, recipes and a guide."""
    with st.container(key="tools", horizontal=True, gap="small", vertical_alignment="center"):
        with st.popover(quiet.line, type="tertiary", icon=":material/info:"):
            _facts(quiet)
        with st.popover("Copy link", type="tertiary", icon=":material/link:"):
            st.caption(
                "This address shows what is on the screen"
                + ", your prompt too" * keeps_prompt()
                + "."
            )
            st.code(link(st.context.url or ""), language=None, wrap_lines=True)
            to_lesson(whole().title)
        with st.popover("Export", type="tertiary", icon=":material/download:"):
            for label, data, name in files:
                st.download_button(label, data, name, _BYTES, on_click="ignore", width="stretch")
            _camera()
        with st.popover("Reproduce", type="tertiary", icon=":material/terminal:"):
            st.caption("In Python")
            st.code(recipes.python, wrap_lines=True)
            st.caption("On the command line")
            st.code(recipes.shell, language="bash", wrap_lines=True)
        with st.popover("How to read this", type="tertiary", icon=":material/help:"):
            st.markdown(guide)


def _facts(quiet: Quiet) -> None:
    for paragraph in quiet.facts:
        st.caption(paragraph)
    if quiet.ways:
        st.caption(
            "How each Jacobian was found. Where a fast way does not hold, a slower one is taken."
        )
        st.markdown("\n".join(f"- {plain(way[0].upper() + way[1:])}" for way in quiet.ways))


def brief(result: Result, view: AnyView) -> str:
    """The model, the token that was measured, K, and whether all was certified."""
    token = getattr(result, "token", None)
    told = [
        f"**{plain(result.model_name)}**",
        f"token {token} of {len(result.tokens)}" if isinstance(token, int) and token else "",
        f"K = {view.k}" if isinstance(view, View) else "",
        ("certified" if result.certified else "not all certified") if result.svds else "",
    ]
    return " · ".join(filter(None, told))


def facts(result: Result, view: AnyView) -> str:
    """Whose numbers they are and how they came about, as one line of Markdown."""
    identity, provenance = result.identity, result.provenance
    who = f"**{plain(identity['name'])}** `{str(identity.get('digest', ''))[:HASH_SHOWN]}`"
    if (seed := result.request.untrained) is not None:
        who += f", untrained (seed {seed})"
    if form := weights_form(result.request):
        who += f", {form}"
    certified = sum(c.certified for c in result.svds)
    told = [
        who,
        f"computed in {provenance['dtype']}" if "dtype" in provenance else "",
        plain(result.measured),
        result.final_norm_words,
        *(
            [f"K = {view.k} of {result.k_max}", definition_name(view)]
            if isinstance(view, View)
            else []
        ),
        f"{certified} of {len(result.svds)} SVDs certified" if result.svds else "",
        _origin(result),
        ", ".join(f"{name} {version}" for name, version in provenance["versions"].items()),
    ]
    return " · ".join(filter(None, told))


def _origin(result: Result) -> str:
    if queue().waits(result.key):
        return f"computed now in {result.provenance['seconds']:.1f} s"
    return f"stored, measured on {result.provenance['date'][:10]}"


def _camera() -> None:
    st.segmented_control(
        "The camera below a figure saves",
        ["svg", "png"],
        default="svg",
        key=IMAGE_FORMAT,
        required=True,
    )
