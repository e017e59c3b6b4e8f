"""What every stored result has, whatever was measured."""

import os
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, fields
from importlib import import_module
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar
from weakref import ref

import numpy as np
from jaxtyping import AbstractArray, Int

from coupling_core.base.drawing import Drawing, FigureName
from coupling_core.base.errors import InputError, a_type
from coupling_core.base.kinds import kind_of
from coupling_core.base.records import DEFAULT_K, AnyView, Certificate, Request
from coupling_core.base.showing import Drawn, Told, in_a_line
from coupling_core.base.units import counted

if TYPE_CHECKING:  # half a second each to import, and only tables need them
    import xarray
    from pandas import DataFrame


SHOWN = 60
"""Letters of a value in a complaint."""
PROMPT_SHOWN = 40
"""Letters of a prompt in a line."""
_WITHIN = {
    *("consistency", "each_certificate", "finite", "infinite", "is_doubtful", "named_axes", "part"),
    *("fixed_words", "positions_done", "rows_done", "sizes", "sizes_of", "token_told"),
    *("token_words", "typed", "unlike_usual", "usual_k", "what_short", "whose"),
}
"""Names that stores, figures and commands need of a result, and nobody who looks at one."""
_OF_K = {"default_k", "k_max", "k_view"}
"""Names that say something where singular triplets are stored."""


