"""Commands that refuse what others would silently pass over: an option twice, or to no end."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import typer
from typer.core import TyperCommand

from coupling_core.analysis.exports import ENDINGS
from coupling_core.base.folders import expanded
from coupling_core.cli.files import STDOUT
from coupling_core.cli.many_drawn import OF_MANY, OF_ONE
from coupling_core.store.archive import SUFFIX

ALONE = ("edit", "out")
"""Options of which people give several and mean all of them; of others the last counts, so that
an alias may have some that a call replaces."""


class Strict(TyperCommand):
    """A command that refuses a second edit or file, and a figure that nothing draws."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; a usage error where one of them would have no effect."""
        _, _, came = self.make_parser(ctx).parse_args(list(args))
        options: dict[Any, int] = Counter(came)
        for option, times in options.items():
            if times > 1 and option.name in ALONE and not option.multiple:
                told = f"it came {times} times, and one is taken"
                raise typer.BadParameter(told, ctx=ctx, param=option)
        rest = super().parse_args(ctx, args)
        figure = next((option for option in options if option.name == "figure"), None)
        if figure and "out" in ctx.params and ctx.params["out"] is None:
            told = "it says which figure --out draws, and no --out came"
            raise typer.BadParameter(told, ctx=ctx, param=figure)
        if figure and str(ctx.params.get("out")).endswith((*ENDINGS, SUFFIX, "-")):
            of_json = "; --json has those of every figure" * (ctx.params.get("many") is None)
            told = (
                f"it says which figure --out draws, and {ctx.params['out']} gets the numbers "
                f"of the command's own table{of_json}"
            )
            raise typer.BadParameter(told, ctx=ctx, param=figure)
        _require_another_file(ctx, options)
        if ctx.params.get("many") is not None:
            if figure:
                _require_of_many(ctx, figure)
            _require_effect(ctx, options)
        return rest


def _require_another_file(ctx: Any, options: Iterable[Any]) -> None:
    """Refuse to write over the prompts that are read."""
    many, out = ctx.params.get("many"), ctx.params.get("out")
    if many is None or out in (None, STDOUT) or expanded(many).resolve() != expanded(out).resolve():
        return
    told = f"{out} is the file of the prompts, which would be lost: name another"
    raise typer.BadParameter(told, ctx=ctx, param=next(o for o in options if o.name == "out"))


def _require_effect(ctx: Any, options: Iterable[Any]) -> None:
    """Refuse an option that says how a figure of one prompt is drawn."""
    of_one = OF_ONE.get(str(ctx.info_name), ())
    for option in options:
        if option.name in of_one:
            told = "it says how a figure of one prompt is drawn, and --prompts gives many"
            raise typer.BadParameter(told, ctx=ctx, param=option)


def _require_of_many(ctx: Any, option: Any) -> None:
    """Refuse a figure that there is of one prompt alone."""
    offered = OF_MANY.get(str(ctx.info_name), ())
    came = ctx.params["figure"]
    if came in offered:
        return
    instead = f"choose {', '.join(offered)}" if offered else "without it, each stands in one figure"
    told = f"{came} is a figure of one prompt, and --prompts gives many: {instead}"
    raise typer.BadParameter(told, ctx=ctx, param=option)
