"""Start: a stored measurement, a trained model beside its untrained twin."""

from explorer.shell import page
from explorer.start import show

with page("Start") as state:
    show(state)
