"""The lesson on paper: its tasks with their figures, and room to write or the answers."""

from collections.abc import Mapping

from coupling_core.base.errors import CouplingError
from coupling_core.figures.document import bullets, document, drawing, heading, paragraph, ruled
from explorer.pages.classroom.opened import query_for
from explorer.panels.off_screen import OffScreen
from explorer.panels.page import Page
from explorer.session.lesson import Lesson, Task

ROOM = 4
"""Lines to write an answer on."""


def sheet(lesson: Lesson, pages: Mapping[str, Page], screen: OffScreen, *, answers: bool) -> bytes:
    """The sheet as an HTML file, which needs no network.

    Args:
        lesson: with its answers where these are asked for.
        pages: by their titles.
        screen: draws their figures.
        answers: whether the answers stand below the questions; else there is room to write.
    """
    parts = [paragraph(lesson.text), bullets("Prompts", lesson.prompts)]
    for number, task in enumerate(lesson.tasks, 1):
        parts += [heading(f"Task {number}"), paragraph(task.question)]
        if task.figures and task.page in pages:
            parts += _figures(task, lesson, pages[task.page], screen)
        parts.append(paragraph(f"Answer: {task.answer}") if answers else ruled(ROOM))
    return document(f"{lesson.title}: answers" if answers else lesson.title, parts)


def _figures(task: Task, lesson: Lesson, page: Page, screen: OffScreen) -> list[str]:
    """The first figures of a task's page, or why there are none."""
    try:
        drawn = screen.draw(page, query_for(task, lesson))
    except CouplingError as error:
        return [paragraph(f"The figure of {page.title} could not be drawn: {error}.")]
    if not drawn.figures:
        return [
            paragraph(
                f"The figure of {page.title} is not measured yet: open the task in the app, have "
                "it measured, and make this sheet again."
            )
        ]
    some = list(drawn.from_the_top.values())[: task.figures]
    return [drawing(figure, *shown) for figure, shown in some]
