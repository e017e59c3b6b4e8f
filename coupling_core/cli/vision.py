"""`coupling vision`: vision transformers by their rate of stochastic depth."""

import typer

from coupling_core.cli import options
from coupling_core.cli.terminal import print_records
from coupling_core.experiments.vision import SUITE

app = typer.Typer(help="List vision transformers.", no_args_is_help=True)


@app.command("list")
def list_(report: options.Printing) -> None:
    """List the runs that come with the program, with their accuracies."""
    found = [run.noted() for run in SUITE.runs]
    report.tell(lambda: found, lambda: print_records(found))
