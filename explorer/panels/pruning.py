"""Which blocks to leave out, and what that costs: a plan from what was measured and ships."""

import shlex

import streamlit as st

from coupling_core import figures
from coupling_core.analysis.pruning import words
from coupling_core.analysis.pruning.study import Study
from coupling_core.base.folders import SWEEPS
from coupling_core.base.records import DEFAULT_MODEL
from coupling_core.base.units import ranges, with_minus
from explorer.panels.chart import draw, made
from explorer.panels.kept import kept
from explorer.panels.sweep_words import said
from explorer.session.plain_text import plain

SHIPPED = SWEEPS / "pruned" / "smollm2-135m.json"
"""What `coupling prune` found of the default model on the texts that come with the program."""


def pruning_plan(model: str) -> None:
    """Draw the plan of the default model; of another, say how it is had."""
    st.header("Which blocks could go", anchor=False)
    if model != DEFAULT_MODEL or not SHIPPED.is_file():
        st.caption("The plan that ships is of the default model. For this one, run:")
        st.code(f"coupling prune --model {shlex.quote(model)} --out plan.html", language="sh")
        return
    study = kept(Study.read, SHIPPED)
    st.markdown(plain(with_minus(words.verdict(study))))
    name = f"pruning-{study.model}"
    draw(made(figures.pruning, study, of=SHIPPED), name, None, study.to_pandas)
    st.markdown(_plan(study))
    said("What it shows", words.findings(study))
    said("What it does not show", words.limits(study))


def _plan(study: Study) -> str:
    """A row for each number of blocks: which go, what they cost, and what they save."""
    by = "kl"  # which measures; the cheapest was chosen by the texts that judge
    rows = [
        f"| {point.removed} | {ranges(point.blocks)} | {words.told(point.left_out)} | "
        f"{words.told(point.tied)} | {study.megabytes(point.blocks):.1f} |"
        for point in study.curve
        if point.by == by
    ]
    return "\n".join(
        [
            f"| blocks left out ({words.NAMES[by]}) | which | held-out loss, nats a token | "
            "neighbours' weights instead | MB saved (float32) |",
            "|---|---|---|---|---|",
            f"| 0 | none | {words.told(study.whole)} | | |",
            *rows,
        ]
    )
