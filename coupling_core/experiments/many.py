"""measure_many(...): many prompts with several models, as the table of a sweep."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from coupling_core.analysis.scores import every_k_of
from coupling_core.base.bars import Bar, telling
from coupling_core.base.blocks import Blocks, blocks_of
from coupling_core.base.blocks import told as told_blocks
from coupling_core.base.callers import warn_caller
from coupling_core.base.definitions import DefinitionName
from coupling_core.base.errors import ComputeError, InputError, by_reason, every_prompt_failed
from coupling_core.base.kinds import kind_of
from coupling_core.base.records import (
    DEFAULT_K,
    DEFAULT_MODEL,
    HOW,
    OF_BLOCKS,
    OF_SHARES,
    OWN,
    PERFORMANCES,
    FinalNorm,
    Kind,
    Role,
    View,
    usual_token,
)
from coupling_core.base.results import Result
from coupling_core.base.units import ranges
from coupling_core.experiments.many_answers import Asking
from coupling_core.experiments.many_asked import Model, Models, Prompts, models_of, prompts_of
from coupling_core.experiments.sweeps.plan import published, with_width
from coupling_core.experiments.sweeps.table import (
    COLUMNS,
    FLOOR_ERROR,
    MEASURED,
    Row,
    framed,
    of_weights,
    rows_of,
)
from coupling_core.measuring.front import UNSAID, Shelf, shelf
from coupling_core.sources.prompts import own_columns, repeated

if TYPE_CHECKING:  # half a second to import
    from pandas import DataFrame

MOST_BLOCKS = 10_000
"""More than any model has."""


def measure_many(
    prompts: Prompts,
    models: Models = (DEFAULT_MODEL,),
    *,
    kind: Kind = "depth",
    k: int | float | Iterable[int | float] | None = None,
    blocks: Blocks = None,
    definition: DefinitionName = "paper",
    role: Role = "A",
    token: int | None = None,
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

    On a processor, prompts are measured in several processes of one core each, as many as there are
    cores and memory for, unless they take but a few seconds. A module of your own stays in this
    process, one prompt after the other, and so does everything where nothing is kept: results
    travel by the store.

    Args:
        prompts: a list of texts, of token ids (token), or of mappings with a `prompt`; a frame, or
            a mapping from names to columns, with `prompt`; or the path of a file as `--prompts`
            takes it. `category` and `difficulty` are columns of the table, and so is whatever else
            stands beside a prompt.
        models: a model as `measure` takes it, or a list of them: names, paths, or modules of your
            own; or mappings with any of `model`, `revision`, `untrained`, `dtype`, `quantize`,
            `stack`; or of a module, with `model`, `variant` (what you did to it, as `measure` has
            it), a `tokenizer` of its own, and `trained`, False where its weights are a random draw.
            A mapping from names to models gives the models those names in the table.
        kind: what is measured, as `measure` has it: `depth`, `self`, `fixed-input`, `fixed-output`,
            `trajectory`, `what-if`, `spectrum`, `perturbation` or `directions`.
        k: at how many singular triplets the scores are taken, one number or several; a model that
            is narrower than one of them has rows for the others. Below 1 it is a share of each
            model's width, rounded, which stands in the column `k_share`. None is the `default_k` of
            each result: 50, and less where a model is narrower.
        blocks: over whose pairs the scores of `depth` are taken, as `scores` has them ("9-16", a
            range, a list); the column `blocks` says which, where they are not all: by their numbers
            where the models are equally deep, and else as they were named. None is all.
        definition: which score; `paper` is the paper's Eq. 9.
        role: "A" for U^T J V, "B" for V^T J U.
        token: the token measured, or fixed, 1..n; -1 is the last. None is the usual one, as of
            `measure`.
        final_norm: whether the final norm belongs to the last block (paper, Eq. 7).
        tokenizer: that of the modules of your own which say none.
        store: where results are kept, a `Store` or its folder; None keeps nothing. By default it is
            the store of the command line.
        device: where to compute; None takes CUDA where there is one.
        client: a `Client` of `dask.distributed`, whose workers measure in place of this process,
            into the store, which must lie on a disk that they share; None measures here, as a
            module of your own is always measured.
        progress: whether a terminal or a notebook shows a bar; where neither is, a line on stderr
            now and then.

    Returns:
        a table with the columns of a sweep's table, and behind `k` those that say how a number came
        about: `definition`, `role`, `token` and `final_norm`; its `attrs` say what was asked.
        `coupling`, `chance`, `corrected` and
        `alignment` are means over all pairs, without a unit; numbers that only other kinds have are
        left out, and so are `loss` and `score` where they are known of no model. What else is said
        of the models stays, and is NaN where it is not known: `step`, as `loss`, is known of steps
        of a training run, `parameters`, `training_tokens` and `score` of models that are in the
        catalogue or were counted. Columns of the prompts' own follow; one named like a column of
        the table has `prompt_` before its name.

    Raises:
        InputError: where prompts or models are not what they should be, a model lacks one of the
            blocks, or every prompt fails.
        ComputeError: where a model is out of reach, or every prompt fails.
    """
    asked, listed = list(prompts_of(prompts)), models_of(models)
    ks = _every_k(k)
    View(definition=definition, role=role)  # refuses what there is not
    if not asked or not listed or ks == ():
        raise InputError("nothing is to be measured: give a prompt, a model and a K at least")
    if told := repeated([prompt.about.words for prompt in asked]):
        warn_caller(told)
    kept = shelf(store)
    has = kind_of(kind)
    blocks = _chosen(blocks, kind)
    said: dict[str, Any] = {"kind": kind, "final_norm": final_norm}
    said |= {"token": token} if has.token and token is not None else {}
    said |= {"k": max(ks)} if has.has_k and ks else {}
    if ks and (len(ks) > 1 or not 1 <= max(ks) <= DEFAULT_K):
        listed = list(map(partial(_sized, every_k=ks), listed))
    own = own_columns([prompt.about.fields for prompt in asked], COLUMNS)
    place = None if device is None else str(device)
    asking = Asking(asked, said, kept, ks or (), tokenizer, place)
    of = asking.here if client is None else asking.by(client, listed)
    rows: list[Row] = []
    depths: set[int] = set()
    left_out: dict[str, Exception] = {}
    every, each = len(asked) * len(listed), "prompt" if len(listed) == 1 else "measurement"
    with telling(every, Bar(stays=True, shown=progress), of=each) as advance:
        for model in listed:
            named = model.weights.request.model
            facts = of_weights(model.weights, published([named]).get(named))
            facts |= {"model": model.name} if model.name else {}
            facts |= {} if model.trained else {"trained": False, "training_tokens": 0.0}
            advance(facts["model"], done=0)
            found: dict[int, list[Row]] = {}
            failed: dict[int, Exception] = {}
            own_id = ""  # of all rows: some modules change a little as they are used
            with closing(of(model)) as come:
                for number, get in come:
                    prompt, result = asked[number], None
                    try:
                        result = get()
                        if model.module is not None:
                            facts["id"] = own_id = own_id or _id_of_module(result)
                        at, seen = ks or (result.default_k,), (definition, role, blocks)
                        found[number] = rows_of(facts, prompt.about, own, result, at, *seen)
                    except (InputError, ComputeError) as error:
                        failed[number] = error
                    if result is not None:
                        depths.add(result.n_blocks)
                        _require_pairs(blocks, result)
                    advance(f"{facts['model']}: {prompt.about.words[:40]}")
            if has.has_k and {row["layers"] for of_one in found.values() for row in of_one} == {1}:
                warn_caller(
                    f"{facts['model']} has one block, and coupling is of pairs of blocks: it has "
                    "no score"
                )
            rows += [row for number in sorted(found) for row in found[number]]
            for number in sorted(failed):
                left_out[f"{facts['model']}: {asked[number].about.words}"] = failed[number]
    of_blocks = _named(blocks, depths)
    table = _table([row | of_blocks for row in rows], own.values(), left_out)
    scored = {"definition": definition, "role": role} if has.has_k else {}
    tokens = {usual_token(kind, prompt.text) for prompt in asked}
    if has.token and token is None and len(tokens) == 1:
        said["token"] = tokens.pop()
    table.attrs |= said | scored | of_blocks | ({"k": list(ks)} if ks and len(ks) > 1 else {})
    return table


