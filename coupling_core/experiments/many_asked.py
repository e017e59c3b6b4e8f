"""What measure_many is given: prompts and models, in the forms in which people have them."""

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from coupling_core.base.callers import warn_caller
from coupling_core.base.choosing import nearest
from coupling_core.base.errors import InputError
from coupling_core.base.folders import expanded
from coupling_core.base.records import DEFAULT_MODEL, OWN, Request
from coupling_core.experiments.sweeps.plan import Weights, family_of, told_apart
from coupling_core.measuring.asked import is_named, prompt_of
from coupling_core.sources.prompts import Prompt, known_names, read_file
from coupling_core.sources.refusals import about
from coupling_core.sources.resolved import resolve
from coupling_core.sources.suites import checkpoint_of

if TYPE_CHECKING:  # half a second to import
    import torch
    from pandas import DataFrame

    Prompts = (
        str
        | os.PathLike[str]
        | DataFrame
        | Iterable[str | Mapping[str, Any] | Sequence[int] | torch.Tensor]
    )
    Models = str | os.PathLike[str] | torch.nn.Module | Mapping[str, Any] | Iterable[Any]
else:
    Prompts = Models = Any

_OF_MODELS = ("model", "revision", "untrained", "dtype", "quantize", "stack")
_OF_MODULES = ("model", "variant", "tokenizer", "trained")
_KNOWN = {*_OF_MODELS, *_OF_MODULES} - {"trained"}  # which people call a model


@dataclass(frozen=True)
class Asked:
    """A prompt with what else its row says."""

    text: str | tuple[int, ...]
    about: Prompt


@dataclass(frozen=True)
class Model:
    """A model of the table: its name there, what is known of it, and the module of one's own.

    What was done to the module, in the user's words, is its `variant`; its `tokenizer` is None
    where it shares that of all. It is not `trained` where its user says so. Its `k` is the largest
    that is asked of it, where that is not the one asked of all.
    """

    name: str
    weights: Weights
    module: Any = None
    variant: str = ""
    tokenizer: Any = None
    trained: bool = True
    k: int | None = None

    def without(self, every_k: Sequence[int | float], width: int) -> str:
        """What is said of K beyond its width."""
        beyond = ", ".join(str(k) for k in every_k if k > width)
        name = self.name or self.weights.title
        return f"K = {beyond} is left out of {name}, whose width is {width}"


def prompts_of(prompts: Any) -> Iterator[Asked]:
    """Every prompt with what stands beside it; raises `InputError` where there is none."""
    if isinstance(prompts, str | os.PathLike):
        path = expanded(prompts)
        if not path.exists():
            raise InputError(
                f"there is no file or folder {str(prompts)!r} with prompts; one text is given as a "
                f"list, [{str(prompts)!r}]"
            )
        yield from (Asked(prompt.text, prompt) for prompt in read_file(path))
        return
    for number, record in enumerate(_records(prompts), 1):
        fields = known_names(record) if isinstance(record, Mapping) else {"prompt": record}
        fields = {name: None if _is_missing(value) else value for name, value in fields.items()}
        prompt = fields["prompt"]
        if prompt is None or (isinstance(prompt, str) and not prompt.strip()):
            raise InputError(
                f"prompt {number} of those that came is empty or missing: leave it out, in a frame "
                'by dropna(subset=["prompt"])'
            )
        with about(f"prompt {number}"):
            text = prompt_of(prompt)
            words = text if isinstance(text, str) else Request(text).prompt_words
            found = Prompt.of(fields | {"prompt": words}, "own", number)
        yield Asked(text, found)


