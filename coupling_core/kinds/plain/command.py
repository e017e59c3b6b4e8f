"""The command of a kind that is asked for by a prompt and a token alone."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from coupling_core.analysis.exports import arrays, row
from coupling_core.base.kinds import KindOfResult
from coupling_core.base.records import AnyView
from coupling_core.base.results import Result
from coupling_core.cli import options
from coupling_core.cli.one_or_many import answer
from coupling_core.cli.shown import Shown, figures_of


def command_of(kind: KindOfResult) -> Callable[..., None]:
    """What `coupling` runs, with the first line that its folder says of it as help."""

    def command(
        *,
        asked: options.Differentiating,
        token: options.Token = None,
        figure: str = next(iter(figures_of(kind.command))),
        output: options.Output,
    ) -> None:
        shown = Shown(kind.command, asked.many, figure)
        answer(asked, asked.request(kind.name, token=token), shown, output)

    command.__doc__ = (import_module(kind.folder).__doc__ or "").partition("\n")[0]
    return command


def summary(result: Result, view: AnyView) -> dict[str, Any]:
    """Every number of one view, ready for JSON."""
    return {"whole": row(result, view)} | arrays(result, view)
