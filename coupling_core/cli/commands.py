"""All commands together: those of the kinds of results, and those that are of no one kind."""

from importlib import import_module

import typer

from coupling_core.base.kinds import FOLDERS
from coupling_core.cli.bench import bench
from coupling_core.cli.compare import compare
from coupling_core.cli.doctor import doctor
from coupling_core.cli.graph import graph
from coupling_core.cli.health import health
from coupling_core.cli.jobs import jobs
from coupling_core.cli.models import models
from coupling_core.cli.runs import app as runs
from coupling_core.cli.serve import serve
from coupling_core.cli.sources import show_prompts
from coupling_core.cli.suite import app as suite
from coupling_core.cli.sweep import app as sweep
from coupling_core.cli.training import training
from coupling_core.cli.vision import app as vision

app = typer.Typer(
    help="Measure transformer block coupling.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for folder in FOLDERS:
    app.command(folder.rpartition(".")[2])(import_module(f"{folder}.command").command)
app.command()(graph)
app.command()(compare)
app.command()(training)
app.command()(models)
app.command("prompts")(show_prompts)
app.command("app")(serve)
app.command()(doctor)
app.command()(health)
app.command()(jobs)
app.command()(bench)
app.add_typer(runs, name="runs")
app.add_typer(suite, name="suite")
app.add_typer(sweep, name="sweep")
app.add_typer(vision, name="vision")
