"""The frozen records of what is asked for and how it is looked at.

Axis names are the same everywhere: `role` (A, B), `block` (1..L, in the order of the model),
`state` (0..L), `token` (1..n), `position` (a token of a comparison), `d` (width of the residual
stream), `k` (singular triplets, largest first). Blocks and tokens are numbered from 1 for people;
arrays are indexed from 0.
"""

import operator
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import wraps
from typing import Annotated, Any, Literal, TypeVar, dataclass_transform, get_args

import pydantic.dataclasses
from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationError,
)

from coupling_core.base.choosing import require_one_of
from coupling_core.base.definitions import DEFINITIONS, DefinitionName
from coupling_core.base.errors import InputError, PromptError, problems, refuse
from coupling_core.base.images import is_image, shown
from coupling_core.base.kinds import kind_of, kinds
from coupling_core.base.token_ids import token_ids

SCHEMA = 1
"""Version of the stored form. Every change that moves a number raises it."""

DEFAULT_MODEL = "smollm2-135m"
OWN = "module:"
"""Begins what the request of a stored result says in place of a model's name where a module of
somebody's own was measured; its class follows."""

DEFAULT_K = 50
TOKEN_K_VIEW = 16
"""Side of the corner kept between tokens, of which a prompt may have more than there are blocks."""

OF_SHARES = "k_share"
"""The column of a table that says which share of a width a K was asked for as."""
OF_GRAPHS = ("weighed_by", "threshold")
"""Columns that say how graphs were drawn whose edges are counted."""
KEPT_DIRECTIONS = 32
"""Directions of each side that are kept of a block, or d where that is less."""
OVER_TOKENS = "over_tokens"
"""The column that says over which tokens effects are averaged, where not over all."""
OF_BLOCKS = "blocks"
"""The column of a table that says over which blocks its scores are taken, where not over all."""
ALL_BLOCKS = "all"
"""What blocks are called that a table does not name."""
HOW = ("definition", "role", "token", "final_norm", OF_BLOCKS)
"""Columns that say how a score came about, of tables of more than one measurement."""

DEFAULT_THRESHOLD = 0.1
"""Edges of a layer graph below this are left out. In units of the chance-corrected score it is ten
times what any pair of an untrained SmolLM2 reaches, and few enough pairs of a trained model pass it
for each of them to be seen."""

Role = Literal["A", "B"]
Level = Literal["frames", "rotations"]
FinalNorm = Literal["include", "exclude"]
Dtype = Literal["float32", "bfloat16", "float16"]
Quantisation = Literal["nf4", "int8"]
Stack = Literal["encoder", "decoder"]
TokenKind = Literal["self", "fixed-input", "fixed-output"]
Kind = Literal[
    "depth",
    "self",
    "fixed-input",
    "fixed-output",
    "trajectory",
    "what-if",
    "spectrum",
    "perturbation",
    "directions",
]
Fit = Literal["last", "all"]
Part = Literal["all", "shallower", "deeper"]
Layout = Literal["line", "circle", "spring"]
NodeColor = Literal["community", "depth"]
Measure = Literal["corrected", "coupling", "alignment", "paired", "overlap"]
Goal = Literal["raise", "lower"] | float
Performance = Literal["loss", "score"]
VisionKind = Literal["depth", "self"]
Method = Literal["pearson", "spearman"]
ModelSize = Literal["parameters", "layers", "width", "training_tokens"]
PromptNumber = Literal["tokens", "difficulty"]
ModelSubset = Literal["all", "7b", "above-45", "trained", "last", "tokens-known"]
ROLES: tuple[Role, ...] = get_args(Role)
LEVEL_WORDS: dict[Level, str] = {
    "frames": "against random bases",
    "rotations": "against rotated bases",
}
PAIRED: dict[str, Any] = {"definition": "paper", "p": 1.0, "level": "rotations"}
"""The view in which a chance-corrected score is the paired score; it is the same at every p."""
FINAL_NORMS: tuple[FinalNorm, ...] = get_args(FinalNorm)
DTYPES: tuple[Dtype, ...] = get_args(Dtype)
STACKS: tuple[Stack, ...] = get_args(Stack)
TOKEN_KINDS: tuple[TokenKind, ...] = get_args(TokenKind)
MEASURES: tuple[Measure, ...] = get_args(Measure)
PERFORMANCES: tuple[Performance, ...] = get_args(Performance)
METHODS: tuple[Method, ...] = get_args(Method)
MODEL_SIZES: tuple[ModelSize, ...] = get_args(ModelSize)
PROMPT_NUMBERS: tuple[PromptNumber, ...] = get_args(PromptNumber)


