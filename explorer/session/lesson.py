"""A lesson: what a teacher hands out, as text that an address or a file carries. No Streamlit here.

Students get it without its answers, which are in the teacher's file alone.
"""

import base64
import binascii
import json
import tomllib
import zlib
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from coupling_core.base.errors import InputError, reason
from coupling_core.base.records import DEFAULT_MODEL

LONGEST = 6000
"""Characters of a lesson in an address; longer ones are cut off on the way by some servers."""
MOST_TASKS = 20
MOST_PROMPTS = 12
MOST_FIGURES = 6
_LARGEST = 100_000
"""Bytes of a lesson that is unpacked, or of its file: many times what fits into an address."""


def _text(most: int, least: int = 0) -> Any:
    return Annotated[str, StringConstraints(min_length=least, max_length=most)]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Task(_Record):
    """One task of a lesson.

    Args:
        question: that is asked.
        answer: for the teacher's eyes alone.
        page: the title of the page that has its figure; empty where the task needs none.
        view: what is chosen there, as the part of a link behind its question mark.
        figures: how many of the page's figures the sheet has, from the page's top on.
    """

    question: _text(600) = ""
    answer: _text(1200) = ""
    page: _text(40) = ""
    view: _text(2500) = ""
    figures: Annotated[int, Field(ge=0, le=MOST_FIGURES)] = 1


class Lesson(_Record):
    """What a teacher hands out.

    Args:
        title: of the lesson.
        text: said before the tasks.
        model: that pages open with.
        prompts: that students choose among; none leaves it to them.
        pages: titles of those that are shown; none is all.
        tasks: in their order.
    """

    title: _text(100) = "Lesson"
    text: _text(1500) = ""
    model: _text(200, 1) = DEFAULT_MODEL
    prompts: Annotated[list[_text(1000, 1)], Field(max_length=MOST_PROMPTS)] = []
    pages: Annotated[list[_text(40)], Field(max_length=40)] = []
    tasks: Annotated[list[Task], Field(max_length=MOST_TASKS)] = []

    def for_students(self) -> "Lesson":
        """The same without its answers."""
        tasks = [task.model_copy(update={"answer": ""}) for task in self.tasks]
        return self.model_copy(update={"tasks": tasks})

    def with_task(self, nth: int, **changes: Any) -> "Lesson":
        """The same with another task in place of the nth, from 0; behind the last it is added."""
        tasks = list(self.tasks)
        if nth < len(tasks):
            tasks[nth] = tasks[nth].model_copy(update=changes)
        else:
            tasks.append(Task(**changes))
        return self.model_copy(update={"tasks": tasks})

    def without_task(self, nth: int) -> "Lesson":
        """The same without the nth task, from 0."""
        tasks = [task for at, task in enumerate(self.tasks) if at != nth]
        return self.model_copy(update={"tasks": tasks})

    def with_task_earlier(self, nth: int) -> "Lesson":
        """The same with the nth task, from 0, before the one that it came after."""
        tasks = list(self.tasks)
        tasks[nth - 1], tasks[nth] = tasks[nth], tasks[nth - 1]
        return self.model_copy(update={"tasks": tasks})


def packed(lesson: Lesson) -> str:
    """The lesson as an address carries it."""
    said = lesson.model_dump_json(exclude_defaults=True).encode()
    text = base64.urlsafe_b64encode(zlib.compress(said, 9)).decode().rstrip("=")
    if len(text) > LONGEST:
        raise InputError(
            f"the lesson takes {len(text)} characters, and an address carries {LONGEST} of it: "
            "shorten its texts, or make two lessons of it"
        )
    return text


def unpacked(text: str) -> Lesson:
    """The lesson of an address."""
    text = "".join(text.split())  # mail programs break long addresses
    try:
        if len(text) > LONGEST:
            raise ValueError("longer than any lesson")
        bare = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        stream = zlib.decompressobj()
        said = stream.decompress(bare, _LARGEST)
        if not stream.eof:
            raise ValueError("cut off, or larger than any lesson")
        found = json.loads(said)
    except (binascii.Error, zlib.error, UnicodeError, ValueError, RecursionError):
        raise InputError(
            "the link's lesson is damaged: ask whoever gave it to you for the whole address"
        ) from None
    return _lesson(found)


def from_file(content: bytes) -> Lesson:
    """The lesson of a TOML file."""
    if not content.strip() or len(content) > _LARGEST:
        raise InputError(f"a lesson's file is not empty, and has at most {_LARGEST // 1000} kB")
    try:
        found = tomllib.loads(content.decode("utf-8-sig"))
    except (UnicodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"a lesson is a TOML file, and this is none: {reason(error)}") from None
    return _lesson(found)


def to_file(lesson: Lesson) -> bytes:
    """The lesson as a TOML file, with its answers."""
    said = lesson.model_dump()
    tasks = said.pop("tasks")
    lines = [f"{name} = {_toml(value)}" for name, value in said.items()]
    for task in tasks:
        lines += ["", "[[tasks]]", *(f"{name} = {_toml(value)}" for name, value in task.items())]
    return ("\n".join(lines) + "\n").encode()


def _toml(value: Any) -> str:
    """A value as TOML has it, whose texts, lists and numbers are JSON's but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _lesson(found: Any) -> Lesson:
    try:
        return Lesson.model_validate(found)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ", ".join(
            str(part + 1) if isinstance(part, int) else str(part)[:40] for part in first["loc"]
        )
        raise InputError(f"no lesson: {where or 'all of it'}: {_why(first)}") from None


_WHY = {
    "string_type": "a text is expected",
    "string_too_long": "at most {max_length} characters are expected",
    "string_too_short": "a text is expected",
    "string_unicode": "a text of whole characters is expected",
    "list_type": "a list is expected",
    "too_long": "at most {max_length} entries are expected",
    "model_type": "an entry with a name for each of its parts is expected",
    "int_type": "a whole number is expected",
    "greater_than_equal": "at least {ge} is expected",
    "less_than_equal": "at most {le} is expected",
}


def _why(error: Any) -> str:
    if error["type"] == "extra_forbidden":
        return "a lesson has no such entry"
    return _WHY.get(error["type"], str(error["msg"])).format(**error.get("ctx", {}))