def _records(prompts: Any) -> Iterable[Any]:
    """The rows of a frame, or of columns by name; the one row of a mapping with one text."""
    is_frame = hasattr(prompts, "to_dict") and hasattr(prompts, "columns")  # a column has none
    if isinstance(prompts, Mapping) and not is_frame:
        known = known_names(prompts)
        if is_named(prompt := known.get("prompt")) and prompt is not None:
            return [known]
        if prompt is None or len({len(list(each)) for each in known.values()}) > 1:
            raise InputError(
                "the prompts came as a mapping: expected columns by name, equally long lists, one "
                f"of them 'prompt', and it has {', '.join(map(str, prompts)) or 'none'}"
            )
        return [dict(zip(known, row, strict=True)) for row in zip(*known.values(), strict=True)]
    if is_frame and not prompts.columns.is_unique:
        twice = prompts.columns[prompts.columns.duplicated()][0]
        raise InputError(f"the column {twice!r} comes twice in the frame of prompts: rename one")
    found: Iterable[Any] = prompts.to_dict("records") if is_frame else prompts
    return found


def _is_missing(value: Any) -> bool:
    from pandas import isna
    from pandas.api.types import is_scalar

    return is_scalar(value) and bool(isna(value))


def models_of(models: Any) -> list[Model]:
    """Every model, with names that differ; raises where one is out of reach."""
    if isinstance(models, Mapping) and not _says_one(models):
        named = [(str(name), model) for name, model in models.items()]
    else:
        one = is_named(models) or isinstance(models, Mapping) or hasattr(models, "parameters")
        named = [("", model) for model in ([models] if one else models)]
    seen: Counter[str] = Counter()
    found = _once(_found(name, model, seen) for name, model in named)
    apart = told_apart(tuple(each.weights for each in found))
    return [replace(each, weights=of) for each, of in zip(found, apart, strict=True)]


def _says_one(said: Mapping[str, Any]) -> bool:
    """Whether a mapping says one model in parts, and not several by their names."""
    if "model" in said:
        return True
    are_models = (isinstance(one, Mapping) or hasattr(one, "parameters") for one in said.values())
    return bool(said and said.keys() <= _KNOWN) and not any(are_models)


def _once(every: Iterable[Model]) -> list[Model]:
    """Models without those that are named twice; modules of one's own are as many as came."""
    found: list[Model] = []
    for model in every:
        if model.module is None and model in found:
            warn_caller(
                f"{model.name or model.weights.title} comes more than once among the models: it is "
                "measured once"
            )
        else:
            found.append(model)
    return found


def _found(name: str, model: Any, seen: Counter[str]) -> Model:
    if isinstance(model, Mapping) and not is_named(model.get("model")):
        return _module(name, model["model"], seen, said=model)
    if isinstance(model, Mapping) or is_named(model):
        said = dict(model) if isinstance(model, Mapping) else {"model": model}
        if unknown := said.keys() - {*_OF_MODELS}:
            raise _none_of(unknown, _OF_MODELS, "of a name")
        said["model"] = os.fspath(said.get("model") or DEFAULT_MODEL)
        request = Request("-", **said)
        found = resolve(request)
        is_twin = request.untrained is not None
        suite, step = checkpoint_of(found.files.location, None if is_twin else request.revision)
        family = family_of(request.model)
        return Model(name, Weights(request, found.identity, "", family, suite, step))
    return _module(name, model, seen, said={"model": model})


def _module(name: str, module: Any, seen: Counter[str], said: Mapping[str, Any]) -> Model:
    """A module of one's own, with what was done to it where that is told."""
    from coupling_core.engine.loading import own_name  # torch

    if unknown := said.keys() - {*_OF_MODULES}:
        raise _none_of(unknown, _OF_MODULES, "that is a module of your own")
    variant = str(said.get("variant", ""))
    trained = TypeAdapter(bool).validate_python(said.get("trained", True))  # a table has "False"
    title = own_name(module, variant)
    seen[title] += 1
    title += f" {seen[title]}" * (seen[title] > 1)  # modules of one class are numbered
    request = Request("-", model=OWN + title)
    weights = Weights(request, {"name": title}, family=name or title)
    return Model(name, weights, module, variant, said.get("tokenizer"), trained)


def _none_of(unknown: Collection[str], known: Sequence[str], of: str) -> InputError:
    says = ", ".join(sorted(unknown)) + nearest(min(unknown), known)
    return InputError(f"a model {of} says {says}, which is none of {', '.join(known)}")
