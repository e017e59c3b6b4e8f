"""What a sweep is asked to measure, read from its TOML file.

    name = "mini"
    k = [10, 50]

    [[models]]
    model = "smollm2-135m"
    untrained = [0]

    [[models]]
    suite = "mini-64"
    steps = [0, 512, 4000]

    [[prompts]]
    file = "prompts.jsonl"

Every model is measured with every prompt, in every kind. Several K cost one measurement, since all
below the largest are slices of it.

Such a file is a program: `prologue` and `directives` run as they stand on a cluster, and any file
of this machine can be named as prompts or as a model.
"""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PositiveInt,
    PrivateAttr,
    ValidationError,
    model_validator,
)

from coupling_core.analysis.scores import every_k_of
from coupling_core.base.choosing import none_of
from coupling_core.base.definitions import DEFINITIONS, DefinitionName
from coupling_core.base.errors import InputError, a_type, reason
from coupling_core.base.folders import expanded
from coupling_core.base.kinds import kind_of, kinds
from coupling_core.base.reading import read_bytes
from coupling_core.base.records import (
    DEFAULT_K,
    Dtype,
    FinalNorm,
    Quantisation,
    Role,
    Stack,
)
from coupling_core.base.results.token_means import GRID
from coupling_core.base.textfiles import decoded
from coupling_core.sources.aliases import ALIASES
from coupling_core.sources.prompts import PromptSource

LARGEST = 2**20
"""Bytes of a sweep's file."""


def _listed(value: object) -> object:
    return value if isinstance(value, tuple) else (value,)


def _known(definition: str) -> str:
    if definition not in DEFINITIONS:
        raise ValueError(none_of("it", definition, DEFINITIONS))
    return definition


def _counted(token: int) -> int:
    if not token:
        raise ValueError("expected 1..n, or -1 and less from the end, and 0 came")
    return token


def _measured(kind: str) -> str:
    if kind not in kinds():
        raise ValueError(none_of("it", kind, kinds()))
    return kind


_Measured = Annotated[str, AfterValidator(_measured)]


def _one_line(text: str) -> str:
    if not text.isprintable():
        raise ValueError(f"expected text on one line, and {text!r} came")
    return text


HowMany = PositiveInt | Annotated[float, Field(gt=0, lt=1)]
"""K itself, or its share of each model's width, such as 0.1."""
Seeds = Annotated[tuple[Annotated[int, Field(ge=0, lt=2**63)], ...], BeforeValidator(_listed)]
Line = Annotated[str, AfterValidator(_one_line)]
"""A value in the head of a job, where a second line would be a command."""
Name = Annotated[str, Field(pattern=r"^[\w][\w.-]{0,63}$")]


class _Table(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, arbitrary_types_allowed=True
    )


class Models(_Table):
    """One table `[[models]]`: a model, or the checkpoints of a training run.

    Args:
        model: an alias, a hub id, a folder or a .gguf file (beside the sweep's file, or
            absolute).
        suite: in place of a model, a training run (`coupling suite list`).
        revisions: of a hub model; none is the branch main.
        steps: of a suite; none is all of them.
        untrained: seeds of freshly initialised twins; with it the trained model is measured only
            where `trained` says so.
        trained: whether the trained weights are measured.
        dtype: precision to which the weights are rounded.
        quantize: bitsandbytes' form of the weights.
        stack: of an encoder-decoder model.
        family: what it is grouped with; that of the catalogue, or the suite, unless told.
        score: how well the trained weights do on benchmarks, in percent; the catalogue's unless
            told.
    """

    model: str | None = None
    suite: str | None = None
    revisions: tuple[str, ...] = ()
    steps: tuple[int, ...] = ()
    untrained: Seeds = ()
    trained: bool = True
    dtype: Dtype = "float32"
    quantize: Quantisation | None = None
    stack: Stack | None = None
    family: str | None = None
    score: Annotated[float, Field(ge=0, le=100, strict=False)] | None = None

    @model_validator(mode="after")
    def _one_of_two(self) -> "Models":
        if (self.model is None) == (self.suite is None):
            raise ValueError("give either model or suite")
        if self.suite and (self.revisions or self.untrained or not self.trained):
            raise ValueError("a suite has steps; revisions and untrained twins are of a model")
        if self.model and self.steps:
            raise ValueError("steps are those of a suite; a model of the hub has revisions")
        if self.score is not None and (self.suite or len(self.revisions) > 1 or not self.trained):
            raise ValueError("a score is that of one set of trained weights")
        if self.score is not None and 0 < self.score < 1:
            raise ValueError(
                f"a score is in percent, and {self.score:g} came: 41 where 0.41 is meant"
            )
        if self.quantize and self.untrained:
            raise ValueError("an untrained twin cannot be quantised: give it a table of its own")
        if not (self.trained or self.untrained):
            raise ValueError("nothing is left to measure: give seeds of untrained twins")
        return self


