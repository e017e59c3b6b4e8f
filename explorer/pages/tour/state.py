"""Where somebody is on the tour, and what was guessed there, in the state."""

import re
from dataclasses import dataclass
from typing import Annotated

from explorer.session.link import Parameter, expect
from explorer.session.state import State

STOPS = 9
MOST_DRAWN = 60
NONE, SKIPPED = "-", "s"
"""In place of a guess: none yet, and none wanted."""


@dataclass(frozen=True)
class TourState(State):
    """What is chosen on this page.

    Args:
        stop: 1 to 8.
        guesses: a letter a stop: the number of the answer that was chosen, from 0; "s" where the
            answer was asked for without a guess; "-" where there is none yet.
        reacts: the block whose reactions the first stop draws.
        turn: degrees by which the basis of the second stop is turned.
        draws: random bases that were drawn.
        at: the training step that is looked at.
    """

    stop: Annotated[int, expect(lambda n: 1 <= n <= STOPS, f"1 to {STOPS}")] = 1
    guesses: Annotated[
        str,
        expect(
            lambda text: re.fullmatch(f"[-s0-2]{{0,{STOPS}}}", text),
            f"at most {STOPS} of -, s, 0..2",
        ),
        Parameter(answered=True),
    ] = ""
    reacts: Annotated[int, expect(lambda n: 1 <= n < 10**9, "a block's number")] = 12
    turn: Annotated[int, expect(lambda a: -90 <= a <= 90, "-90 to 90 degrees")] = -20
    draws: Annotated[int, expect(lambda n: 0 <= n <= MOST_DRAWN, f"0 to {MOST_DRAWN}")] = 0
    at: Annotated[int, expect(lambda n: 0 <= n < 10**9, "a training step")] = 0

    @property
    def guess(self) -> str:
        """What was guessed at this stop."""
        return guess_at(self.guesses, self.stop)


def guess_at(guesses: str, stop: int) -> str:
    """What was guessed at a stop, 1 to 8."""
    return guesses.ljust(STOPS, NONE)[stop - 1]


def with_guess(guesses: str, stop: int, guess: str) -> str:
    """The guesses with another one at a stop."""
    padded = guesses.ljust(STOPS, NONE)
    return (padded[: stop - 1] + guess + padded[stop:]).rstrip(NONE)
