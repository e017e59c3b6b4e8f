"""Draw the README's table from the committed results: `python -m benchmarks.readme`."""

import json
from importlib import import_module
from pathlib import Path

from benchmarks import SCRIPTS, common

BEGIN = "<!-- performance: drawn by `python -m benchmarks.readme` -->"
END = "<!-- /performance -->"


def section(results: Path) -> str:
    """The machines, and a row for every figure with the command that reproduces it."""
    found = [json.loads(p.read_text()) for s in SCRIPTS if (p := results / f"{s}.json").is_file()]
    machines = dict.fromkeys(_machine(one["environment"]) for one in found)
    lines = [*machines, "", "| what | figure | command |", "|---|---|---|"]
    for one in found:
        for what, said in import_module(f"benchmarks.{one['claim']}").summary(one["results"]):
            lines.append(f"| {what} | {said} | `{one['command']}` |")
    return "\n".join(lines)


def _machine(environment: common.Results) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in environment["versions"].items())
    kind = f", {environment['instructions']}" if "instructions" in environment else ""
    where = environment["gpu"] or f"{environment['processor']}{kind}, {environment['cores']} cores"
    return f"Measured on {where}, {environment['date'][:10]}, with {versions}."


def replaced(text: str, drawn: str) -> str:
    """The README with the section between its markers drawn anew.

    Raises:
        ValueError: where it lacks the markers.
    """
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"the README lacks the lines {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{drawn}\n{END}{after}"


if __name__ == "__main__":
    readme = common.ROOT / "README.md"
    drawn = section(common.ROOT / "benchmarks" / "results")
    readme.write_text(replaced(readme.read_text(), drawn))
