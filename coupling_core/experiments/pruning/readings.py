"""Texts as a model reads them, kept as far as memory allows."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from coupling_core.base.edits import Removal
from coupling_core.base.results.base import named
from coupling_core.engine import hardware, loading, matrix_products
from coupling_core.engine.edits.shorter import Text
from coupling_core.measuring.alone import alone
from coupling_core.measuring.composing import begin
from coupling_core.sources.refusals import about
from coupling_core.sources.resolved import Resolved

SHARE = 0.25
"""Of the memory that is free, for texts that are kept."""


@dataclass(frozen=True)
class Subject:
    """A model whose blocks are ranked.

    Args:
        asked: names it; its prompt stands for any text.
        loaded: the model in memory.
    """

    asked: Resolved
    loaded: Any

    @property
    def name(self) -> str:
        """What to call it."""
        return named(self.asked.request, self.asked.identity)

    @contextmanager
    def ready(self) -> Iterator[None]:
        """While it lasts, the model is as it is measured."""
        model, device = self.loaded.model, self.loaded.device
        with (
            alone(lambda _: None),
            hardware.threads_for(model),
            loading.evaluating(model),
            loading.in_float32(model, device),
        ):
            matrix_products.choice()
            yield

    def read(self, text: str) -> Text:
        """A text as the model reads it."""
        asked = replace(self.asked, request=replace(self.asked.request, prompt=text))
        with about(f"the text {text[:40]!r}"):
            reader, _ = begin(asked, self.loaded)
            return Text(reader)


class Readings:
    """Texts that are read again and again.

    Args:
        subject: who reads them.
        texts: to be read.
    """

    def __init__(self, subject: Subject, texts: Sequence[str]) -> None:
        self._subject, self._texts = subject, texts
        self._kept: dict[int, Text] = {}

    def __len__(self) -> int:
        return len(self._texts)

    def __getitem__(self, number: int) -> Text:
        if number in self._kept:
            return self._kept[number]
        found = self._subject.read(self._texts[number])
        free = hardware.usable_memory(self._subject.loaded.device)
        if found.nbytes * (len(self._kept) + 1) < SHARE * free:
            self._kept[number] = found
        return found

    def divergences(
        self, number: int, removals: Sequence[Removal]
    ) -> tuple[Float[np.ndarray, " removal"], int]:
        """KL of each removal over one text, and over how many tokens that is a mean."""
        text = self[number]
        return text.judged(removals).divergence, text.predicted + 1
