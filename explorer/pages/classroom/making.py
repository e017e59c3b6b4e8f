"""The lesson as its teacher makes it."""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

import streamlit as st

from coupling_core.base.errors import CouplingError, InputError
from explorer.pages.classroom.opened import chosen_by
from explorer.pages.classroom.sheets import figures_of, file_stem, offer
from explorer.pages.classroom.state import TITLE, ClassroomState, read, write
from explorer.pages.classroom.tasks import tell_unknown
from explorer.panels.off_screen import OffScreen
from explorer.panels.page import Page
from explorer.panels.uploader import taken, uploader
from explorer.panels.way import way
from explorer.session.lesson import (
    MOST_FIGURES,
    MOST_PROMPTS,
    MOST_TASKS,
    Lesson,
    Task,
    from_file,
    to_file,
)
from explorer.session.plain_text import plain, sentence
from explorer.session.session import bound, change, query_of, value

_FILE, _REFUSED = "file@classroom", "_refused_in_lesson"
_PROMPTS_HELP = (
    f"One a line, {MOST_PROMPTS} at most. Students choose one of them for the figures. A task "
    "whose link names another prompt keeps that. Leave it empty, and each page uses its own."
)


def show(state: ClassroomState, pages: Mapping[str, Page]) -> None:
    """Draw what makes a lesson, and what comes of it."""
    lesson = read(state.draft)
    if why := st.session_state.pop(_REFUSED, ""):
        st.toast(why, icon=":material/error:", duration="long")
    st.title("A lesson of your own", anchor=False)
    st.markdown(
        "Write what your students should find out, and give them one link. It opens your tasks, "
        "each with a link to its figure. Nothing a student does is stored.",
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
        _refuse(sentence(error))
        return str(value("draft"))


def _refuse(why: str) -> None:
    """Say, wherever on the page somebody is, why something was not taken; for callbacks."""
    st.session_state[_REFUSED] = why


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
        st.text_area, "Introduction", "text", lambda one: one.text, replaced("text"),
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
        max_chars=200, help="The model's name, as in the sidebar of the other pages.",
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
            st.text_area, "Answer (only you see it)", "answer", max_chars=1200, height=80,
            help="It is in your file and on your sheet, and not in the students' link.",
        )  # fmt: skip
        _entry(
            st.text_input, "Link to its figure", f"view-{number}",
            lambda one: link_of(one.tasks[nth], pages) if nth < len(one.tasks) else "",
            lambda one, given: one.with_task(nth, **_read_link(given, pages)),
            placeholder="As “Copy link” gives it, on the page that has the figure",
        )  # fmt: skip
        if task.page in pages:
            entry(
                st.number_input, "Figures on the sheet, from the top of the page", "figures",
                min_value=0, max_value=MOST_FIGURES, width=320,
            )  # fmt: skip
            way(
                pages[task.page], "Open its figure",
                place=f"-edit-{number}", **chosen_by(task, read(value("draft"))),
            )  # fmt: skip
        with st.container(horizontal=True):
            st.button(
                "Remove this task",
                key=f"remove-{number}",
                type="tertiary",
                icon=":material/delete:",
                on_click=lambda: _take(_draft().without_task(nth)),
            )
            if nth:
                st.button(
                    "Move up",
                    key=f"earlier-{number}",
                    type="tertiary",
                    icon=":material/arrow_upward:",
                    on_click=lambda: _take(_draft().with_task_earlier(nth)),
                )


def link_of(task: Task, pages: Mapping[str, Page]) -> str:
    """The link of a task, without the place of the app: "/Depth?block=3"."""
    if task.page not in pages:
        return ""
    return f"/{pages[task.page].address}" + f"?{task.view}" * bool(task.view)


def _read_link(text: str, pages: Mapping[str, Page]) -> dict[str, str]:
    """The page and the view of a link; what leads to no page is told, and the last one stays."""
    text = text.strip()
    if not text:
        return {"page": "", "view": ""}
    try:
        parts = urlsplit(text)
    except ValueError:
        _refuse("The link to a figure cannot be read: copy it anew.")
        return {}
    last = parts.path.rstrip("/").rpartition("/")[2]
    for title, page in pages.items():
        if page.address == last and title != TITLE:
            return {"page": title, "view": parts.query}
    _refuse(f"{last!r} is no page of this app: copy the link with “Copy link” on a page.")
    return {}


def _outcome(lesson: Lesson, pages: Mapping[str, Page]) -> None:
    """The students' link, the sheets and the file."""
    tell_unknown(lesson, pages)
    st.subheader("For your students", anchor=False)
    if not any(task.question for task in lesson.tasks):
        st.caption("Write a question, and the link for your students appears here.")
    else:
        st.code(_link(lesson), language=None, wrap_lines=True)
        with st.container(horizontal=True):
            st.button(
                "See it as they do",
                on_click=lambda: change(lesson=_written(lesson.for_students())),
            )
            offer(lesson, pages, answers=False)
        if st.button("Look for the figures", help="Whether each sheet has its figures."):
            _look(lesson, pages)
        st.subheader("For you", anchor=False)
        with st.container(horizontal=True):
            offer(lesson, pages, answers=True)
            name = f"{file_stem(lesson)}.toml"
            st.download_button(
                "Lesson (.toml)", to_file(lesson), name, "text/plain", on_click="ignore"
            )
        st.caption(
            "Keep the file: it has the answers too, and brings the lesson back here. The draft "
            "itself is in the address of this page alone."
        )
    uploader(
        "Open a lesson's file",
        _FILE,
        [".toml"],
        on_change=_open,
        help="A file saved with “Lesson (.toml)”. It replaces the lesson on this page.",
    )


def _look(lesson: Lesson, pages: Mapping[str, Page]) -> None:
    """Say which figures the sheets have, and which tasks have none that is measured."""
    screen = OffScreen.here()
    with st.spinner("Drawing the pages of all tasks"):
        for number, task in enumerate(lesson.tasks, 1):
            if task.page not in pages or not task.figures:
                st.caption(f"Task {number} has no figure.")
                continue
            try:
                found = figures_of(task, lesson, pages[task.page], screen)
            except CouplingError as error:
                st.warning(f"Task {number}: {sentence(error)}")
                continue
            if found:
                alts = (plain(figure.layout.meta["alt"]) for figure, _ in found.values())
                st.caption("  \n".join([f"Task {number} has:", *alts]))
            else:
                st.warning(
                    f"Task {number}: nothing is measured for its link. Open its figure, have it "
                    "measured, and look again."
                )


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
        _refuse(f"{plain(file.name)} was not taken: {sentence(error)}")
