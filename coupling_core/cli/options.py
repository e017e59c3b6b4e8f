"""The options that commands share, each with its one help text."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer

from coupling_core.base.definitions import DEFINITIONS, DefinitionName
from coupling_core.base.errors import InputError
from coupling_core.base.images import read_image
from coupling_core.base.records import (
    DEFAULT_K,
    Dtype,
    FinalNorm,
    Quantisation,
    Request,
    Role,
    Stack,
    View,
    require_order,
    usual_token,
)
from coupling_core.base.results import Result
from coupling_core.cli import completing
from coupling_core.cli.files import FORMATS
from coupling_core.cli.terminal import warn
from coupling_core.sources.prompts import TEXTS, read_file
from coupling_core.sources.prompts import Prompt as Prompt_

T = TypeVar("T", int, float)

if TYPE_CHECKING:
    _Definition = DefinitionName
else:  # what is offered, and taken
    _Definition = Literal[tuple(DEFINITIONS)]

Model = Annotated[
    str,
    typer.Option(
        help="An alias, a hub id, a folder, or a .gguf file.", autocompletion=completing.models
    ),
]
Text = Annotated[str, typer.Option("--prompt", help="The text to measure.")]
Prompt = Annotated[str | None, typer.Option(help="The text to measure.")]
Image = Annotated[
    Path | None, typer.Option(metavar="FILE", help="In place of a text, for a model of images.")
]
Token = Annotated[
    int | None,
    typer.Option(help="Token measured, 1..n; the last by default, of an image the class token."),
]
Prompts = Annotated[
    Path | None,
    typer.Option(
        "--prompts",
        metavar="FILE",
        help="One prompt a line (-: standard input), or .jsonl or .csv with a field 'prompt', or a "
        "folder of images.",
    ),
]
Blocks = Annotated[
    str | None,
    typer.Option(help="Blocks looked at: 1-30, 3,7, 1-30:2, or -1 for the last; all by default."),
]
COUNTED = "Singular triplets counted."
K = Annotated[
    int | None,
    typer.Option(help=COUNTED, show_default=f"{DEFAULT_K}, or the width where that is less"),
]
SuiteK = Annotated[
    int | None,
    typer.Option("--k", help=COUNTED, show_default="8, or that with which a run was watched"),
]
StoredK = Annotated[
    int | None,
    typer.Option("--k", help=COUNTED, show_default=f"{DEFAULT_K}, or all that are stored"),
]
_CORNER = "Side of the stored matrices."
ScoreDefinition = Annotated[_Definition, typer.Option("--definition", help="Which score.")]
Order = Annotated[float, typer.Option(help="Order of the norm in the paper's score.")]
MatrixRole = Annotated[Role, typer.Option(help="A is U'JV, B is V'JU.")]
Corrected = Annotated[
    bool, typer.Option("--corrected/--raw", help="The chance-corrected score, or c itself.")
]
Norm = Annotated[FinalNorm, typer.Option(help="Whether it belongs to the last block.")]
Revision = Annotated[str | None, typer.Option(help="Branch, tag or commit on the hub.")]
Threads = Annotated[
    int | None,
    typer.Option(min=1, help="CPU threads of each run; another number may change the last digits."),
]
Workers = Annotated[
    int | None, typer.Option(min=1, help="How many at a time; one per device by default.")
]
Untrained = Annotated[
    int | None, typer.Option(metavar="SEED", help="Measure a freshly initialised twin.")
]
Rounded = Annotated[
    Dtype, typer.Option(help="What the weights are rounded to; the arithmetic is float32.")
]
Quantised = Annotated[
    Quantisation | None, typer.Option(help="Measure what bitsandbytes makes of the weights.")
]
OneStack = Annotated[
    Stack | None, typer.Option(help="Of an encoder-decoder model; the decoder by default.")
]
Device = Annotated[str | None, typer.Option(help="Such as cpu or cuda:0.")]
Plain = Annotated[
    bool,
    typer.Option(
        "--plain",
        help="Differentiate by the definition alone: slow, and the same numbers to rounding.",
    ),
]


def written_as(formats: tuple[str, ...]) -> Any:
    """What --out is told to be, of the endings that a command writes."""
    words = f"A file that ends in {', '.join(formats)}"
    return typer.Option("--out", help=f"{words}; or -, standard output, as CSV.")


def corner(default: int) -> Any:
    """The option --k-view of a kind that keeps so large corners."""
    return typer.Option("--k-view", help=_CORNER, show_default=str(default))


Out = Annotated[Path | None, written_as(FORMATS)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
StoreFolder = Annotated[
    Path | None, typer.Option("--store", metavar="DIR", help="Folder of the stored results.")
]


def view_of(k: int | None, definition: DefinitionName, p: float, role: Role) -> View:
    """The view that a command was asked for, before there is a result; see `at_its_k`.

    Raises:
        InputError: on a value that no result has, and on an order p of a definition without one.
    """
    if p != View.p:
        require_order(definition)
    return View(DEFAULT_K if k is None else k, definition, p, role)


def at_its_k(view: View, k: int | None, result: Result) -> View:
    """A view at the K that was asked for, or where none was, at the result's own."""
    return view if k is not None else replace(view, k=result.default_k)


def prompt_or_prompts(
    prompt: str | None, image: Path | None, many: Path | None
) -> list[Prompt_] | None:
    """The prompts of the file that a command was given, or None where it was given one prompt.

    Raises:
        InputError: where several were given, or none, or the file cannot be read.
    """
    given = sum(source is not None for source in (prompt, image, many))
    if given != 1:
        came = "several" if given else "none"
        raise InputError(f"give one of --prompt, --image FILE and --prompts FILE: {came} came")
    return None if many is None else read_file(many)


def one_prompt(prompt: str | None, image: Path | None) -> str:
    """The prompt that a command was given: a text, or an image.

    Raises:
        InputError: where both were given or none, or the image cannot be read.
    """
    if (prompt is None) == (image is None):
        came = "neither" if prompt is None else "both"
        raise InputError(f"give either --prompt or --image FILE, and {came} came")
    if image is not None:
        return read_image(image)
    text = str(prompt)
    if text.lower().endswith(TEXTS) and Path(text).is_file():
        warn(f"{text} is a file here, and its name is measured: --prompts {text} reads its prompts")
    return text


def token_of(token: int | None, prompt: Any, kind: str = Request.kind) -> int:
    """The token that was chosen, or where none was the usual one of a prompt and a kind."""
    return usual_token(kind, prompt) if token is None else token


def numbers(text: str, read: Callable[[str], T], what: str, expected: str) -> tuple[T, ...]:
    """Numbers as they are typed, separated by commas.

    Args:
        text: as it was typed.
        read: makes a number of a text.
        what: they are, for complaints.
        expected: what they look like.

    Raises:
        InputError: where one of them is none.
    """
    try:
        return tuple(read(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"{what} {text!r} cannot be read: expected {expected}") from None