def _chosen(blocks: Blocks, kind: Kind) -> Blocks:
    """The blocks that are chosen, to be read again and again."""
    if blocks is None:
        return None
    if kind != "depth":
        raise InputError(
            f"blocks={blocks!r} choose pairs of the kind depth, and {kind} was asked for: leave "
            "them out"
        )
    if isinstance(blocks, Iterable) and not isinstance(blocks, str):
        blocks = list(blocks)
    blocks_of(blocks, MOST_BLOCKS)  # refuses what no model can have
    return blocks


def _named(blocks: Blocks, depths: Collection[int]) -> Row:
    """The column that says over which blocks the scores are taken, where not over all.

    The same blocks have one name, however they were given, so that tables of several calls compare.
    """
    if blocks is None:
        return {}
    chosen = {n: sorted(set(blocks_of(blocks, n) or ())) for n in depths}
    if all(numbers == list(range(1, n + 1)) for n, numbers in chosen.items()):
        return {}
    names = set(map(ranges, chosen.values()))
    return {OF_BLOCKS: names.pop() if len(names) == 1 else told_blocks(blocks)}


def _require_pairs(blocks: Blocks, result: Result) -> None:
    """Refuse blocks that a model lacks, whatever the prompt, and one without another beside it."""
    chosen = blocks_of(blocks, result.n_blocks)
    if chosen is not None and len(chosen) < 2:
        raise InputError(
            f"blocks={blocks!r} is one block, and scores are of pairs: name two at least"
        )


