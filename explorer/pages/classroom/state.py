"""Which lesson is shown, in the state."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator

from coupling_core.base.errors import InputError
from explorer.panels.to_lesson import TITLE
from explorer.session.lesson import LONGEST, MOST_TASKS, Lesson, packed, unpacked
from explorer.session.link import Parameter, expect
from explorer.session.state import State


def _readable(text: str) -> str:
    if text:
        unpacked(text)
    return text


_Length = expect(lambda text: len(text) <= LONGEST, f"at most {LONGEST} characters")


@dataclass(frozen=True)
class ClassroomState(State):
    """What is chosen on this page.

    Args:
        lesson: that is held, as `packed`, without answers; empty is none. A damaged one is kept,
            for the page to say so.
        task: the one at hand, from 1; 0 is none.
        draft: the lesson that is being made, with its answers, which no other page's link carries.
    """

    lesson: Annotated[str, _Length] = ""
    task: Annotated[int, expect(lambda n: 0 <= n <= MOST_TASKS, "a task's number")] = 0
    draft: Annotated[str, AfterValidator(_readable), Parameter(page=TITLE)] = ""


def read(text: str) -> Lesson:
    """The lesson of a field; one without anything where it is empty."""
    return unpacked(text) if text else Lesson()


def held(text: str) -> Lesson | None:
    """The lesson that is held; None where there is none, or it is damaged."""
    try:
        return unpacked(text) if text else None
    except InputError:
        return None


def write(lesson: Lesson) -> str:
    """The lesson as a field has it; raises `InputError` where it is too long."""
    return "" if lesson == Lesson() else packed(lesson)
