"""Which pages there are; what the frame knows of one, it knows from its record."""

from explorer.pages import compare, depth, layer_graph, perturbation, spectrum, start, trajectories
from explorer.pages.classroom import page as classroom
from explorer.pages.directions import page as directions
from explorer.pages.generalization import page as generalization
from explorer.pages.runs import page as runs
from explorer.pages.tokens import page as tokens
from explorer.pages.tour import page as tour
from explorer.pages.train_one import page as train_one
from explorer.pages.training import page as training
from explorer.pages.vision import page as vision
from explorer.pages.what_if import page as what_if
from explorer.panels.page import Page
from explorer.session.link import Links

_PAGES = (
    start.PAGE,
    tour.PAGE,
    classroom.PAGE,
    depth.PAGE,
    tokens.PAGE,
    trajectories.PAGE,
    layer_graph.PAGE,
    training.PAGE,
    generalization.PAGE,
    vision.PAGE,
    compare.PAGE,
    what_if.PAGE,
    directions.PAGE,
    spectrum.PAGE,
    perturbation.PAGE,
    runs.PAGE,
    Page("Method", "pages/14_Method.py", "Learn", picker=None),
    train_one.PAGE,
)
PAGES = {page.title: page for page in _PAGES}
"""Every page by its title, in the order of the navigation."""
PAGE_OF_KIND: dict[str, Page] = {kind: page for page in _PAGES for kind in page.kinds}
"""The page that shows a result of this kind."""
LINKS = Links(page.state for page in _PAGES)
"""What links carry."""
