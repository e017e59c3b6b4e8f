"""What the pages of docs/ say, for tests that hold it against the program."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def first_cells(page: str) -> dict[str, list[str]]:
    """What stands in code in the first cells of tables of a page of docs, by section."""
    common, *sections = (ROOT / "docs" / page).read_text().split("\n## ")
    parts = {"": common} | {part.split("\n")[0]: part for part in sections}
    return {
        title: [
            name
            for line in part.splitlines()
            if line.startswith("| `")
            for name in re.findall(r"`([^`]+)`", line.split(" | ")[0])
        ]
        for title, part in parts.items()
    }