@dataclass(frozen=True)
class Sizes:
    """How large a result is, known without reading its arrays.

    Args:
        n_blocks: L, the number of blocks.
        k_max: singular triplets stored; 0 where there are none.
        k_view: side of the stored corner of each matrix; 0 where there are none.
    """

    n_blocks: int
    k_max: int = 0
    k_view: int = 0


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Result(Drawn):
    """A measurement of one prompt.

    NumPy arrays are stored as tensors, and every other field in the JSON header. Two results are
    equal where they answer one question, by one store key; one without a key equals itself alone.
    What it draws and tabulates of itself is in its kind's folder, `views` and `export`.

    Args:
        key: the store key.
        request: what was asked.
        identity: who the model is (alias and hash, commit, ...), JSON-able.
        tokens: token texts.
        token_ids: token ids.
        width: d, width of the residual stream.
        provenance: library versions, device, seconds, ...; never part of the key.
    """

    _elsewhere: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("chance", "corrected", "coupling", "mean", "scores"),
        "scores are of pairs of blocks, as measure(prompt) compares them, or of tokens, "
        "measure(prompt, kind='self'); to_pandas() has the numbers of this one",
    )
    finite: ClassVar[tuple[str, ...]] = ()
    """Arrays whose every number is finite."""
    infinite: ClassVar[tuple[str, ...]] = ()
    """Arrays that may hold infinity; of all others, a number is at worst NaN."""
    _asked_k: ClassVar[int | None] = None
    _origin: ClassVar["Origin | None"] = None

    key: str
    request: Request
    identity: Mapping[str, Any]
    tokens: tuple[str, ...]
    token_ids: Int[np.ndarray, " token"]
    width: int
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    @abstractmethod
    def sizes_of(cls, fields: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]) -> Sizes:
        """How large a result is, from its fields that are no arrays and the shapes of its arrays.

        Both are in a file's header, so that a list of results reads no arrays.
        """

    @property
    @abstractmethod
    def complete(self) -> bool:
        """Whether nothing is left to be measured."""

    @property
    @abstractmethod
    def measured(self) -> str:
        """What of the prompt was measured, as a phrase that follows the model's name."""

    @classmethod
    def typed(cls, header: dict[str, Any]) -> dict[str, Any]:
        """Give the lists and mappings of a JSON header their types back."""
        return header | {"tokens": tuple(header["tokens"])}

    @classmethod
    def each_certificate(cls, fields: Mapping[str, Any]) -> Iterator[Certificate]:
        """The certificates among the fields of a header; none where nothing is decomposed."""
        yield from ()

    @property
    def named_axes(self) -> Mapping[str, tuple[str, ...]]:
        """The names along those axes of its arrays that have some."""
        return {}

    @property
    def is_doubtful(self) -> bool:
        """Whether a number of it is known today to be unreliable; it is then measured again."""
        return False

    def consistency(self) -> Mapping[str, bool]:
        """Contradictions that a forged file could have, and whether this result is free of each.

        Returns:
            by a sentence that names the contradiction, True where the result does not have it.
        """
        return {}

    @property
    def sizes(self) -> Sizes:
        """How large it is."""
        arrays = {n: value for n, value in vars(self).items() if isinstance(value, np.ndarray)}
        return self.sizes_of(vars(self), {name: value.shape for name, value in arrays.items()})

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
        """What to call the model, with the seed of an untrained twin."""
        return named(str(self.identity.get("name", self.request.model)), self.request.untrained)

    @property
    def prompt_text(self) -> str:
        """The prompt as it was given; its tokens' texts where it came as token ids.

        An image in words.
        """
        asked = self.request
        unread = self.tokens == tuple(f"#{i}" for i in self.token_ids.tolist())
        is_told = isinstance(asked.prompt, str) or unread
        return asked.prompt_words if is_told else "".join(self.tokens)

    @property
    def final_norm_words(self) -> str:
        """Whether a final norm belongs to the last block, or that this model has none."""
        return norm_words(self.request, has_norm=bool(self.provenance.get("final_norm", True)))

    @property
    def precision(self) -> str:
        """What the weights are held in and what is computed in; "" where nothing says it."""
        return precision_words(self.request, self.provenance)

    @property
    def ends_in_norm(self) -> bool:
        """Whether the last block has a final norm in it."""
        return self.final_norm_words == NORM_INCLUDED

    def token_words(self, token: int) -> str:
        """Which token (1..n) that is: its number, and its text."""
        return f"{token} of {len(self.tokens)}, {self.tokens[token - 1]!r}"

    def token_told(self, token: int) -> str:
        """The same in the short form of a repr."""
        return f"token {token} of {len(self.tokens)} {self.tokens[token - 1]!r}"

    @property
    def dims(self) -> Mapping[str, tuple[str, ...]]:
        """The names of the dimensions of its arrays, by the arrays' names."""
        return {
            item.name: tuple(item.type.dim_str.split())
            for item in fields(self)
            if isinstance(item.type, type) and issubclass(item.type, AbstractArray)
        }

    def part(self, name: str) -> Any:
        """A module of its kind's folder, which is imported only now."""
        return kind_of(self.request.kind).part(name)

    @property
    def default_k(self) -> int:
        """The K at which it is looked at where nobody says another; 0 where it has none.

        What `measure` was asked for; of a result that was loaded, `usual_k`.
        """
        return self._asked_k or self.usual_k

    @property
    def usual_k(self) -> int:
        """50, or as many triplets as are stored."""
        return min(DEFAULT_K, self.k_max)

    def default_view(self) -> AnyView:
        """How it is looked at where nobody says: at its default K."""
        kind = kind_of(self.request.kind)
        return kind.view(k=self.default_k) if kind.has_k else kind.view()

    def to_pandas(self) -> "DataFrame":
        """What it says in its default view, as a table; `scores(k=...)` has one at another K.

        A row is a pair of blocks (depth) or of tokens, a token (trajectory), an edit (what-if), a
        block (spectrum), a way, size and state (perturbation) or a readout (directions);
        docs/outputs.md has the columns of each. Its `attrs` say whose it is, and a Parquet file
        keeps them.
        """
        table: DataFrame = self._exports.frame(self, self.default_view())
        return table

    def to_xarray(self) -> "xarray.Dataset":
        """What it says in its default view, with the names of the dimensions.

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

    def plot(self, figure: FigureName = "", **options: Any) -> Drawing:
        """A figure of it in its default view.

        The figures of each kind, the main one of its page first, with their options:

            depth
                scores (corrected, auto_range, selected, limit), mosaic (magnitude, auto_range),
                spectrum (selected), k (corrected), scaling (inverse), inverse-scaling (inverse),
                graph (corrected, threshold, layout, color, auto_range, selected),
                locality (corrected)
            self, fixed-input, fixed-output
                grid (rows, columns, corrected, auto_range, selected), distance (corrected), and of
                one pair of blocks mosaic (rows, columns, magnitude, auto_range, selected) and
                spectrum (selected)
            trajectory
                paths (token, dimensions, twin), paths-3d (token, dimensions, twin),
                line-shape (token, twin), line-shape-by-depth (token, twin), norms (token, twin),
                growth (token, twin), expodistance (token, twin), steps (token, twin),
                equidistance (token, twin), entropy (token, twin), linearised (token)
            what-if
                interchange (selected), replace (selected), blocks
            spectrum
                eigenvalues (block), maps (twin), products (twin)
            perturbation
                cosine (twin), depth (twin), radius (twin)
            directions
                readouts (twin)

        Args:
            figure: its name, as `--figure` of the command has it; "" is the main one of its page.
            options: those of the figure by name, such as `threshold=0.1, layout="circle"`. What
                they mean is told by the functions that draw, such as
                `help(coupling_core.figures.graph)`; `twin` is the result of an untrained twin.

        Raises:
            InputError: on a name that no figure of its kind has, or no option of the figure; the
                message lists them.
        """
        if options.get("twin") is not None:
            self._require_twin(options["twin"])
        named = (figure,) if figure else ()
        return self.part("views").plot(self, self.default_view(), *named, **options)

    def _require_twin(self, twin: object) -> None:
        """Refuse what cannot be drawn beside it.

        Raises:
            InputError: on no result of its kind, and on one of other tokens or blocks.
        """
        kind = self.request.kind
        if not isinstance(twin, type(self)) or twin.request.kind != kind:
            raise InputError(
                f"twin is the {kind} result of another model with the same prompt, such as "
                f"measure(prompt, kind={kind!r}, untrained=0), and {twin!r} came"
            )
        for name, of, beside in (
            ("tokens", self.tokens, twin.tokens),
            ("blocks", self.n_blocks, twin.n_blocks),
            ("token", getattr(self, "token", None), getattr(twin, "token", None)),
        ):
            if of != beside:
                also = "; compare(a, b) takes another prompt's" * (kind == "trajectory")
                at = " at the same token" * hasattr(self, "token")
                raise InputError(
                    f"twin has other {name}, {shorten(str(beside), SHOWN)} and not "
                    f"{shorten(str(of), SHOWN)}: measure the same prompt{at}, with "
                    f"untrained=0{also}"
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
        """What it comes to in its default view, in a sentence or two."""
        return self.part("views").verdict(self, self.default_view())

    @property
    def certificate_words(self) -> str:
        """Whether every SVD was certified, and if not, how many were and why not."""
        return certified_words(self.svds)

    def attributes(self) -> dict[str, str | float]:
        """Whose it is and how far it was checked, for tables and arrays that leave the program."""
        return {
            "model": self.model_name,
            "prompt": self.prompt_text,
            "measured": self.measured,
            "final_norm": self.final_norm_words,
            "precision": self.precision,
            "certificate": self.certificate_words,
            "key": self.key,
        }

    def __dir__(self) -> list[str]:
        hidden = _WITHIN if self.k_max else _WITHIN | _OF_K
        return sorted({*super().__dir__()} - hidden)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Result) or not self.key:
            return self is other
        return type(self) is type(other) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key) if self.key else id(self)

    def __repr__(self) -> str:
        told = [self.whose, counted(self.n_blocks, "block"), *self.what_short]
        at = f" ({self.default_k} by default)" * (self.default_k != self.usual_k)
        told += [f"K <= {self.k_max}{at}"] if self.k_max else []
        if not self.complete:
            told.append("not complete")
        if self.svds:
            told.append("certified" if self.certified else "not all certified")
        return in_a_line(self, *told)

    @property
    def whose(self) -> str:
        """Its model and the beginning of its prompt, in a line."""
        return ", ".join([self.model_name, *self.unlike_usual, repr(short_prompt(self))])

    @property
    def what_short(self) -> tuple[str, ...]:
        """What of the prompt was measured, in the short form."""
        return (self.measured,)

    @property
    def unlike_usual(self) -> tuple[str, ...]:
        """How the model was had, where that is not as usual: precision, stack, final norm."""
        asked = self.request
        told = [self.precision] if self.precision not in ("", "float32") else []
        told += [f"the {asked.stack}"] if asked.stack else []
        return (*told, *(["final norm excluded"] if asked.final_norm == "exclude" else []))


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
    text = " ".join(of.prompt_text.split())
    return text if len(text) <= most else f"{text[: most - 1]}…"


AnyResult = TypeVar("AnyResult", bound=Result)


class Origin:
    """The module of somebody's own that a result was measured of, as long as it lives.

    Args:
        module: as it was handed over.
        tokenizer: that came with it; None where none did.
    """

    def __init__(self, module: Any, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        try:
            self._module: Callable[[], Any] = ref(module)
        except TypeError:  # of some class that nothing may refer to so; it is then handed over
            self._module = lambda: None

    @property
    def module(self) -> Any:
        """The module; None where it is gone."""
        return self._module()

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        return type(None), ()  # a copy in another process knows none


def origin_of(result: Result) -> Origin | None:
    """What a result was measured of, where that was a module, in this process."""
    return result._origin


def seen_at(result: AnyResult, k: int | None, origin: Origin | None = None) -> AnyResult:
    """The same result, with what only this process knows of it; no file says it.

    Args:
        result: the result.
        k: at which it is looked at where nobody says another; None changes nothing. To whoever
            asked for another, the same numbers are stored.
        origin: the module that was measured.
    """
    known: dict[str, Any] = {"_asked_k": k} if k is not None and k <= result.k_max else {}
    known |= {"_origin": origin} if origin else {}
    if not known:
        return result
    found = copy(result)
    for name, value in known.items():
        object.__setattr__(found, name, value)
    return found


def require_result(result: object, wanted: type | tuple[type, ...], *kinds: str) -> None:
    """Refuse anything but a result of one kind, in words: annotations are not checked at run time.

    Args:
        result: what somebody handed over.
        wanted: the class that is needed, or those of which one is.
        kinds: what `measure` calls them.

    Raises:
        InputError: says what came.
    """
    if isinstance(result, wanted):
        return
    came = a_type(result)
    if isinstance(result, Result):
        came = f"a result of kind {result.request.kind!r}"
    elif isinstance(result, Told):
        came += ", which is made of a result,"
    raise InputError(
        f"{came} came where one of kind {' or '.join(map(repr, kinds))} is needed: "
        f"measure(..., kind={kinds[0]!r})"
    )


def precision_words(request: Request, provenance: Mapping[str, Any]) -> str:
    """What weights are held in and what is computed in; "" where that was not recorded."""
    arithmetic = provenance.get("dtype", "")
    weights = f"in {provenance.get('weights', arithmetic)}"
    weights = f"quantised to {request.quantize}" if request.quantize else weights
    if weights == f"in {arithmetic}":
        return str(arithmetic)
    return f"weights {weights}, arithmetic in {arithmetic}"


NORM_INCLUDED = "final norm included"
"""What is said where the last block has a final norm in it."""


def norm_words(request: Request, *, has_norm: bool) -> str:
    """Whether a final norm belongs to the last block, or that the model has none."""
    return f"final norm {request.final_norm}d" if has_norm else "no final norm"


def named(model: str, seed: int | None) -> str:
    """What to call a model, with the seed of an untrained twin."""
    return model if seed is None else f"{model}, untrained (seed {seed})"


def usual_k_of(rank: Int[np.ndarray, "..."], k_max: int) -> int:
    """The K of a result where nobody says one: 50, and of smaller ranks what most of them allow.

    No score exists past a rank. A layer norm takes one from the rank that the width allows, and
    between different tokens few key-value heads leave less.

    Args:
        rank: numerical rank of each Jacobian, at most Kmax; 0 where there is none.
        k_max: how many triplets are stored; less than 50 only where the model is no wider.
    """
    known = rank[rank > 0]
    most = int(np.quantile(known, 0.5, method="lower")) if known.size else k_max
    return min(DEFAULT_K, k_max, most)


def within(values: np.ndarray, least: int, most: int) -> bool:
    """Whether all of them lie in least..most."""
    return bool(((values >= least) & (values <= most)).all())
