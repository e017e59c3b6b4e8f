"""What is chosen where the figure of a task is opened."""

from urllib.parse import parse_qsl, urlencode

from explorer.session.lesson import Lesson, Task
from explorer.session.session import said_by

_NOT_OF_A_TASK = ("lesson", "task", "draft", "present")
"""What a link of a task may say, and is not taken from it."""


def query_for(task: Task, lesson: Lesson) -> dict[str, str]:
    """As a link has it, by the names of links."""
    if task.view:
        given = dict(parse_qsl(task.view))
        return {name: text for name, text in given.items() if name not in _NOT_OF_A_TASK}
    return {"model": lesson.model} | ({"prompt": lesson.prompts[0]} if lesson.prompts else {})


def chosen_by(task: Task, lesson: Lesson) -> dict[str, object]:
    """As the session has it, by the names of fields; what cannot be read is as by default."""
    fields, _ = said_by(urlencode(query_for(task, lesson)))
    return {name: value for name, value in fields.items() if name not in _NOT_OF_A_TASK}
