"""measure_many(...): many prompts with several models, as the table of a sweep."""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from coupling_core.base.errors import ComputeError, InputError
from coupling_core.base.kinds import kind_of
from coupling_core.base.records import DEFAULT_MODEL, FinalNorm, Request, Role
from coupling_core.base.results import Result
from coupling_core.experiments.many_asked import (
    Asked,
    Model,
    Models,
    Prompts,
    models_of,
    prompts_of,
)
from coupling_core.experiments.many_on_dask import on_client
from coupling_core.experiments.many_progress import telling
from coupling_core.experiments.sweeps.plan import published
from coupling_core.experiments.sweeps.table import COLUMNS, Row, numbers, of_prompt, of_weights
from coupling_core.measuring.front import UNSAID, Shelf, measure, shelf
from coupling_core.sources.prompts import own_cells, own_columns
from coupling_core.store.disk import Store

if TYPE_CHECKING:  # half a second to import
    from pandas import DataFrame


def measure_many(
    prompts: Prompts,
    models: Models = (DEFAULT_MODEL,),
    *,
    kind: str = "depth",
    k: int | Iterable[int] | None = None,
    definition: str = "paper",
    role: Role = "A",
    token: int = -1,
    final_norm: FinalNorm = "include",
    tokenizer: Any = None,
    store: Shelf | Any = UNSAID,
    device: Any = None,
    client: Any = None,
    progress: bool = True,
) -> "DataFrame":
    """Measure many prompts with several models: a row for each model, prompt and K.

    What the store has is read, and all else is measured and stored: after an interruption the same
    call goes on where it stopped. A prompt that a model cannot take is left out with a warning that
    says why, and stands in `table.attrs["left_out"]`.

    Args:
        prompts: a list of texts, of token ids (token), or of mappings with a `prompt`; a frame with
            a column `prompt`; or the path of a file as `--prompts` takes it. `category` and
            `difficulty` are columns of the table, and so is whatever else stands beside a prompt.
        models: a model as `measure` takes it, or a list of them: names, paths, or modules of your
            own; or mappings with any of `model`, `revision`, `untrained`, `dtype`, `quantize`,
            `stack`. A mapping from names to models gives the models those names in the table.
        kind: what is compared: `depth`, `self`, `fixed-input`, `fixed-output` or `trajectory`.
        k: at how many singular triplets the scores are taken, one number or several, each at most
            the width of every model; None is the `default_k` of each result: 50, and less where a
            model is narrower.
        definition: which score; `paper` is the paper's Eq. 9.
        role: "A" for U^T J V, "B" for V^T J U.
        token: the token measured, or fixed, 1..n; -1 is the last.
        final_norm: whether the final norm belongs to the last block (paper, Eq. 7).
        tokenizer: that of the modules of your own.
        store: where results are kept, a `Store` or its folder; None keeps nothing. By default it is
            the store of the command line.
        device: where to compute; None takes CUDA where there is one.
        client: a `Client` of `dask.distributed`, whose workers measure in place of this process,
            into the store, which must lie on a disk that they share; None measures here, as a
            module of your own is always measured.
        progress: whether a terminal or a notebook shows a bar; where neither is, a line on stderr
            now and then.

    Returns:
        a table with the columns of a sweep's table: `coupling`, `chance`, `corrected` and
        `alignment` are means over all pairs, without a unit, and a number that is not known is NaN.
        Columns of the prompts' own follow; one named like a column of the table has `prompt_`
        before its name.

    Raises:
        InputError: where prompts or models are not what they should be, or every prompt fails.
        ComputeError: where a model is out of reach, or every prompt fails.
    """
    asked, listed = list(prompts_of(prompts)), models_of(models)
    ks = k if k is None else tuple(sorted({k} if isinstance(k, int) else set(k)))
    if not asked or not listed or ks == ():
        raise InputError("nothing is to be measured: give a prompt, a model and a K at least")
    kept = Store() if store is UNSAID else shelf(store)
    has = kind_of(kind)
    said: dict[str, Any] = {"kind": kind, "final_norm": final_norm}
    said |= {"token": token} if has.token else {}
    said |= {"k": max(ks)} if has.has_k and ks else {}
    own = own_columns([prompt.about.fields for prompt in asked], COLUMNS)
    place = None if device is None else str(device)
    of: Callable[[Model, Asked], Result]
    of = partial(_measured, said=said, store=kept, tokenizer=tokenizer, device=place)
    if client is not None:
        of = _on_client(client, listed, asked, said, kept, place)
    rows: list[Row] = []
    left_out: dict[str, Exception] = {}
    with telling(len(asked) * len(listed), shown=progress) as advance:
        for model in listed:
            facts = of_weights(model.weights, published().get(model.weights.request.model))
            facts |= {"model": model.name} if model.name else {}
            advance(facts["model"], done=0)
            for prompt in asked:
                try:
                    result = of(model, prompt)
                    shared = facts | of_prompt(prompt.about, result)
                    shared |= own_cells(prompt.about.fields, own)
                    at = ks or (result.default_k,)
                    rows += [shared | of_k for of_k in numbers(result, at, definition, role)]
                except (InputError, ComputeError) as error:
                    left_out[f"{facts['model']}: {prompt.about.words}"] = error
                advance(f"{facts['model']}: {prompt.about.words[:40]}")
    return _table(rows, own.values(), left_out)


def _measured(model: Model, prompt: Asked, *, said: Mapping[str, Any], **how: Any) -> Result:
    tokenizer, store, device = how["tokenizer"], how["store"], how["device"]
    if model.module is not None:
        request = Request(prompt.text, **said)
        return measure(request, store, model=model.module, tokenizer=tokenizer, device=device)
    return measure(_request(model, prompt, said), store, device=device)


def _request(model: Model, prompt: Asked, said: Mapping[str, Any]) -> Request:
    return Request(**{**vars(model.weights.request), **said, "prompt": prompt.text})


def _on_client(
    client: Any,
    models: Sequence[Model],
    prompts: Sequence[Asked],
    said: Mapping[str, Any],
    store: Store | None,
    device: str | None,
) -> Callable[[Model, Asked], Result]:
    """What gives the result of a model and a prompt, once the client's workers have it."""
    if any(model.module is not None for model in models):
        raise InputError(
            "a module of your own is measured in this process: leave out the client, or save the "
            "model and give its folder"
        )
    if store is None:
        raise InputError(
            "results come from the client's workers by the store: give one, such as "
            "store=Store(), or leave out the client"
        )
    requests = [_request(model, prompt, said) for model in models for prompt in prompts]
    answer = on_client(client, requests, store, device)
    return lambda model, prompt: answer(_request(model, prompt, said))


def _table(rows: list[Row], own: Iterable[str], left_out: Mapping[str, Exception]) -> "DataFrame":
    from pandas import DataFrame

    if not rows:
        first = next(iter(left_out.values()))
        raise type(first)(f"every prompt failed, the first with: {first}")
    for which, why in left_out.items():
        warnings.warn(f"left out: {which}: {why}", stacklevel=3)
    table = DataFrame(rows, columns=[*COLUMNS, *own])
    table.attrs["left_out"] = {which: str(why) for which, why in left_out.items()}
    return table
