"""What a page shows, made a task of a lesson of one's own."""

import streamlit as st

from coupling_core.base.errors import InputError
from explorer.session.lesson import MOST_TASKS, Lesson, packed, unpacked
from explorer.session.session import address, change, task, tell, value

CLASSROOM = "pages/17_Classroom.py"
TITLE = "Classroom"


def to_lesson(title: str) -> None:
    """Draw the button that does; students, who hold a lesson, have none."""
    if value("lesson"):
        return
    label, icon = "Add this to a lesson as a task", ":material/school:"
    if st.button(label, type="tertiary", icon=icon, key="to-lesson"):
        draft = unpacked(value("draft")) if value("draft") else Lesson()
        made = {"page": title, "view": task()}
        try:
            change(draft=packed(draft.with_task(MOST_TASKS, **made)))
        except InputError as error:
            tell(str(error))
        st.switch_page(CLASSROOM, query_params=address(TITLE))
