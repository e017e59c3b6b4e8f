"""The page Classroom: the lesson that a teacher makes is the one that students see."""

import pytest
from handling import button, labels, press
from screen import Open, words
from streamlit.testing.v1 import AppTest

from explorer.frame.contents import PAGES
from explorer.pages.classroom.making import link_of
from explorer.session.lesson import Lesson, Task, packed, unpacked

pytestmark = pytest.mark.full

LESSON = Lesson(
    title="Coupling *in* one hour",
    text="Look at <b>every</b> map.",
    prompts=["The cat sat on the mat", "What is the capital of France? The capital is"],
    pages=["Depth", "Tokens"],
    tasks=[
        Task(question="Which blocks are coupled?", page="Depth", view="block=9&basis=14&k=10"),
        Task(question="Which [tokens](http://a.b) are?", page="Tokens"),
        Task(question="Why?"),
    ],
)


def texts(app: AppTest, label: str) -> list:
    return [one for one in (*app.text_input, *app.text_area) if one.label.startswith(label)]


def field(app: AppTest, name: str):
    return app.session_state["_chosen"][name]


def links(app: AppTest) -> set[str]:
    return {one.proto.label for one in app.get("page_link")}


def test_what_is_typed_becomes_the_students_link(open_page: Open) -> None:
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
    press(app, "See it as they do")
    assert "Why?" in words(app)
    assert "secret" not in words(app)


def test_tasks_change_places_and_leave(open_page: Open) -> None:
    app = open_page("Classroom", draft=packed(LESSON))
    app.button(key="earlier-3").click().run()
    app.button(key="earlier-2").click().run()
    app.button(key="remove-3").click().run()
    assert not app.exception
    asked = [task.question for task in unpacked(field(app, "draft")).tasks]
    assert asked == ["Why?", "Which blocks are coupled?"]
    assert [one.value for one in texts(app, "Question")] == asked


def test_an_answer_is_in_no_link_to_another_page(open_page: Open) -> None:
    draft = packed(Lesson(tasks=[Task(question="q", answer="a secret")]))
    app = open_page("Classroom", draft=draft)
    assert app.query_params["draft"] == draft
    app.switch_page("pages/1_Depth.py").run()
    assert "draft" not in app.query_params
    app.switch_page("pages/17_Classroom.py").run()
    assert texts(app, "Answer")[0].value == "a secret"


def test_what_a_page_shows_becomes_a_task(open_page: Open) -> None:
    app = open_page("Depth", block="9", basis="14", draft=packed(Lesson(title="Mine")))
    press(app, "Add this to a lesson")
    task = Task(page="Depth", view="block=9&basis=14")
    assert unpacked(field(app, "draft")) == Lesson(title="Mine", tasks=[task])
    assert app.title[0].value == "A lesson of your own"
    links_of = {name: link_of(Task(page=name, view="k=3"), PAGES) for name in ("Depth", "Nowhere")}
    assert links_of == {"Depth": "/Depth?k=3", "Nowhere": ""}


def test_students_see_its_pages_alone_and_the_question_on_them(open_page: Open) -> None:
    app = open_page("Classroom", lesson=packed(LESSON), prompt=LESSON.prompts[0])
    assert app.title[0].value == r"Coupling \*in\* one hour"
    assert r"\<b\>every" in words(app)
    assert r"\[tokens\]" in words(app)
    assert links(app) == {"Classroom", "Depth", "Tokens"}
    press(app, "Open its figure, on Depth")
    app.switch_page("pages/1_Depth.py").run()
    assert "Which blocks are coupled?" in words(app)
    assert button(app, "Task 2")
    assert not [label for label in labels(app) if label.startswith("Add this to a lesson")]
    chosen = {name: field(app, name) for name in ("block", "basis", "k")}
    assert chosen == {"block": 9, "basis": 14, "k": 10}
    assert links(app) == {"Classroom", "Depth", "Tokens"}
    app.switch_page("pages/17_Classroom.py").run()
    app.radio[0].set_value(LESSON.prompts[1]).run()
    press(app, "Open its figure, on Tokens")
    assert field(app, "prompt") == LESSON.prompts[1]
    app.switch_page("pages/17_Classroom.py").run()
    press(app, "Leave the lesson")
    assert len(links(app)) > 10
    assert field(app, "lesson") == ""


def test_a_prompt_that_a_task_names_stays(open_page: Open) -> None:
    task = Task(question="q", page="Depth", view="prompt=Another")
    lesson = LESSON.model_copy(update={"tasks": [task]})
    app = open_page("Classroom", lesson=packed(lesson), prompt=LESSON.prompts[0])
    press(app, "Open its figure")
    assert field(app, "prompt") == "Another"


HOSTILE = {
    "unknown pages": Lesson(
        pages=["<script>alert(1)</script>"], tasks=[Task(question="q", page="Nowhere")]
    ),
    "markup": Lesson(
        title="<img src=x onerror=alert(1)>", tasks=[Task(question="$x$ :red[a] # b")]
    ),
    "nonsense and a lesson in a view": Lesson(
        tasks=[Task(question="q", page="Depth", view="block=x&nonsense=1&lesson=AAAA")]
    ),
    "a draft in a view": Lesson(
        tasks=[Task(question="q", page="Depth", view="draft=AAAA&task=99&present=1")]
    ),
    "a file for a model": Lesson(
        model="../../etc/passwd", tasks=[Task(question="q", page="Depth")]
    ),
}


@pytest.mark.parametrize("lesson", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_lesson_breaks_no_page(open_page: Open, lesson: Lesson) -> None:
    app = open_page("Classroom", lesson=packed(lesson))
    assert "<script" not in words(app)
    if any(task.page == "Nowhere" for task in lesson.tasks):
        assert app.warning
    if any(label.startswith("Open its figure") for label in labels(app)):
        press(app, "Open its figure")
        app.switch_page("pages/1_Depth.py").run()
        assert not app.exception
        assert field(app, "lesson") == packed(lesson)
        assert field(app, "present") is False


def test_a_damaged_lesson_shows_no_form_and_one_with_a_space_is_whole(open_page: Open) -> None:
    app = open_page("Classroom", lesson="eNpNj7EO" * 500)
    assert app.error
    assert not app.text_input
    app.switch_page("pages/1_Depth.py").run()
    assert not app.exception
    assert links(app) == set(PAGES)
    broken = packed(LESSON)
    app = open_page("Classroom", lesson=f"{broken[:20]} {broken[20:]}")
    assert app.title[0].value == r"Coupling \*in\* one hour"
