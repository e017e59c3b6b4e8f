"""Commands that refuse what others would silently pass over: an option twice, or to no end."""

from collections import Counter
from typing import Any

import typer
from typer.core import TyperCommand

from coupling_core.analysis.exports import ENDINGS
from coupling_core.base.folders import expanded
from coupling_core.cli.files import STDOUT
from coupling_core.cli.many_drawn import figures_of, of_many
from coupling_core.store.archive import SUFFIX

ALONE = ("edit", "out")
"""Options of which people give several and mean all of them; of others the last counts, so that
an alias may have some that a call replaces."""


class Strict(TyperCommand):
    """A command that refuses options which would have no effect."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; a usage error where one of them would have no effect."""
        _, _, came = self.make_parser(ctx).parse_args(list(args))
        times: Counter[Any] = Counter(came)
        rest = super().parse_args(ctx, args)
        for option in times:
            if option.name in ALONE and times[option] > 1 and not option.multiple:
                why = f"expected once, got {times[option]} times"
            else:
                why = _no_effect(str(option.name), str(ctx.info_name), ctx.params)
            if why:
                raise typer.BadParameter(why, ctx=ctx, param=option)
        return rest


def _no_effect(option: str, command: str, given: dict[str, Any]) -> str:
    """Why an option would have no effect, or a bad one, beside the others; "" where it has."""
    out: Any = given.get("out")
    many: Any = given.get("many")
    if option == "figure" and "out" in given:
        if out is None:
            return "it chooses what --out draws: give --out FILE"
        if str(out).endswith((*ENDINGS, SUFFIX, "-")):
            return f"it chooses a figure, and {out} gets numbers"
    if many is None:
        return ""
    if option == "out" and out != STDOUT and expanded(many).resolve() == expanded(out).resolve():
        return f"{out} is the file of the prompts, which would be lost: name another"
    if option == "figure" and given["figure"] not in (offered := of_many(command)):
        instead = f"choose {', '.join(offered)}" if offered else "leave it out"
        return f"{given['figure']} is a figure of one prompt; with --prompts, {instead}"
    if any(option in figure.of_one for figure in figures_of(command).values()):
        return "it is of figures of one prompt: leave it out with --prompts"
    return ""
