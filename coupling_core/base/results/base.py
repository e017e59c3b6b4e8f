"""What every stored result has, whatever was measured."""

import os
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from jaxtyping import AbstractArray, Int

from coupling_core.base.drawing import Drawing, plot
from coupling_core.base.errors import InputError
from coupling_core.base.kinds import kind_of
from coupling_core.base.notebook import FigureOf, Plottable, in_a_line
from coupling_core.base.records import DEFAULT_K, AnyView, Certificate, Request
from coupling_core.base.units import counted, cut

if TYPE_CHECKING:  # half a second each to import, and only tables need them
    import xarray
    from pandas import DataFrame

PROMPT_SHOWN = 40
"""Letters of a prompt in a line."""
NORM_INCLUDED = "final norm included"
_MORE_BLOCKS = {"block": 0, "state": -1, "neighbour": 1}
"""Axes that tell L, with how many more blocks there are."""


@dataclass(frozen=True)
class Sizes:
    """How large a result is, known without reading its arrays.

    L, how many triplets are stored, and the side of each stored corner; 0 where there are none.
    """

    n_blocks: int
    k_max: int = 0
    k_view: int = 0


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Result(Plottable[FigureOf]):
    """A measurement of one prompt.

    NumPy arrays are stored as tensors, and every other field in the JSON header. Two results are
    equal where they answer one question, by their store key; one without a key equals itself alone.
    What it draws and tabulates is in the folder of its kind, `views` and `export`.

    Args:
        key: the store key.
        request: what was asked.
        identity: who the model is (alias and hash, commit, ...), JSON-able.
        tokens: token texts.
        token_ids: token ids.
        width: d, width of the residual stream.
        provenance: library versions, device, seconds, ...; never part of the key.
    """

    finite: ClassVar[tuple[str, ...]] = ()
    """Arrays whose every number is finite."""
    infinite: ClassVar[tuple[str, ...]] = ()
    """Arrays that may hold infinity; of all others, a number is at worst NaN."""
    axis_names: ClassVar[Mapping[str, str | tuple[str, ...]]] = {}
    """The names along an axis, or the field that has them."""
    certified_along: ClassVar[tuple[str, ...]] = ()
    """The axes along which there is a certificate each."""
    _asked_k: ClassVar[int | None] = None
    _origin: ClassVar[Any] = None

    key: str
    request: Request
    identity: Mapping[str, Any]
    tokens: tuple[str, ...]
    token_ids: Int[np.ndarray, " token"]
    width: int
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # The key stands for the numbers. A view: a running measurement goes on filling its own.
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                array = value.view()
                array.setflags(write=False)
                object.__setattr__(self, name, array)

    @property
    @abstractmethod
    def complete(self) -> bool:
        """Whether nothing is left to be measured."""

    @property
    @abstractmethod
    def measured(self) -> str:
        """What of the prompt was measured, as a phrase that follows the model's name."""

    @classmethod
    def sizes_of(cls, fields: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]) -> Sizes:
        """How large a result is, from its other fields and its arrays' shapes, as in a header."""
        length: dict[str, int] = {}
        for name, axes in array_dims(cls).items():
            length = dict(zip(axes, shapes[name], strict=True)) | length
        n_blocks = [length[axis] + more for axis, more in _MORE_BLOCKS.items() if axis in length]
        has_k = kind_of(fields["request"].kind).has_k
        return Sizes(
            fields["block_count"] if "block_count" in fields else n_blocks[0],
            length["k"] if has_k else 0,
            length.get("k_view", 0),
        )

    @classmethod
    def each_certificate(cls, fields: Mapping[str, Any]) -> Iterator[Certificate]:
        """The certificates among the fields of a header; none where nothing is decomposed."""
        yield from _flat(fields.get("certificates", ()))

    @property
    def named_axes(self) -> Mapping[str, tuple[str, ...]]:
        """The names along those axes of its arrays that have some."""
        along = self.axis_names.items()
        return {axis: getattr(self, of) if isinstance(of, str) else of for axis, of in along}

    @property
    def is_doubtful(self) -> bool:
        """Whether a number of it is known today to be unreliable; it is then measured again."""
        return False

    def consistency(self) -> Mapping[str, bool]:
        """Contradictions that a forged file could have: True by each that this result has not."""
        return {}

    @property
    def sizes(self) -> Sizes:
        """How large it is."""
        shapes = {name: getattr(self, name).shape for name in array_dims(type(self))}
        return self.sizes_of(vars(self), shapes)

    @property
    def svds(self) -> tuple[Certificate, ...]:
        """The certificate of every SVD."""
        return tuple(self.each_certificate(vars(self)))

    @property
    def certified(self) -> bool:
        """Whether every SVD passed its certificate."""
        return all(certificate.certified for certificate in self.svds)

    @property
    def n_blocks(self) -> int:
        """L, the number of blocks."""
        return self.sizes.n_blocks

    @property
    def k_max(self) -> int:
        """How many triplets are stored."""
        return self.sizes.k_max

    @property
    def k_view(self) -> int:
        """Side of the stored corner of each matrix."""
        return self.sizes.k_view

    @property
    def model_name(self) -> str:
        """The model's name, with the seed of an untrained model."""
        return named(self.request, self.identity)

    @property
    def subject(self) -> str:
        """Which model, and what of the prompt, as a phrase."""
        return f"{self.model_name} {self.measured}"

    @property
    def prompt_text(self) -> str:
        """The prompt as it was given, an image in words; of token ids the tokens' texts."""
        unread = self.tokens == tuple(f"#{i}" for i in self.token_ids.tolist())
        if isinstance(self.request.prompt, str) or unread:
            return self.request.prompt_words
        return "".join(self.tokens)

    @property
    def final_norm_words(self) -> str:
        """Whether a final norm belongs to the last block, or that this model has none."""
        return norm_words(self.request, has_norm=bool(self.provenance.get("final_norm", True)))

    @property
    def precision(self) -> str:
        """The precision of the weights and of the arithmetic; "" where it was not recorded."""
        return precision_words(self.request, self.provenance)

    @property
    def ends_in_norm(self) -> bool:
        """Whether the last block has a final norm in it."""
        return self.final_norm_words == NORM_INCLUDED

    def token_words(self, token: int) -> str:
        """A token (1..n) by its number and its text."""
        return f"{token} of {len(self.tokens)}, {self.tokens[token - 1]!r}"

    @property
    def dims(self) -> Mapping[str, tuple[str, ...]]:
        """The names of the dimensions of its arrays, by the arrays' names."""
        return array_dims(type(self))

    def part(self, name: str) -> Any:
        """A module of its kind's folder, which is imported only now."""
        return kind_of(self.request.kind).part(name)

    @property
    def default_k(self) -> int:
        """The K of its default view, 0 where it has none.

        The K that `measure` was asked for; of a result that was loaded, `usual_k`.
        """
        return self._asked_k or self.usual_k

    @property
    def usual_k(self) -> int:
        """50, or less where most of its Jacobians have a smaller rank, past which is no score.

        A layer norm takes one from the rank that the width allows, and between different tokens few
        key-value heads leave less.
        """
        rank = vars(self).get("rank", np.empty(0))
        known = rank[rank > 0]
        most = int(np.quantile(known, 0.5, method="lower")) if known.size else self.k_max
        return min(DEFAULT_K, self.k_max, most)

    def default_view(self) -> AnyView:
        """How it is looked at where nobody says: at its default K."""
        kind = kind_of(self.request.kind)
        return kind.view(k=self.default_k) if kind.has_k else kind.view()

    def to_pandas(self) -> "DataFrame":
        """Its default view as a table; `scores(k=...)` has one at another K.

        A row is a pair of blocks (depth) or of tokens, a token (trajectory), an edit (what-if), a
        block (spectrum), a way, size and state (perturbation) or a readout (directions);
        docs/outputs.md has the columns of each. Its `attrs` say whose it is, and a Parquet file
        keeps them.
        """
        table: DataFrame = self._exports.frame(self, self.default_view())
        return table

    def to_xarray(self) -> "xarray.Dataset":
        """Its default view, with the names of the dimensions.

        Returns:
            of blocks and of tokens what `scores().to_xarray()` gives; of every other kind the
            arrays that a `.npz` file of it has, with its states 0..L, its blocks, tokens and the
            like from 1 on, and the tokens' texts along them. Its `attrs` say whose it is.
        """
        return self._exports.dataset(self, self.default_view())

    @property
    def _exports(self) -> Any:
        """A room above this one, and so imported only now, as the parts of a kind are."""
        return import_module("coupling_core.analysis.exports")

    def plot(self, figure: FigureOf | Literal[""] = "", **options: Any) -> Drawing:
        """A figure of its default view.

        Args:
            figure: its name, as `--figure` of the command has it; "" is the main one of its page.
            options: of the function of `coupling_core.figures` that draws it, such as
                `threshold=0.1, layout="circle"` of `graph`. `twin` is the result of an untrained
                model, which most figures of paths, spectra, noise and readouts draw too.

        Raises:
            InputError: on a name that no figure of its kind has; the message lists them. Where the
                twin is of other tokens or blocks.
        """
        if (twin := options.get("twin")) is not None:
            self._require_twin(twin)
        return plot(self, self.default_view(), figure, **options)

    def _require_twin(self, twin: Any) -> None:
        def of(result: Any) -> tuple[Any, ...]:
            token = getattr(result, "token", None)
            return type(result), result.tokens, result.n_blocks, token

        if not isinstance(twin, Result) or of(twin) != of(self):
            raise InputError(
                "twin must be a result of the same kind, tokens and number of blocks, such as "
                f"measure(prompt, kind={self.request.kind!r}, untrained=0)"
            )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write all of it into one file, which `load` reads, and the commands and the page Runs.

        Args:
            path: where to; it ends in `.safetensors`, and a file of that name is replaced.

        Returns:
            the path that was written.

        Raises:
            InputError: on another ending, where it is not measured to its end, or where nothing can
                be written.
            ComputeError: where the disk is full.
        """
        # Of a room above this one, and so imported only now, as the parts of a kind are.
        written: Path = import_module("coupling_core.store.result_file").save(self, path)
        return written

    @property
    def verdict(self) -> str:
        """The finding of its default view, in a sentence or two."""
        # Of a room above this one, as `save` is.
        words = import_module("coupling_core.figures.words")
        return str(words.verdict(self, self.default_view()))

    def attributes(self) -> dict[str, str | float]:
        """Whose it is and how far it was checked, for tables and arrays that leave the program."""
        return {
            "model": self.model_name,
            "prompt": self.prompt_text,
            "measured": self.measured,
            "final_norm": self.final_norm_words,
            "precision": self.precision,
            "certificate": certified_words(self.svds),
            "key": self.key,
        }

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Result) or not self.key:
            return self is other
        return type(self) is type(other) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key) if self.key else id(self)

    def __repr__(self) -> str:
        return in_a_line(
            self,
            self.whose,
            self.measured,
            counted(self.n_blocks, "block"),
            f"K <= {self.k_max}" * bool(self.k_max),
            "" if self.complete else "not complete",
            ("certified" if self.certified else "not all certified") * bool(self.svds),
        )

    @property
    def whose(self) -> str:
        """Its model and the beginning of its prompt, in a line."""
        return ", ".join([self.model_name, *self.unlike_usual, repr(short_prompt(self))])

    @property
    def unlike_usual(self) -> tuple[str, ...]:
        """What of the model is not as usual: precision, stack, final norm."""
        unusual = {
            self.precision: self.precision not in ("", "float32"),
            f"the {self.request.stack}": self.request.stack,
            "final norm excluded": self.request.final_norm == "exclude",
        }
        return tuple(words for words, holds in unusual.items() if holds)


@cache
def array_dims(of: type[Result]) -> Mapping[str, tuple[str, ...]]:
    """The names of the dimensions of a class's arrays, by the arrays' names."""
    return {
        item.name: tuple(item.type.dim_str.split())
        for item in fields(of)
        if isinstance(item.type, type) and issubclass(item.type, AbstractArray)
    }


def _flat(certificates: Any) -> Iterator[Certificate]:
    for each in certificates:
        if isinstance(each, Certificate):
            yield each
        elif each is not None:
            yield from _flat(each)


def certified_words(svds: Sequence[Certificate]) -> str:
    """Whether every one of some SVDs was certified, and if not, how many were and why not."""
    failed = [svd.reason for svd in svds if not svd.certified]
    if not svds:
        return "nothing is decomposed"
    if not failed:
        return f"all {len(svds)} SVDs certified"
    return f"{len(failed)} of {len(svds)} SVDs not certified: {failed[0]}"


def short_prompt(of: Result, most: int = PROMPT_SHOWN) -> str:
    """The beginning of a prompt, in a line."""
    return cut(" ".join(of.prompt_text.split()), most)


def precision_words(request: Request, provenance: Mapping[str, Any]) -> str:
    """What weights are held in and what is computed in; "" where that was not recorded."""
    arithmetic = provenance.get("dtype", "")
    weights = f"in {provenance.get('weights', arithmetic)}"
    weights = f"quantised to {request.quantize}" if request.quantize else weights
    if weights == f"in {arithmetic}":
        return str(arithmetic)
    return f"weights {weights}, arithmetic in {arithmetic}"


def norm_words(request: Request, *, has_norm: bool) -> str:
    """Whether a final norm belongs to the last block, or that the model has none."""
    return f"final norm {request.final_norm}d" if has_norm else "no final norm"


def named(request: Request, identity: Mapping[str, Any]) -> str:
    """What to call the model of a request, with the seed of an untrained twin."""
    name, seed = str(identity.get("name", request.model)), request.untrained
    return name if seed is None else f"{name}, untrained (seed {seed})"


def within(values: np.ndarray, least: int, most: int) -> bool:
    """Whether all of them lie in least..most."""
    return bool(((values >= least) & (values <= most)).all())
