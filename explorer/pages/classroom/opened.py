"""What is chosen where the figure of a task is opened."""

from urllib.parse import parse_qsl, urlencode

from explorer.session.lesson import Lesson, Task
from explorer.session.session import said_by, value

_NOT_OF_A_TASK = ("lesson", "task", "draft", "present")
"""What a link of a task may say, and is not taken from it."""


def query_for(task: Task, lesson: Lesson, prompt: str = "") -> dict[str, str]:
    """As a link has it, by the names of links.

    A link of the task may name a prompt, which then stays; else it is the one that they chose among
    the lesson's, at first its first.
    """
    if not task.view:
        given = {"model": lesson.model}
    else:
        given = {name: text for name, text in parse_qsl(task.view) if name not in _NOT_OF_A_TASK}
    if lesson.prompts and given.get("prompt", lesson.prompts[0]) in lesson.prompts:
        given["prompt"] = prompt if prompt in lesson.prompts else lesson.prompts[0]
    return given


def chosen_by(task: Task, lesson: Lesson) -> dict[str, object]:
    """As the session has it, by the names of fields; what cannot be read is as by default."""
    fields, _ = said_by(urlencode(query_for(task, lesson, value("prompt"))))
    return {name: found for name, found in fields.items() if name not in _NOT_OF_A_TASK}
