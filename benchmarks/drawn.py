"""Pages of which one part is drawn from results, between two lines, and the rest is written."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.common import Results

BEGIN, END = "<!-- drawn -->\n", "<!-- /drawn -->\n"


def redraw(page: Path, *parts: str) -> None:
    """Write the drawn part of a page anew: these paragraphs and tables."""
    page.write_text(redrawn(page.read_text(), *parts))


def redrawn(text: str, *parts: str) -> str:
    """A page's text with its drawn part anew."""
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    drawn = "\n\n".join(parts)
    return f"{before}{BEGIN}{drawn}\n{END}{after}"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def machine(environment: Results) -> str:
    """Where and when it was measured, as `common.environment` tells it."""
    known = (
        environment["gpu"],
        environment["processor"],
        environment["instructions"],
        f"{environment['cores']} cores",
        f"{environment['memory_bytes'] / 1e9:.1f} GB of memory",
        environment["system"],
    )
    versions = {"Python": environment["python"]} | environment["versions"]
    with_what = [f"{name} {version}" for name, version in versions.items()]
    with_what += [f"`{name}={value}`" for name, value in environment["environment"].items()]
    return (
        f"measured on {', '.join(part for part in known if part)}, {environment['date'][:10]}, "
        f"with {', '.join(with_what)}."
    )
