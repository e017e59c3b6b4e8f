"""Generalization: whether models that are more coupled perform better."""

from explorer import generalization
from explorer.shell import page

with page("Generalization") as state:
    generalization.show(state)
