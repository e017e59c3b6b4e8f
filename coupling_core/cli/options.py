"""Options that commands share: each stands once, with its type, its help and its default.

A command takes a record of them as a parameter, whose fields `commands` makes parameters of the
command line. So one more field of `Measuring` is one more option of every command that measures.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar

import typer

from coupling_core.base.definitions import DEFINITIONS, DefinitionName
from coupling_core.base.errors import InputError
from coupling_core.base.images import read_image
from coupling_core.base.records import (
    DEFAULT_K,
    DEFAULT_MODEL,
    Dtype,
    FinalNorm,
    Level,
    Quantisation,
    Request,
    Role,
    Stack,
    View,
    parse_blocks,
    require_order,
    usual_token,
)
from coupling_core.base.results import Result
from coupling_core.cli import completing, files
from coupling_core.cli.terminal import print_facts, print_json, warn
from coupling_core.sources.prompts import TEXTS, Prompt, read_file
from coupling_core.store.archive import SUFFIX
from coupling_core.store.disk import Store
from coupling_core.store.result_file import load

T = TypeVar("T", int, float)

if TYPE_CHECKING:
    _Definition = DefinitionName
else:  # what is offered, and taken
    _Definition = Literal[tuple(DEFINITIONS)]


# ---- options alone


def k_option(default: str) -> Any:
    """The option --k, with what it is where it is not given."""
    return typer.Option("--k", help="Singular triplets counted.", show_default=default)


def k_view_option(default: int) -> Any:
    """The option --k-view of a kind that keeps so large corners."""
    return typer.Option("--k-view", help="Side of the stored matrices.", show_default=str(default))


K = Annotated[int | None, k_option(f"{DEFAULT_K}, or as many as there are")]


Definition = Annotated[_Definition, typer.Option("--definition", help="Which score.")]
Norm = Annotated[
    FinalNorm,
    typer.Option("--final-norm", help="Count the final norm as part of the last block, or not."),
]
Token = Annotated[
    int | None,
    typer.Option(help="Token measured, 1..n; the last by default, of an image the class token."),
]
Blocks = Annotated[
    str | None,
    typer.Option(help="Blocks looked at: 1-30, 3,7, 1-30:2, or -1 for the last; all by default."),
]
Revision = Annotated[str | None, typer.Option(help="Branch, tag or commit on the hub.")]
Rounded = Annotated[
    Dtype, typer.Option(help="What the weights are rounded to; the arithmetic is float32.")
]
Device = Annotated[str | None, typer.Option(help="Where to compute, such as cpu or cuda:0.")]
Threads = Annotated[
    int | None,
    typer.Option(min=1, help="CPU threads of each run; another number may change the last digits."),
]
Workers = Annotated[
    int | None, typer.Option(min=1, help="How many at a time; one per device by default.")
]
StoreFolder = Annotated[
    Path | None, typer.Option("--store", metavar="DIR", help="Folder of the stored results.")
]


# ---- records of options


@dataclass(frozen=True)
class Prompts:
    """What is measured: one text or image, or many of either."""

    prompt: Annotated[str | None, typer.Option(help="The text to measure.")] = None
    image: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="An image instead of a text, for a vision model."),
    ] = None
    many: Annotated[
        Path | None,
        typer.Option(
            "--prompts",
            metavar="FILE",
            help="One prompt a line (-: standard input), or .jsonl or .csv with a field 'prompt', "
            "or a folder of images.",
        ),
    ] = None

    def __post_init__(self) -> None:
        given = sum(source is not None for source in (self.prompt, self.image, self.many))
        if given != 1:
            got = "several" if given else "none"
            raise InputError(f"expected one of --prompt, --image and --prompts, got {got}")

    def one(self) -> str:
        """The one text, or the one image as a data URI."""
        if self.image is not None:
            return read_image(self.image)
        text = str(self.prompt)
        if text.lower().endswith(TEXTS) and Path(text).is_file():
            reads = f"--prompts {text} reads its prompts"
            warn(f"{text} is a file here, and its name is measured: {reads}")
        return text

    def listed(self) -> list[Prompt]:
        """The prompts of the file, or the one."""
        return [Prompt(self.one(), "text", 1)] if self.many is None else read_file(self.many)


@dataclass(frozen=True)
class Model:
    """Which weights, as a `Request` has them."""

    model: Annotated[
        str,
        typer.Option(
            help="An alias, a hub id, a folder, or a .gguf file.", autocompletion=completing.models
        ),
    ] = DEFAULT_MODEL
    revision: Revision = None
    untrained: Annotated[
        int | None,
        typer.Option(metavar="SEED", help="Measure the untrained model, initialised with it."),
    ] = None
    dtype: Rounded = "float32"


@dataclass(frozen=True)
class Measuring(Model, Prompts):
    """What every command that measures prompts takes; a field of `Request` goes into each."""

    quantize: Annotated[
        Quantisation | None,
        typer.Option(help="Measure the weights as bitsandbytes quantises them."),
    ] = None
    stack: Annotated[
        Stack | None,
        typer.Option(help="Which stack of an encoder-decoder model; the decoder by default."),
    ] = None
    device: Device = None

    @property
    def fast(self) -> bool:
        """As `measure` has it."""
        return True

    def request(
        self, kind: str = "depth", *, token: int | None = None, **own: Any
    ) -> Callable[[str], Request]:
        """What makes the request of a prompt; its token is the usual one where none is given."""
        names = {field.name for field in fields(Request)} - {"prompt"}
        given: dict[str, Any] = {name: of for name, of in vars(self).items() if name in names}

        def ask(text: str) -> Request:
            return Request(text, kind=kind, token=token_of(token, text, kind), **own, **given)

        return ask


@dataclass(frozen=True)
class Normed(Measuring):
    """Of commands that measure what blocks do, the last one with or without the final norm."""

    final_norm: Norm = "include"


@dataclass(frozen=True)
class Differentiating(Normed):
    """Of commands that may differentiate in another way than the fast one."""

    plain: Annotated[
        bool,
        typer.Option(
            "--plain",
            help="Differentiate by the definition alone: slow, and the same numbers to rounding.",
        ),
    ] = False

    @property
    def fast(self) -> bool:
        """As `measure` has it."""
        return not self.plain


@dataclass(frozen=True)
class Scoring:
    """How scores are looked at."""

    k: K = None
    definition: Definition = "paper"
    p: Annotated[float, typer.Option(help="Order of the norm in the paper's score.")] = View.p
    role: Annotated[Role, typer.Option(help="A is U'JV, B is V'JU.")] = "A"
    level: Annotated[
        Level,
        typer.Option(
            help="Chance level: random bases (frames), or bases rotated within their subspaces "
            "(rotations)."
        ),
    ] = "frames"

    def __post_init__(self) -> None:
        if self.p != View.p:
            require_order(self.definition)
        self.view()

    def view(self, default_k: int = DEFAULT_K, blocks: tuple[int, ...] | None = None) -> View:
        """The view of a result, at the K that was asked for, or its own."""
        k = default_k if self.k is None else self.k
        return View(k, self.definition, self.p, self.role, blocks, self.level)

    def of_blocks(self, blocks: str | None) -> Callable[[Any], View]:
        """The view of a result, of these of its blocks."""
        return lambda result: self.view(result.default_k, parse_blocks(blocks, result.n_blocks))


@dataclass(frozen=True)
class Scores(Scoring):
    """How scores are looked at where they are drawn."""

    corrected: Annotated[
        bool,
        typer.Option("--corrected/--raw", help="The chance-corrected score, or the raw score c."),
    ] = True

    @property
    def drawn(self) -> str:
        """The name of the score that is drawn."""
        return "corrected" if self.corrected else "coupling"


@dataclass(frozen=True)
class SuiteScoring(Scoring):
    """The same of training runs."""

    k: Annotated[int | None, k_option("8, or that with which a run was watched")] = None


@dataclass(frozen=True)
class Printing:
    """How a command reports."""

    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False

    def tell(self, numbers: Callable[[], Any], show: Callable[[], None]) -> None:
        """Print JSON, or for people."""
        if self.as_json:
            print_json(numbers())
        else:
            show()


@dataclass(frozen=True)
class Report(Printing):
    """Where results are, and how they are reported."""

    store: StoreFolder = None

    @property
    def shelf(self) -> Store:
        """The stored results."""
        return Store(self.store)

    def open(self, text: str) -> Result:
        """A stored result by its key, by the first letters of its key, or by its file."""
        return load(text) if text.endswith(SUFFIX) else self.shelf.get(text)


@dataclass(frozen=True)
class Output(Report):
    """The same, and the file that is written."""

    formats: ClassVar[tuple[str, ...]] = files.FORMATS
    out: Path | None = None

    @classmethod
    def option(cls) -> Any:
        """The type of `out`, as typer reads it."""
        words = f"A file that ends in {', '.join(cls.formats)}"
        told = f"{words}; or -, standard output, as CSV."
        return Annotated[Path | None, typer.Option("--out", help=told)]

    def require_writable(self, many: Path | None = None) -> None:
        """As `files.require_writable`, of one result or of `many` prompts."""
        formats = self.formats if many is None else files.OF_MANY
        files.require_writable(self.out, formats, as_json=self.as_json, many=many)

    def tell(self, numbers: Callable[[], Any], show: Callable[[], None]) -> None:
        """Print JSON, or for people, who are told which file was written."""
        super().tell(numbers, show)
        if not self.as_json:
            print_facts(written=self.out)


class Numbers(Output):
    """The same of what is no one result, which only a .safetensors file holds."""

    formats = files.OF_MANY


def token_of(token: int | None, prompt: Any, kind: str = Request.kind) -> int:
    """The token that was chosen, or where none was the usual one of a prompt and a kind."""
    return usual_token(kind, prompt) if token is None else token


def numbers(text: str, read: Callable[[str], T], what: str, expected: str) -> tuple[T, ...]:
    """Numbers as they are typed, separated by commas; refusals say what they look like."""
    try:
        return tuple(read(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"{what} {text!r} cannot be read: expected {expected}") from None
