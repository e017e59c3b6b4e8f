"""Where the results of `measure_many` come from: this process, others here, or dask's workers."""

import logging
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from coupling_core.analysis.scores import every_k_of
from coupling_core.base.callers import warn_caller
from coupling_core.base.errors import InputError
from coupling_core.base.records import KBeyondWidth, Request, usual_token
from coupling_core.base.results import Result
from coupling_core.experiments.many_asked import Asked, Model
from coupling_core.experiments.many_on_dask import on_client
from coupling_core.measuring.front import measure
from coupling_core.measuring.many import Answer, Answers
from coupling_core.store.disk import Store

_log = logging.getLogger(__name__)

MOST_K = 2**31
"""More than any width."""
Come = Generator[tuple[int, Callable[[], Result]], None, None]
"""Every prompt's number, with what gives its result or raises why there is none."""


@dataclass(frozen=True)
class Asking:
    """What every model is asked: prompts, and what is `said` in the other fields of the requests.

    Each of `every_k` is looked at, or below 1 that share of a width; a module narrower than some is
    measured at the others. Modules of one's own share the tokenizer, and no store keeps nothing.
    """

    prompts: Sequence[Asked]
    said: Mapping[str, Any]
    store: Store | None
    every_k: Sequence[int | float]
    tokenizer: Any
    device: str | None

    def here(self, model: Model) -> Come:
        """A model's answers to all prompts, as they come."""
        return self._of_weights(model) if model.module is None else self._of_module(model)

    def by(self, client: Any, models: Sequence[Model]) -> Callable[[Model], Come]:
        """The same, measured by a client of `dask.distributed`, which is asked all at once."""
        if self.store is None or any(model.module is not None for model in models):
            raise InputError(
                "a client's workers measure models that have a name or a folder, into a store such "
                "as store=Store(): give these, or leave out the client"
            )
        requests = [self._request(model, prompt) for model in models for prompt in self.prompts]
        answer = on_client(client, requests, self.store, self.device)

        def there(model: Model) -> Come:
            for number, prompt in enumerate(self.prompts):
                yield number, partial(answer, self._request(model, prompt))

        return there

    def _of_module(self, model: Model) -> Come:
        keeping = None if self.store is not None and _told_apart_by_none(model) else self.store

        # How wide it is shows as it is asked for too much, which shares of its width need to know.
        own: dict[str, int] = {"k": MOST_K} if self.every_k and min(self.every_k) < 1 else {}

        def of(prompt: Asked) -> Result:
            try:
                return at(prompt)
            except KBeyondWidth as error:
                fit = every_k_of(self.every_k, error.width)
                if not fit or own.get("k", MOST_K) != MOST_K:
                    raise
                own["k"] = max(fit)
                if max(self.every_k) > error.width:
                    warn_caller(model.without(self.every_k, error.width))
                return at(prompt)

        def at(prompt: Asked) -> Result:
            return measure(
                Request(prompt.text, **_at_usual_token({**self.said, **own}, prompt)),
                keeping,
                model=model.module,
                tokenizer=self.tokenizer if model.tokenizer is None else model.tokenizer,
                variant=model.variant,
                device=self.device,
                progress=False,
            )

        for number, prompt in enumerate(self.prompts):
            yield number, partial(of, prompt)

    def _of_weights(self, model: Model) -> Come:
        requests: dict[int, Request] = {}
        for number, prompt in enumerate(self.prompts):
            try:
                requests[number] = self._request(model, prompt)
            except InputError as error:
                yield number, Answer(number, error=error).get
        if self.store is None:
            for number, request in requests.items():
                yield number, partial(measure, request, device=self.device)
            return
        with Answers(requests, self.store, device=self.device) as found:
            for answer in found:
                yield answer.number, answer.get

    def _request(self, model: Model, prompt: Asked) -> Request:
        own = self.said if model.k is None else {**self.said, "k": model.k}
        own = _at_usual_token(own, prompt)
        return Request(**{**vars(model.weights.request), **own, "prompt": prompt.text})


def _at_usual_token(said: Mapping[str, Any], prompt: Asked) -> dict[str, Any]:
    return {"token": usual_token(said["kind"], prompt.text), **said}


def _told_apart_by_none(model: Model) -> bool:
    """Whether no key tells the module from others, which is said once for all its prompts."""
    from coupling_core.engine import loading  # torch

    if model.variant:
        return False
    try:
        where = loading.own_code(loading.as_loaded(model.module, None).model)
    except InputError:  # which is told of each prompt
        return False
    if not where:
        return False
    _log.warning(
        "the results of %s are not stored: code of your own runs in the module, which no key tells "
        'from other code: %s. To store them, name what you did: {"model": module, "variant": '
        '"..."} in place of the module',
        model.weights.title,
        where,
    )
    return True
