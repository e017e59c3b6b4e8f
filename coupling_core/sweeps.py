"""Many models with many prompts: a door to `experiments.sweeps`."""

from coupling_core.experiments.sweeps import (
    Failure,
    Journal,
    Plan,
    State,
    Sweep,
    journals,
    make,
    make_table,
    nothing_to_do,
    read,
    read_table,
    run,
    write_table,
)

__all__ = [
    "Failure",
    "Journal",
    "Plan",
    "State",
    "Sweep",
    "journals",
    "make",
    "make_table",
    "nothing_to_do",
    "read",
    "read_table",
    "run",
    "write_table",
]
