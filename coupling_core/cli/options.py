"""The options that commands share, each with its one help text."""

from pathlib import Path
from typing import Annotated

import typer

from coupling_core.cli.files import FORMATS
from coupling_core.records import Definition, Dtype, FinalNorm, Quantisation, Role, Stack

Model = Annotated[str, typer.Option(help="An alias, a hub id, a folder, or a .gguf file.")]
Prompt = Annotated[str, typer.Option(help="The text to measure.")]
K = Annotated[int, typer.Option(help="Singular triplets counted.")]
ScoreDefinition = Annotated[Definition, typer.Option("--definition", help="Which score.")]
Order = Annotated[float, typer.Option(help="Order of the norm in the paper's score.")]
MatrixRole = Annotated[Role, typer.Option(help="A is U'JV, B is V'JU.")]
Corrected = Annotated[bool, typer.Option("--corrected/--raw", help="Which score the figure draws.")]
Norm = Annotated[FinalNorm, typer.Option(help="Whether it belongs to the last block.")]
Revision = Annotated[str | None, typer.Option(help="Branch, tag or commit of a hub model.")]
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
    Stack | None, typer.Option(help="Of an encoder-decoder model; the decoder unless told.")
]
Device = Annotated[str | None, typer.Option(help="Such as cpu or cuda:0.")]
Out = Annotated[Path | None, typer.Option(help=f"A file that ends in {', '.join(FORMATS)}.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
StoreFolder = Annotated[
    Path | None, typer.Option("--store", metavar="DIR", help="Folder of the stored results.")
]
