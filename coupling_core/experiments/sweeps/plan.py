"""A sweep spelled out: every set of weights with every prompt, and what the store has of it."""

import hashlib
import json
import logging
import os
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

from coupling_core.base.errors import ComputeError, InputError
from coupling_core.base.images import is_image, shown
from coupling_core.base.kinds import kind_of
from coupling_core.base.records import DEFAULT_K, Request, usual_token
from coupling_core.base.units import counted
from coupling_core.experiments.sweeps.definition import Models, Sweep, read
from coupling_core.experiments.sweeps.noted import Known, Note, asked_of, newest
from coupling_core.sources.catalogue import CatalogueModel, catalogue
from coupling_core.sources.prompts import Origin, Prompt, Sample, load
from coupling_core.sources.resolved import resolve
from coupling_core.sources.suites import find_suite, require_steps
from coupling_core.store.disk import Store, as_store
from coupling_core.store.request_key import Key, make_key

_log = logging.getLogger(__name__)

_ANY_PROMPT = "-"


@dataclass(frozen=True)
class Weights:
    """A set of weights that is measured.

    Args:
        request: names them; its prompt means nothing.
        identity: who they are; empty where that cannot be told.
        problem: why it cannot be told; "" where it can.
        family: what they are grouped with.
        suite: the training run whose checkpoint they are; "" for none.
        step: of that run; None for none.
        width: d; 0 where nobody needs to know it.
        place: where they are, if others have the same name.
        score: how well they do, in percent, as the sweep has it; None where it has none.
        noted: "" where they were found now; else they are as an earlier run found them, since they
            are "gone", or "away" as a model of the hub may be.
    """

    request: Request
    identity: Mapping[str, Any] = field(hash=False)
    problem: str = ""
    family: str = ""
    suite: str = ""
    step: int | None = None
    width: int = 0
    place: str = ""
    score: float | None = field(default=None, compare=False)
    noted: Literal["", "away", "gone"] = ""

    @property
    def is_known(self) -> bool:
        """Whether stored results can be theirs."""
        return bool(self.noted) or not self.problem

    @property
    def title(self) -> str:
        """What people call them."""
        asked = self.request
        name = str(self.identity.get("name") or asked.model)
        if asked.revision and "@" not in name:
            name += f"@{asked.revision}"
        twin = "" if asked.untrained is None else f"untrained (seed {asked.untrained})"
        form = asked.dtype if asked.dtype != Request.dtype else ""
        parts = (name, twin, form, asked.quantize, asked.stack, self.place)
        return ", ".join(filter(None, parts))


@dataclass(frozen=True, slots=True)
class Item:
    """One measurement of a sweep.

    Args:
        weights: number of its weights in the plan, from 0.
        prompt: number of its prompt, from 0.
        request: what is asked.
    """

    weights: int
    prompt: int
    request: Request


