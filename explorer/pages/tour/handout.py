"""The tour to take home: a file that works from disk, and slides."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import Lock

from coupling_core.base.errors import ComputeError
from coupling_core.figures.document import document, drawing, folded, heading, prose
from coupling_core.figures.slides import Slide, slides
from explorer.pages.tour.state import STOPS, with_guess
from explorer.pages.tour.stops import ALL, Stop
from explorer.panels.off_screen import OffScreen
from explorer.panels.page import Page
from explorer.panels.whole import Drawn, Whole

TITLE = "Transformer block coupling in ten minutes"
DRAWN = 20
"""Random bases on the figure of the stop that draws them."""
HIGHEST = 128
"""The training step of the handout's map, at which coupling is highest."""
_TOGETHER = "What you know now"


_made: dict[Callable[[Page, OffScreen], bytes], bytes] = {}
_making = Lock()
NAMES = {
    "untrained": "Untrained",
    "trained": "Trained",
    "trained-map": "All pairs, trained",
    "matrix-trained": "One pair, trained",
    "matrix-untrained": "The same pair, untrained",
    "step": f"All pairs at step {HIGHEST}",
    "corrected": "Mean coupling",
    "loss": "Held-out loss",
    "exchange": "Cost of an exchange",
}
"""Of figures that stand beside others."""


@dataclass(frozen=True)
class Taken:
    """A stop as one takes it home.

    Args:
        stop: its record.
        before: what it draws before a guess.
        after: what it draws, and says, when the guess was right.
    """

    stop: Stop
    before: Whole
    after: Whole

    @property
    def text(self) -> str:
        """Said before the question, in Markdown."""
        return self.after.sentences[0]

    @property
    def answer(self) -> str:
        """The right one, and what the figure says of it, likewise."""
        return f"**{self.stop.answers[self.stop.right]}.** {self.after.sentences[1]}"

    @property
    def question(self) -> str:
        """What is asked, with what there is to choose from, likewise."""
        answers = "\n".join(f"- {answer}" for answer in self.stop.answers)
        return f"**{self.stop.question}**\n\n{answers}"

    def figures(self, *, guessed: bool) -> Iterator[tuple[str, Drawn]]:
        """Those that come with the question, or with the answer; each by what stands above it."""
        for name, drawn in self.after.from_the_top.items():
            if guessed != (name in self.before.figures):
                yield NAMES.get(name, ""), drawn


def stops(page: Page, screen: OffScreen) -> list[Taken]:
    """All stops, with the figures that the page has."""
    found, guesses = [], ""
    for number, stop in enumerate(ALL, 1):
        query = {"stop": str(number), "draws": str(DRAWN), "at": str(HIGHEST)}
        before = Whole() if stop.is_hidden else screen.draw(page, query | {"guesses": guesses})
        guesses = with_guess(guesses, number, str(stop.right))
        after = screen.draw(page, query | {"guesses": guesses})
        if not after.figures:
            raise ComputeError(f"stop {number} of the tour has drawn nothing: open it, and see")
        found.append(Taken(stop, before, after))
    return found


def once(make: Callable[[Page, OffScreen], bytes], page: Page, screen: OffScreen) -> bytes:
    """What one of these functions makes: the same for every visitor, and so made once."""
    with _making:
        if make not in _made:
            _made[make] = make(page, screen)
        return _made[make]


def handout(page: Page, screen: OffScreen) -> bytes:
    """The tour as one HTML file, which needs no network; each answer opens below its question."""
    parts: list[str] = []
    whole = stops(page, screen)
    for number, taken in enumerate(whole, 1):
        before, after = (
            [
                part
                for name, (figure, of) in taken.figures(guessed=guessed)
                for part in ([prose(f"**{name}**")] if name else []) + [drawing(figure, *of)]
            ]
            for guessed in (False, True)
        )
        parts += [
            heading(f"{number}. {taken.stop.title}"),
            prose(taken.text),
            *before,
            prose(taken.question),
            folded("Answer", [prose(taken.answer), *after]),
        ]
    return document(TITLE, [*parts, heading(_TOGETHER), prose(whole[-1].after.sentences[-1])])


def pdf(page: Page, screen: OffScreen) -> bytes:
    """The tour as slides: of each stop the question, a figure a page, the answer."""
    pages: list[Slide] = []
    whole = stops(page, screen)
    for number, taken in enumerate(whole, 1):
        title = f"{number} of {STOPS}. {taken.stop.title}"
        before, after = (
            [
                Slide(title + f" ({name.lower()})" * bool(name), figure=figure, of=of)
                for name, (figure, of) in taken.figures(guessed=guessed)
            ]
            for guessed in (False, True)
        )
        asked = Slide(title, f"{taken.text}\n\n{taken.question}")
        pages += [asked, *before, *after, Slide(title, taken.answer)]
    return slides([*pages, Slide(_TOGETHER, whole[-1].after.sentences[-1])])
