"""A lesson as text: it comes back whole, and without answers for students."""

from hypothesis import given
from hypothesis import strategies as st

from explorer.session.lesson import (
    MOST_FIGURES,
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


@given(LESSONS)
def test_it_comes_back_from_an_address_and_from_a_file(lesson: Lesson) -> None:
    assert unpacked(packed(lesson)) == lesson
    assert from_file(to_file(lesson)) == lesson


def test_students_get_no_answers() -> None:
    lesson = Lesson(tasks=[Task(question="Why?", answer="Because")])
    theirs = unpacked(packed(lesson.for_students()))
    assert theirs.tasks == [Task(question="Why?")]
    assert "Because" in to_file(lesson).decode()


def test_a_task_is_changed_added_and_taken_away() -> None:
    lesson = Lesson().with_task(9, question="one").with_task(9, question="two")
    assert [task.question for task in lesson.tasks] == ["one", "two"]
    assert lesson.with_task(0, answer="a").tasks[0] == Task(question="one", answer="a")
    assert lesson.without_task(0).tasks == [Task(question="two")]
