"""The lesson as its teacher makes it."""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

import streamlit as st

from coupling_core.analysis.exports.naming import file_part
from coupling_core.base.errors import InputError
from explorer.pages.classroom.sheets import sheet
from explorer.pages.classroom.state import TITLE, ClassroomState, read, write
from explorer.panels.off_screen import OffScreen
from explorer.panels.page import Page
from explorer.panels.uploader import taken, uploader
from explorer.session.lesson import MOST_FIGURES, MOST_TASKS, Lesson, Task, from_file, to_file
from explorer.session.plain_text import plain
from explorer.session.session import bound, change, query_of, tell, value

_FILE = "file@classroom"
_PROMPTS_HELP = "One a line. Students choose among them; without any, pages keep their own."


def show(state: ClassroomState, pages: Mapping[str, Page]) -> None:
    """Draw what makes a lesson, and what comes of it."""
    lesson = read(state.draft)
    st.title("A lesson of your own", anchor=False)
    st.markdown(
        "Write what your students shall find out, and give them one link. It opens your tasks, "
        "each with the way to its figure. Nothing that a student does is kept here.",
        width=780,
    )
    left, right = st.columns([3, 2], gap="large")
    with left:
        _texts(pages)
        for number, task in enumerate(lesson.tasks, 1):
            _task(number, task, pages)
        st.button(
            "Add a task",
            icon=":material/add:",
            disabled=len(lesson.tasks) >= MOST_TASKS,
            on_click=lambda: _take(_draft().with_task(MOST_TASKS)),
        )
    with right:
        _outcome(lesson, pages)


def _draft() -> Lesson:
    return read(value("draft"))


def _take(lesson: Lesson) -> None:
    """Have the draft be this one; for callbacks."""
    change(draft=_written(lesson))


def _written(lesson: Lesson) -> str:
    """As the field has it; what is too long is told, and the draft stays as it was."""
    try:
        return write(lesson)
    except InputError as error:
        tell(str(error))
        return str(value("draft"))


def _entry(
    widget: Callable[..., Any],
    label: str,
    place: str,
    of: Callable[[Lesson], Any],
    put: Callable[[Lesson, Any], Lesson],
    *args: Any,
    **options: Any,
) -> None:
    """A widget for one part of the draft."""
    bound(
        widget,
        label,
        "draft",
        *args,
        place=f"lesson-{place}",
        read=lambda given: _written(put(_draft(), given)),
        write=lambda text: of(read(text)),
        **options,
    )


def _texts(pages: Mapping[str, Page]) -> None:
    def replaced(name: str) -> Callable[[Lesson, Any], Lesson]:
        return lambda lesson, given: lesson.model_copy(update={name: given})

    _entry(st.text_input, "Title", "title", lambda one: one.title, replaced("title"), max_chars=100)
    _entry(
        st.text_area, "What to say first", "text", lambda one: one.text, replaced("text"),
        max_chars=1500, height=100,
    )  # fmt: skip
    _entry(
        st.text_area, "Prompts", "prompts", lambda one: "\n".join(one.prompts),
        lambda one, given: one.model_copy(update={"prompts": _lines(given)}),
        help=_PROMPTS_HELP, height=100,
    )  # fmt: skip
    _entry(
        st.text_input, "Model", "model", lambda one: one.model,
        lambda one, given: one.model_copy(update={"model": given or Lesson().model}),
        max_chars=200, help="As the sidebar of the other pages names it.",
    )  # fmt: skip
    _entry(
        st.multiselect, "Pages that students see", "pages",
        lambda one: [title for title in one.pages if title in pages],
        replaced("pages"), [title for title in pages if title != TITLE],
        placeholder="All pages",
    )  # fmt: skip


def _lines(text: str) -> list[str]:
    return list(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip()))


