"""How far many prompts are, while they are measured one after the other or side by side."""

from typing import Any

from coupling_core.base.pace import Pace
from coupling_core.base.records import parse_blocks
from coupling_core.base.results import BEGINNING, Progress
from coupling_core.cli.terminal import ProgressBar


class Course:
    """How far many prompts are: a bar, or a line now and then where none shows.

    Args:
        total: how many there are.
        done: of them, before it begins.
        blocks: the blocks shown, as they were typed.
    """

    def __init__(self, total: int, done: int, blocks: str | None) -> None:
        self._pace, self._blocks = Pace(total, done), blocks
        self._bar = ProgressBar(blocks, self._pace.words())

    def __enter__(self) -> "Course":
        self._bar.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._bar.__exit__(*error)

    def report(self, progress: Progress, processes: int) -> None:
        """Show where a measurement stands; of those in several processes, only how they begin.

        Raises:
            InputError: where the model lacks the blocks.
        """
        if progress.stage not in BEGINNING:
            self._pace.begin()
        if processes == 1 or progress.note or not self._pace.computed:
            self._bar(progress)
        elif progress.stage == "blocks" and progress.total:
            parse_blocks(self._blocks, progress.total)

    def end(self, processes: int, *, computed: bool) -> None:
        """One more is done; one after the other, the next is told, and else how many are done."""
        self._pace.step(computed=computed)
        self._bar.title = self._pace.words(processes - 1)
        if processes > 1:
            self._bar.count(self._pace.done, self._pace.total)
        if line := self._pace.line(processes - 1):
            ProgressBar.tell(line)
