"""Sweeps: many models with many prompts, on one machine or on many, stopped and gone on with.

definition   what is asked for, from a TOML file
plan         every set of weights with every prompt, and what the store has of it
noted        what a run found, for when a model or the prompts are gone
turns        which measurement a worker does next
worker       what it does
clusters     where workers run (dask)
running      giving out what is missing, and taking in what came of it
journal      what is noted on the disk meanwhile
progress     how far it is, from that and from the store
table        the scores
report       what they say, as a page
report_file  the same, written from Python
"""

from coupling_core.experiments.sweeps.definition import Sweep, read
from coupling_core.experiments.sweeps.journal import Failure, Journal, State, journals
from coupling_core.experiments.sweeps.plan import Plan, make
from coupling_core.experiments.sweeps.progress import ModelStatus, Status, status
from coupling_core.experiments.sweeps.report_file import write_report
from coupling_core.experiments.sweeps.running import nothing_to_do, run, watched
from coupling_core.experiments.sweeps.table import (
    make_table,
    read_table,
    table_csv,
    write_sealed,
    write_table,
)

__all__ = [
    "Failure",
    "Journal",
    "ModelStatus",
    "Plan",
    "State",
    "Status",
    "Sweep",
    "journals",
    "make",
    "make_table",
    "nothing_to_do",
    "read",
    "read_table",
    "run",
    "status",
    "table_csv",
    "watched",
    "write_report",
    "write_sealed",
    "write_table",
]
