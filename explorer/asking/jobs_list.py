"""The queue as a list: what is measured now, what waits, and a way to stop one's own."""

import streamlit as st

from coupling_core.base.units import counted
from coupling_core.serving.jobs import JobStatus
from explorer.asking.queue import queue
from explorer.asking.watch import EVERY, stop, where
from explorer.server.admission import is_demo
from explorer.session.plain_text import weights_form


def show() -> None:
    """Draw the queue, and keep it up to date while there is one."""
    if not queue().active():
        st.caption("Nothing is being measured.")
        return

    @st.fragment(run_every=EVERY)
    def follow() -> None:
        jobs = queue().active()
        if not jobs:
            st.rerun()
        for status in jobs:
            _row(status)

    follow()


def _row(status: JobStatus) -> None:
    request = status.request
    twin = "" if request.untrained is None else ", untrained"
    done, text = where(status)
    left, right = st.columns([5, 1], vertical_alignment="center")
    with left:
        st.progress(done, text)
        form = f", {found}" if (found := weights_form(request)) else ""
        hidden = is_demo() and not queue().waits(status.key)
        prompt = "somebody else's prompt" if hidden else request.prompt_words
        if status.prompts:
            prompt = f"a list of {counted(status.prompts.total, 'prompt')}"
        st.text(f"{request.model}{twin}{form}: {prompt}")
    with right:
        st.button(
            "Cancel",
            # Not the job's key, which could be compared with that of a prompt that was guessed.
            key=f"cancel@runs@{hash(status.key)}",
            disabled=not queue().waits(status.key),
            help="Only those who wait for a measurement can stop it.",
            on_click=stop,
            args=(status.key,),
        )