def _id_of_module(result: Result) -> str:
    """Two modules of one class are not one: what they compute with is in it, where it is known."""
    content = str(result.identity.get("digest") or "")[:12]
    return f"{OWN}{result.identity['name']}" + f"@{content}" * bool(content)


def _every_k(k: Any) -> tuple[int | float, ...] | None:
    """Every K that is asked for, rising; None where none is said."""
    if k is None:
        return None
    listed = set(k) if isinstance(k, Iterable) and not isinstance(k, str) else {k}
    return tuple(sorted(map(_one_k, listed)))


def _one_k(k: Any) -> int | float:
    """A K, or a share of the width."""
    number, is_float = float(k), isinstance(k, float)
    is_whole = number.is_integer() and number >= 1 + is_float  # 1.0 may be one direction or all
    if not (is_whole or 0 < number < 1):
        raise InputError(
            "K is a whole number from 1 on (1, not 1.0), below 1 a share of each model's width, or "
            f"several in a list, and {k!r} came"
        )
    return int(number) if is_whole else number  # a column of numbers has 10 as 10.0


def _sized(model: Model, every_k: Sequence[int | float]) -> Model:
    """A model that is asked for no K beyond its width, with a word on those that are."""
    if model.module is not None:  # who has a module knows its width
        return model
    width = with_width(model.weights).width
    fit = every_k_of(every_k, width)
    if not fit or fit == tuple(every_k):  # where none fits, the measurement says so
        return model
    if width and max(every_k) > width:
        warn_caller(model.without(every_k, width))
    return replace(model, k=max(fit))


def _table(rows: list[Row], own: Collection[str], left_out: Mapping[str, Exception]) -> "DataFrame":
    if not rows:
        raise every_prompt_failed([*left_out.values()]) from next(iter(left_out.values()))
    for reason, (first, *others) in by_reason(left_out).items():
        more = f" (and {len(others)} more)" * bool(others)
        warn_caller(f"left out: {first}{more}: {reason}")
    found = set().union(*rows)
    known = (*MEASURED, *HOW, OF_SHARES)
    of_kind = [name for name in COLUMNS if name in found or name not in known]
    table = framed(rows, of_kind, own)
    empty = [name for name in (*PERFORMANCES, OF_SHARES, FLOOR_ERROR) if name in table]
    table = table.drop(columns=[name for name in empty if table[name].isna().all()])
    table.attrs["left_out"] = {which: str(why) for which, why in left_out.items()}
    return table