class KBeyondWidth(InputError):
    """A K above the width d of a model, which was not known before."""

    def __init__(self, k: int, width: int) -> None:
        super().__init__(f"K must lie in 1..{width} (the model's width), and {k} came")
        self.width = width


def _whole(value: Any) -> int:
    """A whole number of any library as Python's own: neither True nor 8.0."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ValueError("expected a whole number")
    return operator.index(value)


def _counted(number: int) -> int:
    if number == 0:
        raise ValueError("numbers are counted from 1, and -1 is the last")
    return number


def _prompt(given: Any) -> str | tuple[int, ...]:
    prompt: str | tuple[int, ...] = given if isinstance(given, str) else token_ids(given)
    if not prompt or (isinstance(prompt, str) and not prompt.strip()):
        raise InputError("the prompt is empty: give a text of at least one token")
    return _text(prompt) if isinstance(prompt, str) else prompt


def _model(given: Any) -> str:
    name = os.fspath(given)
    if not name.strip():
        raise ValueError("it is empty: give an alias, a hub id, a folder or a .gguf file")
    return _text(name)


def _apart(numbers: tuple[int, ...]) -> tuple[int, ...]:
    if len(set(numbers)) < len(numbers):
        raise ValueError("a number is named twice: name it once")
    return numbers


def _text(text: str) -> str:
    text.encode()  # a ValueError where bytes of a command line are no UTF-8
    return text


Whole = Annotated[int, BeforeValidator(_whole)]
Ordinal = Annotated[Whole, AfterValidator(_counted)]
"""Of a block or a token, from 1, or from the end (-1 is the last)."""
Count = Annotated[Whole, Field(ge=1)]
Ordinals = Annotated[tuple[Ordinal, ...], Field(min_length=1), AfterValidator(_apart)]
"""From a tuple, a list, a range or an array."""

R = TypeVar("R")
_CONFIG = ConfigDict(extra="forbid")


@dataclass_transform(frozen_default=True)
def record(described: type[R]) -> type[R]:
    """A frozen dataclass that pydantic checks; a value it refuses is an `InputError`."""
    made: Any = pydantic.dataclasses.dataclass(frozen=True, config=_CONFIG)(described)
    make, names = made.__init__, [field.name for field in fields(made)]

    @wraps(make)
    def checked(self: R, *args: Any, **named: Any) -> None:
        try:
            make(self, *args, **named)
        except ValidationError as error:
            raise InputError(problems(error, names)) from error

    made.__init__ = checked
    return made


@record
class Request:
    """What determines a result.

    Of the kinds, `depth` compares the blocks at one token; `self`, `fixed-input` and `fixed-output`
    the tokens, J^l_tt with J^l'_t't', J_{t1 t2} with J_{t1 t2'}, and J_{t1 t2} with J_{t1' t2}.
    `trajectory` follows every token, and `what-if` edits the depth. At one token, `spectrum` has
    the eigenvalues of every block's linear map, `perturbation` adds noise to the embedding, and
    `directions` reads the leading singular vectors.

    Args:
        prompt: the text, or the token ids themselves, in a list, a tuple, or an array or tensor of
            shape (token) or (1 token), or an image as a data URI (see
            `coupling_core.base.images`).
        model: an alias, a hub id, a folder with config and safetensors, or a .gguf file; a path
            too.
        token: the token measured, or the one that is fixed, 1..n or counted from the end (-1 is
            the last). `self` and `trajectory` take all tokens.
        k: how many singular triplets are wanted, 1..d. At least `DEFAULT_K` are measured, or d
            where that is less, as where it is None.
        k_view: side of the stored corner of each coupling matrix; None takes what a stored result
            has, and 32 where one is computed (16 between tokens), or d where that is less.
        final_norm: whether the model's final norm belongs to its last block (paper, Eq. 7).
        revision: branch, tag or commit of a hub model.
        untrained: seed of a randomly initialised model of the same shape; None is the trained one.
        dtype: precision to which the weights are rounded, by its name or as torch has it; the
            arithmetic is float32 in any case.
        quantize: bitsandbytes' form of the blocks' weights, measured as what they dequantise to;
            None leaves them as they are.
        stack: which of the two stacks of an encoder-decoder model; None is the decoder there, and
            the only stack of any other model.
        kind: what is measured.
        block: l, between tokens: the block of the Jacobian, 1..L or counted from the end; None is
            the mean over all pairs of blocks.
        other_block: l', the block of the basis; None is l itself.

    Raises:
        InputError: on values that no model could satisfy.
    """

    prompt: Annotated[str | tuple[int, ...], PlainValidator(_prompt)]
    model: Annotated[str, BeforeValidator(_model)] = DEFAULT_MODEL
    token: Ordinal = -1
    k: Count | None = None
    k_view: Count | None = None
    final_norm: FinalNorm = "include"
    revision: Annotated[str, AfterValidator(_text)] | None = None
    untrained: Annotated[Whole, Field(ge=0, lt=2**63)] | None = None
    dtype: Annotated[Dtype, BeforeValidator(lambda dtype: str(dtype).removeprefix("torch."))] = (
        "float32"
    )
    quantize: Quantisation | None = None
    stack: Stack | None = None
    kind: str = "depth"
    block: Ordinal | None = None
    other_block: Ordinal | None = None

    def __post_init__(self) -> None:
        kind = kind_of(self.kind)
        others = ", ".join(name for name, one in kinds().items() if one.means)
        refuse(
            (
                not kind.token and self.token != Request.token,
                f"{self.kind!r} takes all tokens of the prompt: leave out token {self.token}, or "
                "choose a kind that has one",
            ),
            (
                not kind.has_k and (self.k not in (None, DEFAULT_K) or self.k_view is not None),
                f"{self.kind!r} is measured without K: leave out K and k-view",
            ),
            (
                kind.means is None and (self.block, self.other_block) != (None, None),
                f"{self.kind!r} is measured at every block: one is chosen only in {others}",
            ),
            (
                self.block is None and self.other_block is not None,
                f"other block {self.other_block} needs a block to be compared with: give both, or "
                "neither for the mean over all pairs",
            ),
            (
                self.k_view is not None and self.k_view > self.k_max,
                f"k-view must lie in 1..{self.k_max} (the measured K), and {self.k_view} came",
            ),
            (
                self.quantize and self.untrained is not None,
                "an untrained model cannot be quantised, as its weights exist in float32 only: "
                "leave out one of the two",
            ),
        )
        if not kind.has_k:  # as stored ones say
            object.__setattr__(self, "k", DEFAULT_K)
        if self.other_block is None:  # one request, one key
            object.__setattr__(self, "other_block", self.block)

    @property
    def prompt_words(self) -> str:
        """The prompt for people: a text as it is, token ids by number, an image by its size."""
        if not isinstance(self.prompt, str):
            return " ".join(f"#{i}" for i in self.prompt)
        return shown(self.prompt)

    @property
    def kind_words(self) -> str:
        """What is compared, with the blocks that are."""
        if self.is_mean:
            return f"{self.kind}, all pairs of blocks"
        if self.block is None:
            return self.kind
        return f"{self.kind}, blocks {self.block} and {self.other_block}"

    def of_kind(self, kind: str) -> "Request":
        """The same of another kind, without what that has no use for; K is the kind's own."""
        has, gets = kind_of(self.kind), kind_of(kind)
        left: dict[str, Any] = {} if gets.token else {"token": Request.token}
        left |= {} if has.has_k and gets.has_k else {"k": None, "k_view": None}
        left |= {} if gets.means else {"block": None, "other_block": None}
        return replace(self, kind=kind, **left)

    @property
    def is_mean(self) -> bool:
        """Whether it is the mean over all pairs of blocks, of a kind that could be of one pair."""
        return self.block is None and kind_of(self.kind).means is not None

    @property
    def sort(self) -> str:
        """Name of the measurements that cost alike."""
        return f"{self.kind} means" if self.is_mean else self.kind

    @property
    def k_max(self) -> int:
        """Triplets to measure: every smaller K is then a slice of the stored result."""
        return max(DEFAULT_K, self.k or DEFAULT_K)

    @property
    def corner(self) -> int:
        """Side of the leading corner of each coupling matrix to keep."""
        return self.k_view or min(self.k_max, kind_of(self.kind).k_view)

    def k_of(self, width: int) -> int:
        """How many triplets are wanted of a model of width d.

        Raises:
            InputError: where K exceeds it.
        """
        k = min(DEFAULT_K, width) if self.k is None else self.k
        if k > width:
            raise KBeyondWidth(k, width)
        return k


def usual_token(kind: str, prompt: object) -> int:
    """The token where nobody says one: the last, but the first of an image, its class token.

    Of `fixed-input` it is the first too: the last reaches no other.
    """
    of_class = kind_of(kind).token == "measured" and is_image(prompt)
    return 1 if of_class or kind == "fixed-input" else Request.token


@dataclass(frozen=True)
class AnyView:
    """How a stored result is looked at; each kind has its own, or this if nothing can be chosen."""


@record
class View(AnyView):
    """How scores are looked at.

    Args:
        k: number of leading triplets, 1..Kmax of the result.
        definition: which score (see `coupling_core.base.definitions`).
        p: order of the norm, where the definition takes one.
        role: "A" for U^T J V, "B" for V^T J U.
        blocks: block numbers shown, in order, 1..L or counted from the end (-1 is the last); None
            shows all. Only depth-wise results have a range of blocks.
        level: the chance level: "frames" are random bases; "rotations" turn both bases within their
            subspaces, so that only a score of paired vectors is above it. `overlap` has the first.

    Raises:
        InputError: on a value outside these ranges.
    """

    k: Count = DEFAULT_K
    definition: DefinitionName = "paper"
    p: Annotated[float, Field(ge=1, allow_inf_nan=False)] = 1.0
    role: Role = "A"
    blocks: Ordinals | None = None
    level: Level = "frames"

    def __post_init__(self) -> None:
        require_one_of("definition", self.definition, DEFINITIONS)
        if DEFINITIONS[self.definition].rotated is None:
            object.__setattr__(self, "level", "frames")

    @property
    def how(self) -> dict[str, str | float]:
        """Which score it is, at whatever K."""
        return {name: getattr(self, name) for name in ("definition", "p", "role", "level")}

    @property
    def is_sampled(self) -> bool:
        """Whether its chance level is a mean over random bases."""
        return self.level == "frames" and DEFINITIONS[self.definition].floor is None

    def attributes(self) -> dict[str, str | float]:
        """How it is looked at, for tables and arrays; p where the definition takes one."""
        how = self.how
        if not DEFINITIONS[self.definition].takes_p:
            del how["p"]
        return {"K": self.k, **how}

    @property
    def k_told(self) -> str:
        """Its K, and what else is not as usual."""
        return f"K = {self.k}{self.unlike_usual}"

    @property
    def at_k(self) -> str:
        """The same as a phrase that follows what is meant."""
        return f" at {self.k_told}"

    @property
    def unlike_usual(self) -> str:
        """What of the score is not as usual, in brackets: definition, order, role and level."""
        told: list[str] = [self.definition] if self.definition != "paper" else []
        if DEFINITIONS[self.definition].takes_p and self.p != 1:
            told.append(f"p = {self.p:g}")
        told += [f"role {self.role}"] if self.role != "A" else []
        told += [LEVEL_WORDS[self.level]] if self.level != "frames" else []
        return f" ({', '.join(told)})" if told else ""


AView = TypeVar("AView", bound=AnyView)


def view_by(wanted: type[AView], view: AView | None, **said: Any) -> AView:
    """A view as it came, or made of the fields that were said by name; None is not said."""
    given = {name: value for name, value in said.items() if value is not None}
    if view is None:
        return wanted(**given)
    if given:
        first = "{}={!r}".format(*next(iter(given.items())))
        raise InputError(f"{first} came beside a view, which has its own: leave out one")
    return view


def require_order(definition: DefinitionName) -> None:
    """Refuse an order p beside a definition which has none."""
    if not DEFINITIONS[definition].takes_p:
        raise InputError(
            f"p is the order of the norm of the paper's score, and {definition!r} has none: leave "
            "it out"
        )


def viewed(view: View | None, default_k: int, **said: Any) -> View:
    """How scores are looked at, by a view, by its fields, or at the default K."""
    seen = view_by(View, view, **said)
    if said.get("p") is not None:
        require_order(seen.definition)
    return seen if view is not None or said.get("k") is not None else replace(seen, k=default_k)


@record
class PathView(AnyView):
    """How the paths of a trajectory are looked at in principal components.

    Args:
        fit: "last" fits the components to the last state that is looked at, as the preprint does;
            "all" to all of them.
        part: all blocks, or the shallower or deeper half of them: blocks 1 to L // 2, or those
            after them.
        first: whether the first token belongs, which often lies far from all others; a token that
            is alone always does.

    Raises:
        InputError: on another value.
    """

    fit: Fit = "last"
    part: Part = "all"
    first: bool = False

    def leaves_out_first(self, n: int) -> bool:
        """Whether the first of n tokens is left out."""
        return not self.first and n > 1


@record
class EffectView(AnyView):
    """Over which tokens the effects of edits are averaged.

    Args:
        tokens: their numbers, 1..n or counted from the end (-1 is the last); None takes all.

    Raises:
        InputError: on token 0, one that is named twice, or none at all.
    """

    tokens: Ordinals | None = None


@record
class DirectionsView(AnyView):
    """Which directions are looked at.

    Args:
        blocks: block numbers, 1..L or counted from the end (-1 is the last); None shows all.
        leading: how many of the leading directions of each block; None shows all that are kept.

    Raises:
        InputError: on no block, or no direction, or more than are kept.
    """

    blocks: Ordinals | None = None
    leading: Annotated[Whole, Field(ge=1, le=KEPT_DIRECTIONS)] | None = None


@dataclass(frozen=True)
class Certificate:
    """How far one block's truncated SVD was checked, in float64 from the Jacobian itself.

    Args:
        certified: whether every test passed.
        method: "arpack", "chebyshev" or "gram"; earlier versions also had "krylov" and "full".
        orthonormality: max(norm_F(U^T U - I), norm_F(V^T V - I)).
        residual: max over k of norm(J v - u s) and norm(J^T u - v s), in units of s_1.
        reason: which test failed, with its figure; empty when certified.
    """

    certified: bool
    method: str
    orthonormality: float
    residual: float
    reason: str = ""


def parse_blocks(text: str | None, n_blocks: int) -> tuple[int, ...]:
    """Read a block range: `1-30`, `3,7`, `1-30:2`, `-1` (the last), `5--2`, or a mix.

    None, an empty text or `all` is every block. Ranges may overlap: each block comes once,
    ascending.

    Args:
        text: as it was typed.
        n_blocks: L.

    Raises:
        InputError: on another form, a number outside 1..L, or fewer than one block.
    """
    if text is None or text.strip() in ("", ALL_BLOCKS):
        return resolve_blocks(None, n_blocks)
    chosen: set[int] = set()
    for part in text.split(","):
        form = re.fullmatch(r"(-?\d+)(?:\s*-\s*(-?\d+)(?:\s*:\s*0*([1-9]\d*))?)?", part.strip())
        ends = (form[1], form[2] or form[1]) if form else ()
        first, last = [resolve_block(int(end), n_blocks) for end in ends] or (1, 0)
        if first > last or form is None:
            raise InputError(
                f"blocks {text!r} cannot be read: expected a form such as 1-{n_blocks}, "
                f"3,7 or 1-{n_blocks}:2, counted upwards"
            )
        chosen.update(range(first, last + 1, int(form[3] or 1)))
    return tuple(sorted(chosen))


def _resolved(what: str, number: int, whose: str, n: int, refusal: type[InputError]) -> int:
    """A number, perhaps counted from the end, as 1..n."""
    number = operator.index(number)
    found = number + n + 1 if number < 0 else number
    if not 1 <= found <= n:
        raise refusal(
            f"{what} {number} is out of range: this {whose} has {what}s 1..{n} (-1 is the last)"
        )
    return found


def resolve_block(block: int, n_blocks: int) -> int:
    """A block number, perhaps counted from the end, as 1..L; raises `InputError` beyond them."""
    return _resolved("block", block, "model", n_blocks, InputError)


def resolve_blocks(blocks: Sequence[int] | None, n_blocks: int) -> tuple[int, ...]:
    """The blocks of a view as 1..L, in its order, each once; None is every block."""
    if blocks is None:
        return tuple(range(1, n_blocks + 1))
    resolved = tuple(resolve_block(block, n_blocks) for block in blocks)
    for block in resolved:
        if resolved.count(block) > 1:
            raise InputError(f"block {block} is named twice among the blocks shown: name it once")
    return resolved


def resolve_token(token: int, n: int) -> int:
    """A token number, perhaps counted from the end, as 1..n; raises `PromptError` beyond them."""
    return _resolved("token", token, "prompt", n, PromptError)
