"""A lesson as text: it comes back whole, without answers for students; hostile ones do not."""

import base64
import json
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coupling_core.base.errors import InputError
from explorer.session.lesson import (
    LONGEST,
    MOST_FIGURES,
    MOST_TASKS,
    Lesson,
    Task,
    from_file,
    packed,
    to_file,
    unpacked,
)

SAID = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
FILLED = SAID.filter(lambda text: text)
TASKS = st.builds(
    Task, question=SAID, answer=SAID, page=SAID, view=SAID, figures=st.integers(0, MOST_FIGURES)
)
LESSONS = st.builds(
    Lesson,
    title=SAID,
    text=SAID,
    model=FILLED,
    prompts=st.lists(FILLED, max_size=4),
    pages=st.lists(SAID, max_size=4),
    tasks=st.lists(TASKS, max_size=4),
)


def as_address(found: object) -> str:
    said = found if isinstance(found, bytes) else json.dumps(found).encode()
    return base64.urlsafe_b64encode(zlib.compress(said)).decode().rstrip("=")


@settings(deadline=None)  # a busy machine is no fault of a lesson
@given(LESSONS)
def test_it_comes_back_from_an_address_and_from_a_file(lesson):
    assert unpacked(packed(lesson)) == lesson
    assert from_file(to_file(lesson)) == lesson


def test_students_get_no_answers():
    lesson = Lesson(tasks=[Task(question="Why?", answer="Because")])
    theirs = unpacked(packed(lesson.for_students()))
    assert theirs.tasks == [Task(question="Why?")]
    assert "Because" in to_file(lesson).decode()


def test_a_task_is_changed_added_and_taken_away():
    lesson = Lesson().with_task(9, question="one").with_task(9, question="two")
    assert [task.question for task in lesson.tasks] == ["one", "two"]
    assert lesson.with_task(0, answer="a").tasks[0] == Task(question="one", answer="a")
    assert lesson.without_task(0).tasks == [Task(question="two")]


BOMB = zlib.compress(b"[" + b"0," * 50_000_000 + b"0]")
HOSTILE = {
    "nothing": "",
    "no base64": "!!!",
    "no zlib": "AAAA",
    "cut off": packed(Lesson(title="A title")).rstrip("=")[:-4],
    "too long": "A" * (LONGEST + 1),
    "a bomb": base64.urlsafe_b64encode(BOMB[:4000]).decode(),
    "deep": as_address(b"[" * 90_000),
    "a list": as_address([1]),
    "a number": as_address(b"1e999"),
    "long digits": as_address(b"1" * 20_000),
    "half a character": as_address({"title": "\ud800"}),
    "no text": as_address({"title": 5}),
    "an unknown entry": as_address({"script": "alert(1)"}),
    "too many tasks": as_address({"tasks": [{}] * (MOST_TASKS + 1)}),
    "too many figures": as_address({"tasks": [{"figures": MOST_FIGURES + 1}]}),
    "a figure too few": as_address({"tasks": [{"figures": -1}]}),
    "half a figure": as_address({"tasks": [{"figures": 1.5}]}),
    "a long title": as_address({"title": "x" * 101}),
    "an empty prompt": as_address({"prompts": [""]}),
    "a task of text": as_address({"tasks": ["x"]}),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_address_is_met_in_words(text):
    with pytest.raises(InputError) as told:
        unpacked(text)
    assert len(str(told.value)) < 200
    assert "Input should" not in str(told.value)


@pytest.mark.parametrize(
    "content",
    [b" \n", b"\xff\xfe", b"title = ", b"a = " + b"[" * 5000, b"x" * 200_000, b"title = 5"],
    ids=["nothing", "no text", "half", "deep", "large", "no text for a title"],
)
def test_a_hostile_file_is_met_in_words(content):
    with pytest.raises(InputError) as told:
        from_file(content)
    assert len(str(told.value)) < 200


def test_what_no_address_can_carry_is_told_with_a_remedy():
    import random

    noise = random.Random(0)
    long = ["".join(chr(noise.randrange(33, 0x2FFF)) for _ in range(500)) for _ in range(12)]
    with pytest.raises(InputError, match="two lessons"):
        packed(Lesson(prompts=long))
