"""What the figures over many models are of, and the ways to take them along."""

from typing import TYPE_CHECKING

import streamlit as st

from coupling_core.analysis.exports import to_csv
from coupling_core.base.units import counted
from coupling_core.experiments.sweeps import Journal
from explorer.panels.recipes import Options, Recipes, command
from explorer.panels.strip import Quiet, take_along
from explorer.session.plain_text import plain

if TYPE_CHECKING:  # statistics import scipy, which the page does without until there is a table
    from coupling_core.analysis.findings import Findings, Question

GUIDE = """
Each point is a set of weights: a model, or a checkpoint of a training run. Its coupling is the mean
over all prompts of the sweep; the bar is a 95\u00a0% interval over prompts. An open symbol is not
trained; a thin line joins the checkpoints of one run in the order of training.

**n, R², p.** The lines are least squares. Models of one family, and checkpoints of one run, are
alike: p and the intervals that sentences tell count each family as one, and of fewer than five
nothing is told. Look at what is left without each family, too.

**Performance.** A held-out loss was recorded as a run was trained, and lower is better; a
leaderboard score is a published one, joined by the model's id. Without either, a model is not in
this figure.

**By prompt.** Whether longer or harder prompts couple more, within each model. All models share the
prompts; the interval of their mean is over prompts.
"""


def recipes(journal: Journal, asked: "Question") -> Recipes:
    """How to come by what a sweep says outside the app."""
    from coupling_core.analysis.findings import Question

    program = [
        "from pathlib import Path",
        "from coupling_core import Question, find",
        "from coupling_core.sweeps import read_table",
        "",
        f"table = read_table(Path({str(journal.table)!r}))",
        f"found = find(table, {asked!r})",
        "print(*found.shows, *found.does_not_show, sep='\\n')",
        "print(found.means.rows)",
    ]
    options: Options = {
        "measure": (asked.measure, Question.measure),
        "against": (asked.against, None),
        "subset": (asked.subset, Question.subset),
        "method": (asked.method, Question.method),
    }
    name = str(journal.plan().get("name", "sweep"))
    shell = command(f"sweep report sweeps/{name}.toml", {"k": f"{asked.k:g}"}, options)
    return Recipes("\n".join(program), shell)


def title(journal: Journal) -> str:
    """What a sweep is called."""
    plan = journal.plan()
    return str(plan.get("title") or plan.get("name") or journal.folder.name)


def sweep_strip(journal: Journal, answer: "Findings") -> None:
    """Say what is drawn, and offer link, files, recipes and a guide."""
    from coupling_core.analysis.statistics import SUBSETS

    rows = answer.means.rows
    told = [
        f"**{plain(title(journal))}**",
        f"{counted(len(rows), 'model')} and checkpoints of "
        f"{counted(rows['family'].nunique(), 'family')}",
        counted(answer.table["prompt"].nunique(), "prompt"),
        plain(answer.measure),
        SUBSETS[answer.question.subset].title,
    ]
    with st.container(gap="xsmall"):
        name = str(journal.plan().get("name", "sweep"))
        quiet = Quiet(told[0], [" · ".join(told)])
        files = (
            ("Scores, one row per prompt (.csv)", journal.table.read_bytes, f"{name}-scores.csv"),
            ("Means, one row per model (.csv)", lambda: to_csv(rows), f"{name}-means.csv"),
            ("Report (.html)", lambda: _report(journal, answer), f"{name}-report.html"),
        )
        take_along(files, recipes(journal, answer.question), GUIDE, quiet)


def _report(journal: Journal, answer: "Findings") -> bytes:
    from coupling_core.experiments.sweeps.report import report

    return report(journal.plan(), answer.table, answer.question)
