"""The lesson as students see it: its tasks, and the ways to their figures."""

from collections.abc import Mapping

import streamlit as st

from coupling_core.analysis.exports.naming import file_part
from explorer.pages.classroom.opened import chosen_by
from explorer.pages.classroom.sheets import sheet
from explorer.pages.classroom.state import ClassroomState, read
from explorer.panels.off_screen import OffScreen
from explorer.panels.page import Page
from explorer.panels.way import way
from explorer.session.lesson import Lesson
from explorer.session.plain_text import plain
from explorer.session.session import change

TEXT_WIDTH = 780


def show(state: ClassroomState, pages: Mapping[str, Page]) -> None:
    """Draw the lesson that is held."""
    lesson = read(state.lesson)
    st.title(plain(lesson.title), anchor=False)
    if unknown := _unknown(lesson, pages):
        st.warning(
            f"This lesson names what is no page here: {plain(', '.join(unknown))}. It was made "
            "with another version, or by hand."
        )
    if lesson.text:
        st.markdown(plain(lesson.text), width=TEXT_WIDTH)
    if lesson.prompts:
        _prompts(lesson, state)
    for number, task in enumerate(lesson.tasks, 1):
        with st.container(border=True, width=TEXT_WIDTH):
            st.markdown(f"**Task {number}.** {plain(task.question)}")
            if task.page in pages:
                way(
                    pages[task.page],
                    f"Open its figure, on {task.page}",
                    place=f"-task-{number}",
                    **chosen_by(task, lesson) | {"task": number},
                )
    st.caption(
        "Write your answers on paper, or where you like: this program asks for none and keeps none."
    )
    with st.container(horizontal=True):
        screen = OffScreen.here()
        st.download_button(
            "The tasks to print (.html)",
            lambda: sheet(lesson, pages, screen, answers=False),
            f"{file_part(lesson.title) or 'lesson'}-tasks.html",
            "text/html",
            on_click="ignore",
        )
        st.button("Leave the lesson", on_click=lambda: change(lesson="", task=0), key="leave")


def _prompts(lesson: Lesson, state: ClassroomState) -> None:
    chosen = state.prompt if state.prompt in lesson.prompts else None
    st.radio(
        "The prompt that pages show",
        lesson.prompts,
        index=lesson.prompts.index(chosen) if chosen else None,
        key="lesson-prompt",
        format_func=plain,
        on_change=lambda: _choose(lesson),
    )


def _choose(lesson: Lesson) -> None:
    prompt = st.session_state.get("lesson-prompt")
    if prompt in lesson.prompts:
        change(model=lesson.model, prompt=prompt)


def _unknown(lesson: Lesson, pages: Mapping[str, Page]) -> list[str]:
    named = [*lesson.pages, *(task.page for task in lesson.tasks if task.page)]
    return [title for title in dict.fromkeys(named) if title not in pages]
