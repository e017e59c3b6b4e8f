"""What tests ask of an answer of the command line: exit status, stdout, stderr, as `run` has it."""

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Answer = tuple[object, str, str]


def commands() -> dict[str, Any]:
    """Every command that does something, hidden ones too, by what one types."""
    from typer.main import get_command

    from coupling_core.cli.commands import app

    def leaves(command: Any, *words: str) -> dict[str, Any]:
        parts = getattr(command, "commands", None)
        if parts is None:
            return {" ".join(words): command}
        return {k: v for name, part in parts.items() for k, v in leaves(part, *words, name).items()}

    return leaves(get_command(app))


def printed(answer: Answer, status: int = 0) -> Any:
    """The JSON that a command printed."""
    left, out, err = answer
    assert left == status, err
    return json.loads(out)


def refusal(answer: Answer, status: int = 2) -> str:
    """The one line that a failed command says, which prints nothing and shows no traceback."""
    left, out, err = answer
    assert (left, out) == (status, ""), err
    assert err.startswith("error: "), err
    assert err.count("\n") == 1, err
    return err.removeprefix("error: ").rstrip("\n")


def refusals(
    run: Callable[..., Answer], commands: Mapping[str, Sequence[object]], *places: object
) -> dict[str, str]:
    """What each wrong command says by its name; `places` are folders that differ between runs."""
    found = {}
    for name, words in commands.items():
        line = refusal(run(*words))
        for place in places:
            line = line.replace(str(place), "<folder>")
        found[name] = line
    return found


def alternatives(table: Mapping[str, str], apart: str = " | ") -> dict[str, list[str]]:
    """Command lines by their text, as words: of each command, the endings that it may have."""
    lines = (f"{words} {end}" for words, ends in table.items() for end in ends.split(apart))
    return {" ".join(words)[:80]: words for words in map(shlex.split, lines)}
