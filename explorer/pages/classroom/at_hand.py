"""The lesson that is held, on every page: the question at hand, and the way back to the tasks."""

from collections.abc import Collection, Iterable

import streamlit as st

from explorer.pages.classroom.state import TITLE, read
from explorer.panels.to_lesson import CLASSROOM
from explorer.session.plain_text import plain
from explorer.session.session import value


def shown_of(titles: Iterable[str]) -> Collection[str]:
    """Which pages a student sees: those of the lesson that is held, all where it names none."""
    known = list(titles)
    named = read(value("lesson")).pages
    return [title for title in known if title == TITLE or not named or title in named]


def at_hand(here: str) -> None:
    """Draw it; nothing where no lesson is held.

    Args:
        here: the title of the page.
    """
    if not value("lesson") or here == TITLE:
        return
    lesson, task = read(value("lesson")), value("task")
    with st.container(border=True, key="lesson", gap="xxsmall"):
        if 1 <= task <= len(lesson.tasks):
            question = plain(lesson.tasks[task - 1].question)
            st.markdown(f"**Task {task} of {len(lesson.tasks)}.** {question}")
        label = f"All tasks of “{plain(lesson.title)}”"
        if st.button(label, type="tertiary", icon=":material/arrow_back:", key="lesson-back"):
            st.switch_page(CLASSROOM)