def _task(number: int, task: Task, pages: Mapping[str, Page]) -> None:
    nth = number - 1

    def entry(widget: Any, label: str, name: str, **options: Any) -> None:
        _entry(
            widget, label, f"{name}-{number}",
            lambda one: getattr(one.tasks[nth], name) if nth < len(one.tasks) else None,
            lambda one, given: one.with_task(nth, **{name: given}),
            **options,
        )  # fmt: skip

    with st.container(border=True):
        st.markdown(f"**Task {number}**")
        entry(st.text_area, "Question", "question", max_chars=600, height=80)
        entry(
            st.text_area, "Answer, for you alone", "answer", max_chars=1200, height=80,
            help="In your file and on your sheet; the students' link has it not.",
        )  # fmt: skip
        _entry(
            st.text_input, "Link to its figure", f"view-{number}",
            lambda one: link_of(one.tasks[nth], pages) if nth < len(one.tasks) else "",
            lambda one, given: one.with_task(nth, **_read_link(given, pages)),
            placeholder="As “Copy link” gives it, on the page that has the figure",
        )  # fmt: skip
        if task.page in pages:
            entry(
                st.number_input, "Figures on the sheet, from the page's top on", "figures",
                min_value=0, max_value=MOST_FIGURES, width=320,
            )  # fmt: skip
        st.button(
            "Remove this task",
            key=f"remove-{number}",
            type="tertiary",
            icon=":material/delete:",
            on_click=lambda: _take(_draft().without_task(nth)),
        )


def link_of(task: Task, pages: Mapping[str, Page]) -> str:
    """The link of a task, without the place of the app: "/Depth?block=3"."""
    if task.page not in pages:
        return ""
    return f"/{pages[task.page].address}" + f"?{task.view}" * bool(task.view)


def _read_link(text: str, pages: Mapping[str, Page]) -> dict[str, str]:
    """The page and the view of a link; what leads to no page of the app is told."""
    text = text.strip()
    if not text:
        return {"page": "", "view": ""}
    try:
        parts = urlsplit(text)
    except ValueError:
        tell("the link to a figure cannot be read: copy it anew")
        return {"page": "", "view": ""}
    last = parts.path.rstrip("/").rpartition("/")[2]
    for title, page in pages.items():
        if page.address == last and title != TITLE:
            return {"page": title, "view": parts.query}
    tell(f"the link to a figure leads to no page of this app: {last!r}; copy it with “Copy link”")
    return {"page": "", "view": ""}


def _outcome(lesson: Lesson, pages: Mapping[str, Page]) -> None:
    """The students' link, the sheets and the file."""
    st.subheader("For your students", anchor=False)
    if not any(task.question for task in lesson.tasks):
        st.caption("Write a question, and their link stands here.")
    else:
        st.code(_link(lesson), language=None, wrap_lines=True)
        screen, name = OffScreen.here(), file_part(lesson.title) or "lesson"
        with st.container(horizontal=True):
            st.button("See it as they do", on_click=lambda: change(lesson=_handed_out(lesson)))
            st.download_button(
                "Tasks to print (.html)",
                lambda: sheet(lesson, pages, screen, answers=False),
                f"{name}-tasks.html",
                "text/html",
                on_click="ignore",
            )
        st.subheader("For you", anchor=False)
        with st.container(horizontal=True):
            st.download_button(
                "Answers to print (.html)",
                lambda: sheet(lesson, pages, screen, answers=True),
                f"{name}-answers.html",
                "text/html",
                on_click="ignore",
            )
            st.download_button(
                "Lesson (.toml)", to_file(lesson), f"{name}.toml", "text/plain", on_click="ignore"
            )
        st.caption(
            "Keep the file: it has the answers too, and brings the lesson back here. Figures on "
            "the sheets are those of the pages, as your links open them."
        )
    uploader(
        "Open a lesson's file",
        _FILE,
        [".toml"],
        on_change=_open,
        help="As the button “Lesson (.toml)” writes it. It takes the place of what is here.",
    )


def _handed_out(lesson: Lesson) -> str:
    return _written(lesson.for_students())


def _link(lesson: Lesson) -> str:
    """The students' link: it has neither the answers nor what else this session chose."""
    chosen = {"lesson": write(lesson.for_students()), "model": lesson.model}
    if lesson.prompts:
        chosen["prompt"] = lesson.prompts[0]
    query = query_of(**chosen)
    return f"{st.context.url or ''}?{urlencode(query)}"


def _open() -> None:
    """Take the lesson of the file that came; for the callback of its control."""
    file = taken(_FILE)
    if file is None:
        return
    try:
        _take(from_file(file.getvalue()))
    except InputError as error:
        tell(f"the file {plain(file.name)} was refused: {error}")
