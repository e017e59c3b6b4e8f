"""The lesson on paper: its tasks with their figures, and room to write or the answers."""

from collections.abc import Mapping
from itertools import islice

import streamlit as st

from coupling_core.analysis.exports.naming import file_part
from coupling_core.base.errors import CouplingError
from coupling_core.figures.document import (
    bullets,
    document,
    drawing,
    heading,
    paragraph,
    ruled,
    together,
)
from explorer.pages.classroom.opened import query_for
from explorer.panels.off_screen import OffScreen
from explorer.panels.page import Page
from explorer.panels.whole import Drawn
from explorer.session.lesson import Lesson, Task

NAME = "Name: ______________________________   Date: ________________"
ROOM = 4
"""Lines to write an answer on."""


def offer(lesson: Lesson, pages: Mapping[str, Page], *, answers: bool) -> None:
    """Draw the button that makes the sheet; arguments as of `sheet`."""
    what = "answers" if answers else "tasks"
    screen = OffScreen.here()
    st.download_button(
        f"{what.capitalize()} to print (.html)",
        lambda: sheet(lesson, pages, screen, answers=answers),
        f"{file_stem(lesson)}-{what}.html",
        "text/html",
        on_click="ignore",
    )


def file_stem(lesson: Lesson) -> str:
    """What a lesson's files are called, without their endings."""
    return file_part(lesson.title) or "lesson"


def sheet(lesson: Lesson, pages: Mapping[str, Page], screen: OffScreen, *, answers: bool) -> bytes:
    """The sheet as an HTML file, which needs no network.

    Without the answers, there is room to write.
    """
    parts = [] if answers else [paragraph(NAME)]
    parts += [paragraph(lesson.text), bullets("Prompts", lesson.prompts)]
    for number, task in enumerate(lesson.tasks, 1):
        asked = [heading(f"Task {number}"), paragraph(task.question)]
        if task.figures and task.page in pages:
            asked += _figures(task, lesson, pages[task.page], screen)
        asked.append(paragraph(f"Answer: {task.answer}") if answers else ruled(ROOM))
        parts.append(together(asked))
    title = lesson.title or "A lesson"
    return document(f"Answers: {title}" if answers else title, parts)


def figures_of(task: Task, lesson: Lesson, page: Page, screen: OffScreen) -> dict[str, Drawn]:
    """The first figures of a task's page, by what they show; none where it is not measured."""
    drawn = screen.draw(page, query_for(task, lesson)).from_the_top
    return dict(islice(drawn.items(), task.figures))


def _figures(task: Task, lesson: Lesson, page: Page, screen: OffScreen) -> list[str]:
    """The same in the document; else where they are to be found."""
    try:
        some = figures_of(task, lesson, page, screen).values()
    except CouplingError:
        some = ()
    if not some:
        return [paragraph(f"The figure is on the page {page.title} of the app.")]
    return [drawing(figure, *of) for figure, of in some]
