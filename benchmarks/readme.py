"""Draw the table of docs/performance.md from the results: `python -m benchmarks.readme`."""

import json
from importlib import import_module

from benchmarks import common, drawn

RESULTS = common.ROOT / "benchmarks" / "results"
PAGE = common.ROOT / "docs" / "performance.md"
ROWS = {
    "depth": (
        "all pairs, K = 50, 10 tokens, 1 thread",
        "all pairs, K = 50, 64 tokens, 1 thread",
        "all pairs, K = 50, 10 tokens, 2 threads",
        "all pairs beside their limit, K = 50, 10 tokens, 1 thread",
    ),
    "jacobian": ("one block's Jacobian, 64 tokens, 1 thread",),
    "svd": ("top 50 triplets, ms a block, 1 thread",),
    "minute": ("first figure in Chromium",),
    "many": ("40 prompts of one model as one job, K = 50, 2 cores",),
    "gpu": (
        "Llama-3-8B shape, SVD of one Jacobian with its certificate",
        "Llama-3-8B shape, all pairs, K = 50",
    ),
}
"""What is drawn, by script; a script prints all of its rows."""

_OF_THE_RUN = ("date", "commit", "load_before")
"""What is noted of one run, and not of where it ran."""


def parts() -> tuple[str, str]:
    """Where the figures were measured, and a row for each with the command that makes it."""
    found = [json.loads((RESULTS / f"{script}.json").read_text()) for script in ROWS]
    rows = []
    for one in found:
        said = dict(import_module(f"benchmarks.{one['claim']}").summary(one["results"]))
        rows += [(what, said[what], f"`{one['command']}`") for what in ROWS[one["claim"]]]
    return "\n".join(environments(found)), drawn.table(("what", "figure", "command"), rows)


def environments(found: list[common.Results]) -> list[str]:
    """A line for each environment, day included, with the scripts that ran in it."""
    alike: dict[str, list[common.Results]] = {}
    for one in found:
        there = {name: at for name, at in one["environment"].items() if name not in _OF_THE_RUN}
        day = one["environment"]["date"][:10]
        alike.setdefault(json.dumps([day, there], sort_keys=True), []).append(one)
    return [
        f"- {', '.join('`' + one['claim'] + '`' for one in group)}: "
        f"{drawn.machine(group[0]['environment'])}"
        for group in alike.values()
    ]


if __name__ == "__main__":
    drawn.redraw(PAGE, *parts())