@dataclass(frozen=True, repr=False)
class Plan:
    """A sweep with its models found and its prompts loaded.

    Args:
        sweep: what was asked for.
        weights: all of them, in the order of its file.
        prompts: the same.
        origins: where each source's prompts came from.
        gone: why it can be looked at but not run: what is gone is as an earlier run found it; ""
            where nothing is.
    """

    sweep: Sweep
    weights: tuple[Weights, ...]
    prompts: tuple[Prompt, ...]
    origins: tuple[Origin, ...] = ()
    gone: str = ""

    def __len__(self) -> int:
        return len(self.weights) * len(self.prompts) * len(self.sweep.kinds)

    def __repr__(self) -> str:
        kinds, every_k = ", ".join(self.sweep.kinds), ", ".join(map(str, self.sweep.k))
        models, prompts = counted(len(self.weights), "model"), counted(len(self.prompts), "prompt")
        return (
            f"Plan({self.sweep.name}, {models}, {prompts}, {kinds}, K = {every_k}, "
            f"{counted(len(self), 'measurement')})"
        )

    @cached_property
    def id(self) -> str:
        """Name of the sweep's folder: its own, and a digest of what is measured."""
        asked = self.sweep.model_dump(
            mode="json",
            include={"models", "kinds", "k", "token", "final_norm", "definition", "role"},
            exclude={"models": {"__all__": {"score"}}},  # nothing is measured otherwise
        )
        texts = [prompt.text for prompt in self.prompts]
        text = json.dumps([asked, texts], sort_keys=True)
        return f"{self.sweep.name}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"

    @property
    def described(self) -> dict[str, object]:
        """What is measured, ready for JSON."""
        return {
            "name": self.sweep.name,
            "title": self.sweep.title,
            "kinds": self.sweep.kinds,
            "k": self.sweep.k,
            "definition": self.sweep.definition,
            "role": self.sweep.role,
            "token": self.sweep.token,
            "final_norm": self.sweep.final_norm,
            "weights": [weights.title for weights in self.weights],
            "prompts": len(self.prompts),
            "origins": [asdict(origin) for origin in self.origins],
            "total": len(self),
        } | ({"images": True} if self.of_images else {})

    @property
    def found(self) -> dict[str, object]:
        """Its models and prompts as they were found, ready for JSON."""
        known = (
            Known(asked_of(one.request), dict(one.identity), one.family, one.width)
            for one in self.weights
            if one.identity
        )
        return Note.of(self.sweep, known, self.prompts, self.origins).as_json

    @property
    def of_images(self) -> bool:
        """Whether its prompts are images."""
        return all(is_image(prompt.text) for prompt in self.prompts)

    def items(self) -> Iterator[Item]:
        """Every measurement: by weights, then by prompt, then by kind."""
        for number in range(len(self.weights)):
            for prompt in range(len(self.prompts)):
                for kind in self.sweep.kinds:
                    yield Item(number, prompt, self.request(number, prompt, kind))

    def request(self, weights: int, prompt: int, kind: str) -> Request:
        """What one measurement asks for."""
        sweep, named = self.sweep, self.weights[weights].request
        k = max(sweep.every_k(self.weights[weights].width), default=DEFAULT_K)
        asked = kind_of(kind)
        sized = {"k": k, "k_view": min(sweep.k_view, max(k, DEFAULT_K))} if asked.has_k else {}
        return Request(
            self.prompts[prompt].text,
            model=named.model,
            revision=named.revision,
            untrained=named.untrained,
            dtype=named.dtype,
            quantize=named.quantize,
            stack=named.stack,
            token=self._token(prompt, kind),
            final_norm=sweep.final_norm,
            kind=kind,
            **sized,
        )

    def _token(self, prompt: int, kind: str) -> int:
        """The token of a measurement; the usual one where the sweep or the kind has none."""
        if kind_of(kind).token and "token" in self.sweep.model_fields_set:
            return self.sweep.token
        return usual_token(kind, self.prompts[prompt].text)

    def stored(self, store: Store | str | os.PathLike[str] | None = None) -> list[str]:
        """Key of the stored result that answers each item, in their order; "" where none does.

        Names are looked at and no file is read: a damaged result shows when the table is made.

        Args:
            store: where results are, a `Store` or its folder; None is that of the command line.
        """
        store = as_store(store)
        names = store.keys()
        return [
            self._stored(item, names) or self._without_norm(item, store) for item in self.items()
        ]

    def missing(self, store: Store | str | os.PathLike[str] | None = None) -> list[Item]:
        """What no stored result answers, out of reach or not; `store` as of `stored`."""
        stored = zip(self.items(), self.stored(store), strict=True)
        return [item for item, key in stored if not key]

    def _stored(self, item: Item, names: Mapping[str, list[Key]]) -> str:
        weights = self.weights[item.weights]
        if not weights.is_known:
            return ""
        wanted = make_key(item.request, weights.identity)
        fit = (key for key in names.get(wanted.digest, ()) if key.answers(item.request))
        return str(min(fit, key=lambda key: (key.k_max, key.k_view), default=""))

    def _without_norm(self, item: Item, store: Store) -> str:
        """The key where a model has no final norm, and so one result for both conventions."""
        weights = self.weights[item.weights]
        if item.request.final_norm == "include" or not weights.is_known:
            return ""
        found = store.find(replace(item.request, final_norm="include"), weights.identity)
        return found.key if found and not found.provenance.get("final_norm", True) else ""


