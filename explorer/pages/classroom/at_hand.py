"""The lesson that is held, on every page: the question at hand, and the ways to the others."""

from collections.abc import Collection, Mapping

import streamlit as st

from explorer.pages.classroom.opened import chosen_by
from explorer.pages.classroom.state import TITLE, held
from explorer.panels.page import Page
from explorer.panels.way import way
from explorer.session.plain_text import plain
from explorer.session.session import value


def shown_of(pages: Mapping[str, Page]) -> Collection[Page]:
    """Which pages a student sees: those of the lesson that is held, all where it names none."""
    lesson = held(value("lesson"))
    named = lesson.pages if lesson else []
    return [page for title, page in pages.items() if title in (TITLE, *named) or not named]


def at_hand(here: str, pages: Mapping[str, Page]) -> None:
    """Draw it; nothing where no lesson is held."""
    lesson, number = held(value("lesson")), value("task")
    if lesson is None or here == TITLE:
        return
    tasks = lesson.tasks
    with st.container(border=True, key="lesson", gap="xxsmall"):
        if 1 <= number <= len(tasks) and tasks[number - 1].page == here:
            question = plain(tasks[number - 1].question)
            st.markdown(f"**Task {number} of {len(tasks)}.** {question}")
        with st.container(horizontal=True, gap="small"):
            way(pages[TITLE], f"All tasks of “{plain(lesson.title)}”", place="-lesson")
            after = range(number + 1, len(tasks) + 1) if number else ()
            if following := next((at for at in after if tasks[at - 1].page in pages), 0):
                task = tasks[following - 1]
                chosen = chosen_by(task, lesson) | {"task": following}
                way(pages[task.page], f"Task {following}", place="-next-task", **chosen)