class Slurm(_Table):
    """The table `[slurm]`: one job a worker.

    Args:
        jobs: how many.
        queue: the partition; that of the cluster unless told.
        account: who is billed.
        cores: of a job.
        memory: of a job, such as "16GB".
        walltime: after which a job ends, such as "04:00:00".
        gpus: of a job.
        directives: further lines of the job's head, such as "--constraint=a100".
        prologue: commands before the worker starts, such as "module load cuda".
        interface: of the network, such as "ib0".
        folder: for the jobs' own output; the store's unless told.
    """

    jobs: PositiveInt = 1
    queue: Line | None = None
    account: Line | None = None
    cores: PositiveInt = 1
    memory: Line = "8GB"
    walltime: Line = "04:00:00"
    gpus: int = 0
    directives: tuple[Line, ...] = ()
    prologue: tuple[Line, ...] = ()
    interface: Line | None = None
    folder: Line | None = None


class Sweep(_Table):
    """A sweep.

    Args:
        name: of letters, digits, dots and hyphens.
        title: what it is about.
        models: what is measured.
        prompts: with what.
        kinds: how; between tokens the mean over all pairs of blocks.
        k: at which K the table has scores; below 1 it is a share of each model's width.
        k_view: side of the stored matrices: few, for there are many results.
        token: the one measured, where a kind has one; where it is not said, the last of a text,
            the class token of an image, and of `fixed-input` the first token. To say -1 is another
            thing: the last of all.
        final_norm: whether it belongs to the last block.
        definition: of the score.
        role: A or B.
        timeout: seconds after which a measurement is given up.
        retries: how often one is tried again that failed for want of memory, network or disk.
        slurm: how its jobs are asked for.
    """

    name: Name
    title: str = ""
    models: Annotated[tuple[Models, ...], Field(min_length=1)]
    prompts: Annotated[tuple[PromptSource, ...], Field(min_length=1)]
    kinds: Annotated[tuple[_Measured, ...], Field(min_length=1)] = ("depth",)
    k: Annotated[tuple[HowMany, ...], Field(min_length=1), BeforeValidator(_listed)] = (DEFAULT_K,)
    k_view: PositiveInt = 4
    token: Annotated[int, AfterValidator(_counted)] = -1
    final_norm: FinalNorm = "include"
    definition: Annotated[DefinitionName, AfterValidator(_known)] = "paper"
    role: Role = "A"
    timeout: Annotated[float, Field(gt=0, strict=False)] = 3600.0
    retries: Annotated[int, Field(ge=0)] = 2
    slurm: Slurm = Slurm()
    _folder: Path = PrivateAttr(Path())

    @model_validator(mode="after")
    def _measurable(self) -> "Sweep":
        between_tokens = [kind for kind in self.kinds if kind_of(kind).means]
        lost = [k for k in self.k if k not in GRID and k != max(self.k)]
        if between_tokens and lost and lost[0] < 1:
            raise ValueError(
                f"K = {lost[0]:g} is a share of the width, and means of {between_tokens[0]!r} are "
                "kept at few K beside the largest: leave it out, or make it the only K of a sweep "
                "with these kinds"
            )
        if between_tokens and lost:
            raise ValueError(
                f"K = {lost[0]:g} is not kept of {between_tokens[0]!r}, whose means are at "
                f"{', '.join(map(str, GRID))} and the largest K that is asked for"
            )
        return self

    def every_k(self, width: float) -> tuple[int, ...]:
        """The K at which a model of this width is looked at, rising.

        Args:
            width: d, beyond which there is no K; 0 where nobody needs to know it.
        """
        return every_k_of(self.k, width)

    def beside(self, models: Models) -> Models:
        """A table whose model is a path beside the sweep's file, though nothing may be there."""
        if models.model is None or "\0" in models.model:
            return models
        return models.model_copy(
            update={"model": str((self._folder / expanded(models.model)).resolve())}
        )

    @property
    def needs_widths(self) -> bool:
        """Whether a K depends on the width, or may be more than that of a narrow model."""
        return len(self.k) > 1 or any(k < 1 or k > DEFAULT_K for k in self.k)


_TABLES: Mapping[str, type[_Table]] = {"": Sweep, "models": Models, "slurm": Slurm}
"""By their names in a sweep's file; the file itself has none."""
_EXPECTED = "Input should be "
"""Begins what pydantic says of most values."""
_UNKNOWN = "extra_forbidden"
"""What pydantic calls the complaint about a key that no table has."""


def read(what: str | os.PathLike[str] | Mapping[str, Any]) -> Sweep:
    """Read a sweep.

    Args:
        what: the path of its TOML file; or what such a file says as a dict, whose paths are those
            of the current folder.

    Raises:
        InputError: where the file is no TOML, or where it says what no sweep can be.
    """
    if isinstance(what, Mapping):
        return parse(_as_toml(what), Path(str(what.get("name") or "without a name")))
    path = expanded(what)
    try:
        found = tomllib.loads(decoded(read_bytes(path, LARGEST), f"the sweep {path}"))
    except (OSError, tomllib.TOMLDecodeError, RecursionError) as error:
        why = getattr(error, "strerror", None) or reason(error)
        raise InputError(f"the sweep {path} cannot be read as TOML: {why}") from error
    return parse(found, path)


