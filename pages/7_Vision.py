"""Vision: what stochastic depth does to the coupling and the accuracy of vision transformers."""

from explorer.frame.shell import page
from explorer.pages.vision import page as vision

with page("Vision") as state:
    vision.show(state)
