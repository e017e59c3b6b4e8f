"""Vision: what stochastic depth does to the coupling and the accuracy of vision transformers."""

from explorer import vision
from explorer.shell import page

with page("Vision") as state:
    vision.show(state)