def parse(found: dict[str, Any], path: Path) -> Sweep:
    """A sweep from its tables; files that it names lie beside its own."""
    tables = found.get("prompts")
    if isinstance(tables, list):
        sources = [_source(table, path, number) for number, table in enumerate(tables, 1)]
        found = found | {"prompts": tuple(sources)}
    models = found.get("models")
    if isinstance(models, list):
        found = found | {"models": [_beside(table, path.parent) for table in models]}
    try:
        sweep = Sweep.model_validate(_tuples(found))
    except ValidationError as error:
        raise InputError(f"the sweep {path}: {_told(error, found)}") from error
    sweep._folder = path.parent
    return sweep


def _source(table: Any, path: Path, number: int) -> PromptSource:
    try:
        if not isinstance(table, dict):
            raise ValueError('expected a table [[prompts]], or a dict as {"text": "The cat sat"}')
        return PromptSource.parse(table, path.parent)
    except (InputError, ValueError) as error:
        above = _above(table) if isinstance(table, dict) else ""
        told = str(error).removeprefix("prompts: ") + above
        raise InputError(f"the sweep {path}: prompts {number}: {told}") from error


def _above(table: Mapping[str, Any]) -> str:
    """A hint where a table has a key of the whole sweep, as one below it has in TOML."""
    own = next((key for key in table if key in Sweep.model_fields), "")
    return f"; {own!r} is a key of the sweep, and stands above the first table" * bool(own)


def _beside(table: Any, folder: Path) -> Any:
    """A table of a model with the path of a file that lies beside the sweep's."""
    model = table.get("model") if isinstance(table, dict) else None
    if not isinstance(model, str) or not model.strip() or "\0" in model or model in ALIASES:
        return table
    here = folder / expanded(model)
    try:
        return table | {"model": str(here.resolve())} if here.exists() else table
    except OSError:  # too long for a name
        return table


def _as_toml(value: Any) -> Any:
    """What was written in Python as TOML has it: tables, lists, and texts for paths."""
    if isinstance(value, Mapping):
        return {str(name): _as_toml(part) for name, part in value.items()}
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "parameters"):
        raise InputError(
            f"{a_type(value)} came as a model, and a sweep is measured by processes that "
            "load their models by name, folder or file: a module of your own is measured by "
            "measure_many(prompts, models)"
        )
    if hasattr(value, "item") and not getattr(value, "shape", None):  # a number of NumPy's
        return value.item()
    return list(map(_as_toml, value)) if isinstance(value, list | tuple | range) else value


def _tuples(value: Any) -> Any:
    """Lists as tuples, which a strict model asks for."""
    if isinstance(value, dict):
        return {name: _tuples(part) for name, part in value.items()}
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _told(error: ValidationError, given: Mapping[str, Any]) -> str:
    """The first complaint, with the place it is about.

    A key that is unknown comes before all others: it is often why another is missing.
    """
    found = error.errors(include_url=False)
    first = min(found, key=lambda one: one["type"] != _UNKNOWN)
    others = {one["loc"][:1] for one in found} - {first["loc"][:1]}  # a value has one a type
    parts = list(first["loc"])
    is_listed = isinstance(given.get(str(parts[0])), list | tuple) if parts else True
    if not is_listed and parts[1:2] == [0]:
        del parts[1]  # one value, of which the model made a list
    what = first["msg"].removeprefix("Value error, ")
    if first["type"] == "missing":
        what = "it is missing"
    elif first["type"] == "tuple_type":
        came = first["input"]
        what = f"expected a list, and {came!r} came"
        if isinstance(came, dict):
            what = f"expected tables, each below a line [[{parts[0]}]], and one came"
    elif what.startswith(_EXPECTED):
        what = f"expected {what.removeprefix(_EXPECTED)}, and {first['input']!r} came"
    if parts[:1] == ["k"] and first["type"] == "int_type":
        what = "expected a whole number from 1, or a share of each model's width below 1"
        what += f", and {first['input']!r} came"
    if first["type"] in ("model_type", "dataclass_type", "model_attributes_type"):
        what = f"expected a table, such as {{ model = {first['input']!r} }}"
    if first["type"] == "too_short":
        what = "expected one at least, and none came"
    if first["type"] == "string_pattern_mismatch":
        what = f"letters, digits, _, . and -, at most 64, and {first['input']!r} came"
    if first["type"] == _UNKNOWN:
        *parts, key = parts
        what = none_of("key", str(key), _TABLES[str(parts[0]) if parts else ""].model_fields)
        what += _above({str(key): None}) if parts else ""
    named = [part for part in parts if isinstance(part, int) or part.isidentifier()]
    place = " ".join(str(part + 1) if isinstance(part, int) else part for part in named)
    named_too = ", ".join(str(one[0]) for one in sorted(others) if one)
    more = f"; and {len(others)} more ({named_too})" * bool(others)
    return f"{place}: {what}{more}" if place else what + more
