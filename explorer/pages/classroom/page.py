"""The page Classroom: the lesson that is held, or what makes one."""

from collections.abc import Mapping

from explorer.pages.classroom import making, tasks
from explorer.pages.classroom.state import TITLE, ClassroomState
from explorer.panels.page import Page
from explorer.panels.to_lesson import CLASSROOM

PAGE = Page(TITLE, CLASSROOM, "Learn", state=ClassroomState, picker=None)


def show(state: ClassroomState, pages: Mapping[str, Page]) -> None:
    """Draw it."""
    if state.lesson:
        tasks.show(state, pages)
    else:
        making.show(state, pages)
