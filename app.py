"""Start: a stored measurement, a trained model beside its untrained twin."""

from explorer.frame.shell import page
from explorer.pages.start import show

with page("Start") as state:
    show(state)
