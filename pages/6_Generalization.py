"""Generalization: whether models that are more coupled perform better."""

from explorer.frame.shell import page
from explorer.pages.generalization import page as generalization

with page("Generalization") as state:
    generalization.show(state)
