"""The command of a kind that is asked for by a prompt and a token alone."""

from collections.abc import Callable
from importlib import import_module
from typing import Annotated

from coupling_core.base.kinds import KindOfResult
from coupling_core.cli import options
from coupling_core.cli.many_drawn import Together, dots, figure_option, figures_of, one_drawn
from coupling_core.cli.one_or_many import Shown, answer


def command_of(kind: KindOfResult) -> Callable[..., None]:
    """What `coupling` runs, with the first line that its folder says of it as help."""

    def command(
        *,
        asked: options.Differentiating,
        token: options.Token = None,
        figure: Annotated[str, figure_option(kind.command)] = next(iter(figures_of(kind.command))),
        output: options.Output,
    ) -> None:
        together = Together(dots(kind.command, figure), asked.many)
        answer(
            asked, asked.request(kind.name, token=token), Shown(one_drawn(figure), together), output
        )

    command.__doc__ = (import_module(kind.folder).__doc__ or "").partition("\n")[0]
    return command
