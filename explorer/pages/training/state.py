"""What is chosen on the Training page, and what has to be measured for it."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from pydantic import AfterValidator

from coupling_core.base.errors import InputError
from coupling_core.base.records import DEFAULT_K, Request, View
from coupling_core.sources.suites import DEFAULT_K as SUITE_K
from coupling_core.sources.suites import DEFAULT_SUITE, Suite, find_suite
from explorer.server.admission import offered
from explorer.session.link import Count, Natural, Parameter, expect
from explorer.session.state import Prompt, State

FIRST_STEP = 0
"""The training step shown first: the model before it learns, whose coupling is chance."""
MOST_SUITES = 3
"""Training runs side by side: with more of them a step change would not be seen at once."""
ByStep = Literal["coupling", "parts", "locality", "paths", "spectra"]
"""What is drawn by step, a group of figures at a time."""


def _found(text: str) -> tuple[Suite, ...]:
    return tuple(map(find_suite, dict.fromkeys(text.split(","))))


def _all(text: str) -> str:
    _found(text)
    return text


_few = expect(lambda x: len(x.split(",")) <= MOST_SUITES, f"a list of at most {MOST_SUITES} names")


def _offered(text: str) -> bool:
    return {suite.repo for suite in _found(text)} <= set(offered() or ())


def _one(name: str) -> str:
    return find_suite(name).name if name else name


def _one_offered(name: str) -> bool:
    return not name or _offered(name)


@dataclass(frozen=True)
class TrainingState(State):
    """What is chosen on this page.

    Args:
        suites: names of the training runs that are looked at, between commas.
        step: of training; where a run has no such checkpoint, its nearest is shown.
        suite_k: number of leading triplets.
        by_step: which numbers are drawn by training step.
        over: name of a training run whose numbers are drawn over those of the first; empty is none.
        over_prompt: a prompt with which the first run's numbers are drawn over them; empty is none.
    """

    suites: Annotated[str, _few, AfterValidator(_all), Parameter(offered=_offered)] = DEFAULT_SUITE
    step: Natural = FIRST_STEP
    suite_k: Annotated[Count, Parameter("sk")] = SUITE_K
    by_step: Annotated[ByStep, Parameter("by")] = "coupling"
    over: Annotated[str, AfterValidator(_one), Parameter(offered=_one_offered)] = ""
    over_prompt: Annotated[Prompt, Parameter("over-prompt")] = ""

    @property
    def asks_spectra(self) -> bool:
        """Whether the spectra of the blocks are looked at, which are measured for that alone."""
        return self.by_step == "spectra"

    def chosen_suites(self) -> tuple[Suite, ...]:
        """The training runs that are looked at."""
        return _found(self.suites)

    def suite_request(self) -> Request:
        """What has to be measured of every checkpoint of a training run, as float32 and trained."""
        return Request(
            prompt=self.prompt,
            token=self.token,
            # Any K up to the default one is in every result: the request stays the same.
            k=SUITE_K if self.suite_k <= DEFAULT_K else self.suite_k,
            final_norm=self.final_norm,
        )

    def beside(self) -> tuple[Suite, Request] | None:
        """The run that is drawn over the first, and what is asked of its steps."""
        suites, asked = self.chosen_suites(), self.suite_request()
        if self.over and self.over not in {suite.name for suite in suites}:
            return find_suite(self.over), asked
        if self.over_prompt and self.over_prompt != self.prompt:
            # A token's number means nothing in another prompt.
            return suites[0], replace(asked, prompt=self.over_prompt, token=Request.token)
        return None

    def request(self, kind: str = "depth") -> Request:
        """The same of the checkpoint that is shown of the first training run."""
        suite = self.chosen_suites()[0]
        asked = suite.request(self.suite_request(), self.nearest_step(suite.steps))
        return asked.of_kind(kind)

    def nearest_step(self, steps: Iterable[int]) -> int:
        """The step that is shown where there are these."""
        return min(steps, key=lambda step: (abs(step - self.step), step))

    def range_of(self, n_blocks: int) -> tuple[int, ...] | None:
        """The chosen range of a run's blocks; None, which is all of them, where it has no such.

        The range may have been chosen for a deeper model on another page.
        """
        try:
            return super().range_of(n_blocks)
        except InputError:
            return None

    def suite_view(self, n_blocks: int | None = None) -> View:
        """How training runs are looked at."""
        blocks = self.range_of(n_blocks) if n_blocks else None
        return replace(self.view(), k=self.suite_k, blocks=blocks)
