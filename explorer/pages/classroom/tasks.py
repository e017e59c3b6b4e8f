"""The lesson as students see it: its tasks, and the ways to their figures."""

from collections.abc import Mapping

import streamlit as st

from explorer.pages.classroom.opened import chosen_by
from explorer.pages.classroom.sheets import offer
from explorer.pages.classroom.state import ClassroomState, held
from explorer.panels.page import Page
from explorer.panels.way import way
from explorer.session.lesson import Lesson
from explorer.session.plain_text import plain
from explorer.session.session import address, change

TEXT_WIDTH = 780


def show(state: ClassroomState, pages: Mapping[str, Page]) -> None:
    """Draw the lesson that is held, or say that its link is damaged."""
    lesson = held(state.lesson)
    if lesson is None:
        st.title("A lesson", anchor=False)
        st.error("This link is not complete: ask whoever gave it to you for the whole of it.")
        _leave(pages["Start"])
        return
    st.title(lines(lesson.title) or "A lesson", anchor=False)
    tell_unknown(lesson, pages)
    if lesson.text:
        st.markdown(lines(lesson.text), width=TEXT_WIDTH)
    if lesson.prompts:
        _prompts(lesson, state)
    for number, task in enumerate(lesson.tasks, 1):
        with st.container(border=True, width=TEXT_WIDTH):
            st.markdown(f"**Task {number}.** {lines(task.question)}")
            if task.page in pages:
                way(
                    pages[task.page],
                    f"Open its figure, on {task.page}",
                    place=f"-task-{number}",
                    **chosen_by(task, lesson) | {"task": number},
                )
    st.caption("Write your answers on paper, or wherever you like: they are not collected here.")
    with st.container(horizontal=True):
        offer(lesson, pages, answers=False)
        _leave(pages["Start"])


def _leave(to: Page) -> None:
    if st.button("Leave the lesson", key="leave"):
        change(lesson="", task=0)
        st.switch_page(to.file, query_params=address(to.title))


def lines(text: str) -> str:
    """A text of somebody's as Markdown that keeps its lines, and nothing else of it."""
    return "  \n".join(map(plain, text.splitlines()))


def _prompts(lesson: Lesson, state: ClassroomState) -> None:
    chosen = state.prompt if state.prompt in lesson.prompts else None
    st.radio(
        "Prompt for the figures",
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


def tell_unknown(lesson: Lesson, pages: Mapping[str, Page]) -> None:
    """Say what a lesson names that is no page."""
    named = [*lesson.pages, *(task.page for task in lesson.tasks if task.page)]
    if unknown := [title for title in dict.fromkeys(named) if title not in pages]:
        st.warning(f"This lesson names what is no page here: {plain(', '.join(unknown))}.")