def published(models: Iterable[str]) -> dict[str, CatalogueModel]:
    """What the catalogue says of models: by what names them, or of what is here by its file name.

    A model of the hub is not taken for another of that name.
    """
    known = {each.id: each for each in catalogue()}
    is_file = {model: Path(model).is_absolute() or Path(model).exists() for model in models}
    names = {model: Path(model).name if here else model for model, here in is_file.items()}
    found = {model: known.get(model) or known.get(name) for model, name in names.items()}
    return {model: of for model, of in found.items() if of is not None}


def make(
    sweep: Sweep | str | os.PathLike[str] | Mapping[str, Any],
    *,
    told: bool = True,
    noted: Store | str | os.PathLike[str] | Literal[False] | None = None,
) -> Plan:
    """Find a sweep's models and load its prompts.

    What is gone since an earlier run of the same file is as that run found it, which a warning
    says: such a plan has a status, a table and a report, but cannot be run.

    Args:
        sweep: what is asked for; or a file or a dict, as `read` takes it.
        told: whether to say which prompts come twice, and which K a model is too narrow for.
        noted: the store of earlier runs, a `Store` or its folder; None is that of the command line,
            and False none.

    Raises:
        InputError: where a suite or a data set is unknown, a file is not what it should be, or
            every model is narrower than every K.
        ComputeError: where prompts are out of reach.
    """
    sweep = sweep if isinstance(sweep, Sweep) else read(sweep)
    try:
        plan = _make(sweep, told=told)
    except (InputError, ComputeError):
        found = None if noted is False else newest(sweep, as_store(noted))
        if found is None:
            raise
    else:
        is_whole = all(each.identity for each in plan.weights)
        found = None if is_whole or noted is False else newest(sweep, as_store(noted))
        if found is None:
            return plan
    note, placed = found
    return _make(placed, note, told=told)


def _make(sweep: Sweep, note: Note | None = None, *, told: bool) -> Plan:
    """A plan; with what a note says in place of what is gone."""
    gone = ""
    prompts: dict[str, Prompt] = {}  # a text that two sources have is one prompt
    try:
        samples = [load(source) for source in sweep.prompts]
        if told:
            _tell_repeated(samples)
        for sample in samples:
            for prompt in sample.prompts:
                prompts.setdefault(prompt.text, prompt)
        origins = tuple(sample.origin for sample in samples)
    except (InputError, ComputeError) as error:
        if note is None:
            raise
        gone = str(error)
        _log.warning("the prompts are as the last run of this sweep found them: %s", gone)
        prompts, origins = {prompt.text: prompt for prompt in note.prompts}, note.origins
    found = [each for models in sweep.models for each in _weights(models, sweep, note)]
    if noted := [each for each in found if each.noted]:
        _log.warning(
            "%s%s: as the last run of this sweep found it (%s)",
            noted[0].title,
            f", and {len(noted) - 1} more" * (len(noted) > 1),
            noted[0].problem,
        )
        gone = gone or next((each.problem for each in noted if each.noted == "gone"), "")
    if sweep.needs_widths:
        found = [_fit(with_width(each), sweep) for each in told_apart(tuple(dict.fromkeys(found)))]
        _require_some_fit(found, sweep)
        if told:
            _tell_narrow(found, sweep)
    weights = tuple(dict.fromkeys(found))  # a table may name what another one has
    return Plan(sweep, told_apart(weights), tuple(prompts.values()), origins, gone)


def told_apart(every: tuple[Weights, ...]) -> tuple[Weights, ...]:
    """Weights whose titles differ: where two folders have one name, their paths tell them apart."""
    counted = Counter(weights.title for weights in every)
    return tuple(
        replace(weights, place=weights.request.model) if counted[weights.title] > 1 else weights
        for weights in every
    )


