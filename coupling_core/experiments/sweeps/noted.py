"""What `make` found of a sweep, noted when it runs: for when a model or the prompts are gone."""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from pydantic import TypeAdapter

from coupling_core.base.records import Request
from coupling_core.experiments.sweeps.definition import Models, Sweep
from coupling_core.experiments.sweeps.journal import journals
from coupling_core.sources.prompts import Origin, Prompt
from coupling_core.store.disk import Store


@dataclass(frozen=True)
class Known:
    """Weights as they were found.

    Args:
        asked: what names them in a request.
        identity: who they are.
        family: what they are grouped with.
        width: d; 0 where nobody needed to know it.
    """

    asked: tuple[str | int | None, ...]
    identity: dict[str, Any]
    family: str
    width: int


@dataclass(frozen=True)
class Note:
    """What was found of a sweep.

    Args:
        models: its tables `[[models]]`, with files and folders by their whole paths.
        sources: its tables `[[prompts]]`, the same.
        weights: that were found.
        prompts: that were loaded.
        origins: of the prompts.
    """

    models: tuple[dict[str, Any], ...]
    sources: tuple[dict[str, Any], ...]
    weights: tuple[Known, ...]
    prompts: tuple[Prompt, ...]
    origins: tuple[Origin, ...]

    @classmethod
    def of(
        cls,
        sweep: Sweep,
        weights: Iterable[Known],
        prompts: tuple[Prompt, ...],
        origins: tuple[Origin, ...],
    ) -> "Note":
        """That of a sweep whose models were found and whose prompts were loaded."""
        models = tuple(map(_table, sweep.models))
        return cls(models, _sources(sweep), tuple(weights), prompts, origins)

    @property
    def as_json(self) -> dict[str, object]:
        """Ready for a file."""
        return asdict(self)

    @cached_property
    def _by_request(self) -> dict[tuple[str | int | None, ...], Known]:
        return {known.asked: known for known in self.weights}

    def known(self, request: Request, *, needs_width: bool) -> Known | None:
        """The weights that a request names; None where they were not found then."""
        known = self._by_request.get(asked_of(request))
        return None if known is None or (needs_width and not known.width) else known

    def placed(self, sweep: Sweep) -> Sweep | None:
        """The sweep with whole paths, as they were then; None where its tables are others."""
        if self.sources != _sources(sweep) or len(self.models) != len(sweep.models):
            return None
        paired = zip(sweep.models, self.models, strict=True)
        models = [
            next((one for one in (table, sweep.beside(table)) if _table(one) == noted), None)
            for table, noted in paired
        ]
        return None if None in models else sweep.model_copy(update={"models": tuple(models)})


def asked_of(request: Request) -> tuple[str | int | None, ...]:
    """What names a set of weights in a request."""
    of = request
    return of.model, of.revision, of.untrained, of.dtype, of.quantize, of.stack


def newest(sweep: Sweep, store: Store) -> tuple[Note, Sweep] | None:
    """What the newest run of the same file found, and the sweep with the paths of then."""
    found = [
        journal for journal in journals(store) if journal.folder.name.startswith(f"{sweep.name}-")
    ]
    for journal in sorted(found, key=lambda one: one.noted_at, reverse=True):
        try:
            note = _NOTE.validate_python(journal.found())
        except ValueError:
            continue
        if placed := note.placed(sweep):
            return note, placed
    return None


_NOTE = TypeAdapter(Note)


def _table(models: Models) -> dict[str, Any]:
    return models.model_dump(mode="json", exclude={"score"})


def _sources(sweep: Sweep) -> tuple[dict[str, Any], ...]:
    """Tables of prompts as JSON has them, with whole paths."""
    tables: Iterable[Mapping[str, Any]] = map(asdict, sweep.prompts)
    return tuple(json.loads(json.dumps(list(tables), default=os.path.abspath)))
