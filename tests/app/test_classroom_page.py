"""The page Classroom: the lesson that a teacher makes is the one that students see; its text."""

import pytest
from handling import button, labels, press
from hypothesis import given
from hypothesis import strategies as st
from screen import PAGES, words
from streamlit.testing.v1 import AppTest

from coupling_core.experiments.gallery import EXAMPLES
from explorer.frame import contents
from explorer.pages.classroom.making import link_of
from explorer.session.lesson import MOST_FIGURES, Lesson, Task, from_file, packed, to_file, unpacked

LESSON = Lesson(
    title="Coupling *in* one hour",
    text="Look at <b>every</b> map.",
    prompts=[EXAMPLES[1], EXAMPLES[0]],
    pages=["Depth", "Tokens"],
    tasks=[
        Task(question="Which blocks are coupled?", page="Depth", view="block=9&basis=14&k=10"),
        Task(question="Which [tokens](http://a.b) are?", page="Tokens"),
        Task(question="Why?"),
    ],
)
TITLE = r"Coupling \*in\* one hour"


def texts(app: AppTest, label: str) -> list:
    return [one for one in (*app.text_input, *app.text_area) if one.label.startswith(label)]


def field(app: AppTest, name: str):
    return app.session_state["_chosen"][name]


def links(app: AppTest) -> set[str]:
    return {one.proto.label for one in app.get("page_link")}


def turn(app: AppTest, page: str) -> AppTest:
    app.switch_page(PAGES[page]).run()
    assert not app.exception
    return app


@pytest.mark.full
def test_what_is_typed_becomes_the_students_link(open_page) -> None:
    app = open_page("Classroom")
    assert not app.get("code")
    texts(app, "Title")[0].set_value("A lesson").run()
    texts(app, "Prompts")[0].set_value("one two\n\n three \none two").run()
    press(app, "Add a task")
    texts(app, "Question")[0].set_value("Why?").run()
    texts(app, "Answer")[0].set_value("A secret").run()
    texts(app, "Link")[0].set_value("https://elsewhere.org/Login?x=1").run()
    assert app.toast  # there is no such page here
    texts(app, "Link")[0].set_value("http://x.y/app/Depth?block=3&raw=1").run()
    texts(app, "Link")[0].set_value("http://[").run()
    assert app.toast
    made = unpacked(field(app, "draft"))
    task = Task(question="Why?", answer="A secret", page="Depth", view="block=3&raw=1")
    assert made == Lesson(title="A lesson", prompts=["one two", "three"], tasks=[task])
    (link,) = app.get("code")
    given = dict(part.split("=", 1) for part in link.value.partition("?")[2].split("&"))
    assert unpacked(given["lesson"]) == made.for_students()
    assert set(given) == {"lesson", "prompt"}
    assert "draft" in app.query_params
    assert "draft" not in turn(app, "Depth").query_params  # where students would have the answers
    assert texts(turn(app, "Classroom"), "Answer")[0].value == "A secret"
    press(app, "See it as they do")
    assert "Why?" in words(app)
    assert "secret" not in words(app)


@pytest.mark.full
def test_tasks_change_places_and_leave(open_page) -> None:
    app = open_page("Classroom", draft=packed(LESSON))
    for key in ("earlier-3", "earlier-2", "remove-3"):
        app.button(key=key).click().run()
    asked = [task.question for task in unpacked(field(app, "draft")).tasks]
    assert asked == ["Why?", "Which blocks are coupled?"]
    assert [one.value for one in texts(app, "Question")] == asked


@pytest.mark.full
def test_what_a_page_shows_becomes_a_task(open_page) -> None:
    app = open_page("Depth", block="9", basis="14", draft=packed(Lesson(title="Mine")))
    press(app, "Add this to a lesson")
    task = Task(page="Depth", view="block=9&basis=14")
    assert unpacked(field(app, "draft")) == Lesson(title="Mine", tasks=[task])
    assert app.title[0].value == "A lesson of your own"
    pages = {name: link_of(Task(page=name, view="k=3"), contents.PAGES) for name in ("Depth", "No")}
    assert pages == {"Depth": "/Depth?k=3", "No": ""}


@pytest.mark.full
def test_students_see_its_pages_alone_and_the_question_on_them(open_page) -> None:
    app = open_page("Classroom", lesson=packed(LESSON), prompt=LESSON.prompts[0])
    assert app.title[0].value == TITLE
    assert r"\<b\>every" in words(app)
    assert r"\[tokens\]" in words(app)
    assert links(app) == {"Classroom", "Depth", "Tokens"}
    press(app, "Open its figure, on Depth")
    turn(app, "Depth")
    assert "Which blocks are coupled?" in words(app)
    assert button(app, "Task 2")
    assert not [label for label in labels(app) if label.startswith("Add this to a lesson")]
    chosen = {name: field(app, name) for name in ("block", "basis", "k")}
    assert chosen == {"block": 9, "basis": 14, "k": 10}
    assert links(app) == {"Classroom", "Depth", "Tokens"}
    turn(app, "Classroom").radio[0].set_value(LESSON.prompts[1]).run()
    press(app, "Open its figure, on Tokens")
    assert field(app, "prompt") == LESSON.prompts[1]
    press(turn(app, "Classroom"), "Leave the lesson")
    assert links(app) >= set(contents.PAGES)
    assert field(app, "lesson") == ""


HOSTILE = {
    "unknown pages": ({"pages": ["<script>alert(1)</script>"]}, Task(question="q", page="No")),
    "markup": (
        {"title": "<img src=x onerror=alert(1)>"},
        Task(question="$x$ :red[a] # b", page="Depth", view=f"prompt={EXAMPLES[2]}"),
    ),
    "nonsense and a lesson in a view": (
        {},
        Task(question="q", page="Depth", view="block=x&nonsense=1&lesson=AAAA"),
    ),
    "a draft in a view": (
        {},
        Task(question="q", page="Depth", view="draft=AAAA&task=99&present=1"),
    ),
    "a file for a model": ({"model": "../../etc/passwd"}, Task(question="q", page="Depth")),
}


@pytest.mark.full
@pytest.mark.parametrize(("said", "task"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_lesson_breaks_no_page(open_page, said, task) -> None:
    lesson = packed(Lesson(**said, tasks=[task]))
    app = open_page("Classroom", lesson=lesson)
    assert "<script" not in words(app)
    if task.page == "No":
        assert app.warning
        return
    turn(press(app, "Open its figure"), "Depth")
    assert (field(app, "lesson"), field(app, "present")) == (lesson, False)
    if "prompt=" in task.view:
        assert field(app, "prompt") == EXAMPLES[2]  # which a task may name, and which stays


@pytest.mark.full
def test_a_damaged_lesson_shows_no_form_and_one_with_a_space_is_whole(open_page) -> None:
    app = open_page("Classroom", lesson="eNpNj7EO" * 500)
    assert app.error
    assert not app.text_input
    assert links(turn(app, "Depth")) == set(contents.PAGES)
    broken = packed(LESSON)
    app = open_page("Classroom", lesson=f"{broken[:20]} {broken[20:]}")
    assert app.title[0].value == TITLE


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
def test_it_comes_back_from_an_address_and_from_a_file(lesson) -> None:
    assert unpacked(packed(lesson)) == lesson
    assert from_file(to_file(lesson)) == lesson


def test_students_get_no_answers() -> None:
    lesson = Lesson(tasks=[Task(question="Why?", answer="Because")])
    theirs = unpacked(packed(lesson.for_students()))
    assert theirs.tasks == [Task(question="Why?")]
    assert "Because" in to_file(lesson).decode()