def _weights(models: Models, sweep: Sweep, note: Note | None) -> Iterator[Weights]:
    """The sets of weights that one table names."""
    find = partial(_found, note=note, needs_width=sweep.needs_widths)
    if models.suite is not None:
        suite = find_suite(models.suite)
        for step in require_steps(suite, models.steps) or suite.steps:
            asked = suite.request(_asked(models, suite.repo), step)
            yield find(asked, models.family or suite.name, suite.name, step)
        return
    model = str(models.model)
    family = models.family or family_of(model)
    for name in models.revisions or (None,):
        asked = replace(_asked(models, model), revision=name)
        if models.trained:
            yield replace(find(asked, family), score=models.score)
        for seed in models.untrained:
            yield find(replace(asked, untrained=seed), family)


def family_of(model: str) -> str:
    """What a model is grouped with where nobody says: as it is published, or its own name."""
    known = published([model]).get(model)
    return (known.family if known else "") or model.rpartition("/")[2]


def _asked(models: Models, model: str) -> Request:
    return Request(
        _ANY_PROMPT, model=model, dtype=models.dtype, quantize=models.quantize, stack=models.stack
    )


def _fit(weights: Weights, sweep: Sweep) -> Weights:
    """Weights whose width is known, with what is wrong where no K of the sweep is one of them."""
    if weights.problem or sweep.every_k(weights.width):
        return weights
    told = f"its width is {weights.width}, and the smallest K of the sweep is {min(sweep.k)}"
    return replace(weights, problem=told)


def _require_some_fit(found: Sequence[Weights], sweep: Sweep) -> None:
    """Refuse a sweep of which every model is too narrow, before anything is measured."""
    if all(each.width and not sweep.every_k(each.width) for each in found):
        raise InputError(
            f"no model of the sweep can be measured at its K: {found[0].title}: {found[0].problem}"
        )


def _tell_repeated(samples: Iterable[Sample]) -> None:
    """Say which texts come more than once: of each there is one measurement."""
    times = Counter(prompt.text for sample in samples for prompt in sample.prompts)
    again = [shown(text) for text, n in times.items() if n > 1]
    if again:
        first = textwrap.shorten(again[0], 60, placeholder=" …")
        _log.warning(
            "%s more than once, the first %r: each is measured, and has its rows, once, with what "
            "stands beside it where it comes first",
            "1 of the prompts comes" if len(again) == 1 else f"{len(again)} of the prompts come",
            first,
        )


def _tell_narrow(found: Sequence[Weights], sweep: Sweep) -> None:
    """Say of which models a K of the sweep is left out, since they are narrower."""
    for k in sweep.k:
        narrow = [each for each in found if not each.problem and each.width < k]
        if k > 1 and narrow:
            first = f"{narrow[0].title}, whose width is {narrow[0].width}"
            more = f", and {len(narrow) - 1} more" * (len(narrow) > 1)
            _log.warning("K = %s is left out of %s%s", k, first, more)


def with_width(weights: Weights) -> Weights:
    """Weights with their width: as it is published, or from their config."""
    if weights.noted:
        return weights
    known = published([weights.request.model]).get(weights.request.model)
    if weights.problem or known:
        return replace(weights, width=known.width if known else 0)
    from coupling_core.measuring.probe import probe  # torch

    try:
        return replace(weights, width=probe(resolve(weights.request), rehearse=False).width or 0)
    except ComputeError as error:
        return replace(weights, problem=str(error))


def _found(
    asked: Request,
    family: str,
    suite: str = "",
    step: int | None = None,
    *,
    note: Note | None,
    needs_width: bool,
) -> Weights:
    """Weights with who they are; one model that is out of reach does not end a sweep of many."""
    try:
        return Weights(asked, resolve(asked).identity, "", family, suite, step)
    except (InputError, ComputeError) as error:
        known = note and note.known(asked, needs_width=needs_width)
        if known:
            noted: Literal["away", "gone"] = "gone" if isinstance(error, InputError) else "away"
            of, width = known.family, known.width
            return Weights(asked, known.identity, str(error), of, suite, step, width, noted=noted)
        if isinstance(error, InputError):
            raise
        return Weights(asked, {}, str(error), family, suite, step)
