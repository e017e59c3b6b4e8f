"""Where the results of `measure_many` come from: this process, others here, or dask's workers."""

import logging
from collections.abc import Callable, Generator, Mapping, Sequence
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


def answers(
    models: Sequence[Model],
    prompts: Sequence[Asked],
    said: Mapping[str, Any],
    store: Store | None,
    every_k: Sequence[int | float],
    *,
    tokenizer: Any,
    device: str | None,
    client: Any,
) -> Callable[[Model], Come]:
    """What gives a model's answers to all prompts, as they come.

    Args:
        models: all that will be asked.
        prompts: of each.
        said: the other fields of the requests.
        store: answers what it holds, and keeps the rest; None keeps nothing.
        every_k: the K that are looked at, or below 1 shares of a width; a module narrower than some
            is measured at the others.
        tokenizer: that of the modules of one's own.
        device: where to compute.
        client: a `Client` of `dask.distributed`, whose workers measure; None measures here.
    """
    if client is not None:
        return _on_client(client, models, prompts, said, store, device)

    def of(model: Model) -> Come:
        if model.module is not None:
            return _of_module(model, prompts, said, store, every_k, tokenizer, device)
        return _of_weights(model, prompts, said, store, device)

    return of


def _of_module(
    model: Model,
    prompts: Sequence[Asked],
    said: Mapping[str, Any],
    store: Store | None,
    every_k: Sequence[int | float],
    tokenizer: Any,
    device: str | None,
) -> Come:
    keeping = None if store is not None and _told_apart_by_none(model) else store

    # How wide it is shows as it is asked for too much, which shares of its width need to know.
    own: dict[str, int] = {"k": MOST_K} if every_k and min(every_k) < 1 else {}

    def of(prompt: Asked) -> Result:
        try:
            return at(prompt, own)
        except KBeyondWidth as error:
            fit = every_k_of(every_k, error.width)
            if not fit or own.get("k", MOST_K) != MOST_K:
                raise
            own["k"] = max(fit)
            if max(every_k) > error.width:
                warn_caller(model.without(every_k, error.width))
            return at(prompt, own)

    def at(prompt: Asked, own: Mapping[str, int]) -> Result:
        return measure(
            Request(prompt.text, **_at_usual_token({**said, **own}, prompt)),
            keeping,
            model=model.module,
            tokenizer=tokenizer if model.tokenizer is None else model.tokenizer,
            variant=model.variant,
            device=device,
            progress=False,
        )

    for number, prompt in enumerate(prompts):
        yield number, partial(of, prompt)


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


def _of_weights(
    model: Model,
    prompts: Sequence[Asked],
    said: Mapping[str, Any],
    store: Store | None,
    device: str | None,
) -> Come:
    requests: dict[int, Request] = {}
    for number, prompt in enumerate(prompts):
        try:
            requests[number] = _request(model, prompt, said)
        except InputError as error:
            yield number, Answer(number, error=error).get
    if store is None:
        for number, request in requests.items():
            yield number, partial(measure, request, device=device)
        return
    with Answers(requests, store, device=device) as found:
        for answer in found:
            yield answer.number, answer.get


def _on_client(
    client: Any,
    models: Sequence[Model],
    prompts: Sequence[Asked],
    said: Mapping[str, Any],
    store: Store | None,
    device: str | None,
) -> Callable[[Model], Come]:
    if store is None or any(model.module is not None for model in models):
        raise InputError(
            "a client's workers measure models that have a name or a folder, into a store such as "
            "store=Store(): give these, or leave out the client"
        )
    requests = [_request(model, prompt, said) for model in models for prompt in prompts]
    answer = on_client(client, requests, store, device)

    def of(model: Model) -> Come:
        for number, prompt in enumerate(prompts):
            yield number, partial(answer, _request(model, prompt, said))

    return of


def _request(model: Model, prompt: Asked, said: Mapping[str, Any]) -> Request:
    own = said if model.k is None else {**said, "k": model.k}
    own = _at_usual_token(own, prompt)
    return Request(**{**vars(model.weights.request), **own, "prompt": prompt.text})


def _at_usual_token(said: Mapping[str, Any], prompt: Asked) -> dict[str, Any]:
    return {"token": usual_token(said["kind"], prompt.text), **said}
