"""A sweep as one HTML file that stands alone: figures, sentences, tables, and where it is from."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from coupling_core import figures
from coupling_core.analysis.findings import Findings, Question, find
from coupling_core.analysis.scores import MIN_NUMBERS
from coupling_core.analysis.statistics import SUBSETS
from coupling_core.base.images import shown
from coupling_core.base.records import MODEL_SIZES, PROMPT_NUMBERS
from coupling_core.base.units import counted
from coupling_core.figures.document import (
    bullets,
    document,
    drawing,
    folded_table,
    heading,
    paragraph,
)

if TYPE_CHECKING:
    import pandas as pd

FOLDED = 40
"""Models from which on their table is folded away."""
_OF_A_MODEL = {
    "model": "model",
    "coupling": "coupling",
    "low": "95 % from",
    "high": "95 % to",
    "chance": "chance",
    "prompts": "prompts",
}
"""Columns of what is found of a model, and their titles."""
SMALLEST = 3
"""Models below which nothing is said about how two numbers go together."""
LISTED = 20
"""Prompts up to which each is named; of more the hash of all of a source is."""


def report(plan: Mapping[str, object], table: "pd.DataFrame", question: Question) -> bytes:
    """The report of a sweep."""
    found = find(table, question)
    parts = [*_head(plan, found), *_models(found), *_performance(found), *_sizes(found)]
    parts += [*_prompts(found), *_by_k(found), *_origin(plan, table)]
    return document(str(plan.get("title") or plan.get("name")), parts)


def _head(plan: Mapping[str, object], found: Findings) -> Iterator[str]:
    rows = found.means.rows
    prompts, norm = found.table["prompt"].nunique(), plan.get("final_norm")
    yield paragraph(
        f"{counted(len(rows), 'model')} and checkpoints "
        f"({SUBSETS[found.question.subset].title}), "
        f"{counted(prompts, 'prompt')}; {found.measure}; definition {plan.get('definition')}, "
        f"role {plan.get('role')}" + f", final norm {norm}d" * bool(norm) + "."
    )
    for doubt in found.doubts(plan):
        yield paragraph(f"{doubt[0].upper()}{doubt[1:]}.")


def _models(found: Findings) -> Iterator[str]:
    yield heading("Coupling by model")
    rows = found.means.rows.sort_values("coupling", ascending=False)
    measure = found.question.measure
    titles = _OF_A_MODEL | {"coupling": measure}
    if measure != "coupling":  # whose chance is 0
        titles.pop("chance")
    known = rows[[name for name in titles if rows[name].notna().any()]]
    yield folded_table(known.rename(columns=titles).set_index("model"), most=FOLDED)


def _performance(found: Findings) -> Iterator[str]:
    against = found.question.against
    yield heading(f"Coupling and {found.performance}")
    if len(found.points) < SMALLEST:
        yield paragraph(f"Fewer than {SMALLEST} of these models have a known {found.performance}.")
        return
    yield drawing(figures.over_models(found.means, "coupling", against, found.fits))
    yield bullets("What this shows", found.shows)
    yield bullets("What it does not show", found.does_not_show)
    yield folded_table(figures.fits_table(found.fits))
    if found.by == "family":
        yield drawing(figures.without_families(found.families))
        yield folded_table(figures.correlations_table(found.families.rows))


def _sizes(found: Findings) -> Iterator[str]:
    rows = found.means.rows
    varied = [size for size in MODEL_SIZES if rows[size].nunique() > 1]
    if varied:
        yield heading("Coupling and size")
    for size in varied:
        yield drawing(figures.over_models(found.means, size, "coupling"))


def _prompts(found: Findings) -> Iterator[str]:
    prompts = found.table["prompt"].nunique()
    if prompts < SMALLEST:
        return
    yield heading("Coupling and prompts")
    if prompts < MIN_NUMBERS:
        yield paragraph(
            f"How coupling goes with the length or the difficulty of prompts is not told of fewer "
            f"than {MIN_NUMBERS}: here {'is' if prompts == 1 else 'are'} {prompts}."
        )
        return
    for number in PROMPT_NUMBERS:
        if found.table[number].nunique() > 1:
            trends = found.trends(number, last=True)
            yield drawing(figures.prompt_correlations(trends))
            yield folded_table(figures.correlations_table(trends.rows))


def _by_k(found: Findings) -> Iterator[str]:
    if len(found.by_k) > 1:
        yield heading("Coupling and K")
        yield drawing(figures.coupling_by_k(found.by_k))
        if not all(one.reason for one in found.correlations_by_k.values()):
            by_k, against = found.correlations_by_k, found.question.against
            yield drawing(figures.correlation_by_k(by_k, against))


def _origin(plan: Mapping[str, object], table: "pd.DataFrame") -> Iterator[str]:
    yield heading("Where the numbers come from")
    yield bullets(
        "Sources",
        (
            "Scores: measured by this program; each row of the table names its result by its key.",
            "Held-out losses: recorded as the runs were trained."
            if table["loss"].notna().any()
            else "",
            "Published numbers of models (parameters, training tokens, leaderboard scores): the "
            "catalogue of models, which names the source of each.",
            f"Prompts: {_of_prompts(plan)}.",
        ),
    )
    prompts = table["prompt"].unique()
    if len(prompts) <= LISTED:
        yield bullets("Prompts", [shown(prompt) for prompt in prompts])
    columns = ["model", "family", "step", "parameters", "layers", "width", "training_tokens"]
    known = table.drop_duplicates("model")[[*columns, "loss", "score"]]
    yield folded_table(known.set_index("model").dropna(axis=1, how="all"))


def _of_prompts(plan: Mapping[str, object]) -> str:
    origins = plan.get("origins")
    if not isinstance(origins, list):
        return "not recorded"
    known = [one for one in origins if isinstance(one, dict)]
    own = sum(one.get("source") == "text" for one in known)
    told = [f"{own} in the sweep's file itself"] * bool(own)
    return "; ".join(
        told
        + [
            f"{one.get('n')} of {one.get('source')} (SHA-256 {str(one.get('sha256'))[:12]})"
            for one in known
            if one.get("source") != "text"
        ]
    )
