"""Classroom: a teacher makes a lesson, and students find its tasks."""

from explorer.frame.contents import PAGES
from explorer.frame.shell import page
from explorer.pages.classroom.page import show

with page("Classroom") as state:
    show(state, PAGES)
