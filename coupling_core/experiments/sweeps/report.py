"""A sweep as one HTML file that stands alone: figures, sentences, tables, and where it is from."""

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from coupling_core import figures
from coupling_core.analysis.findings import Findings, Question, every_k, find, performances
from coupling_core.analysis.statistics import SIZES, SUBSETS
from coupling_core.base.records import PROMPT_NUMBERS

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

SMALLEST = 3
"""Models below which nothing is said about how two numbers go together."""


def report(plan: Mapping[str, object], table: "pd.DataFrame", question: Question) -> bytes:
    """The report of a sweep.

    Args:
        plan: as `Plan.described`.
        table: its scores.
        question: what is asked of them.

    Raises:
        InputError: where the table has no depth-wise row.
    """
    found = find(table, question)
    parts = [*_head(plan, found), *_performance(found), *_sizes(found), *_prompts(found)]
    parts += [*_by_k(found), *_origin(plan, table)]
    title = html.escape(str(plan.get("title") or plan.get("name")))
    from plotly.offline import get_plotlyjs

    return _PAGE.format(title=title, plotly=get_plotlyjs(), body="\n".join(parts)).encode()


def first_question(table: "pd.DataFrame", asked: Iterable[float] = ()) -> Question:
    """What is asked where nobody says: at the first K that all models have.

    Args:
        table: of a sweep.
        asked: the K of its file.
    """
    shared, known = every_k(table, asked), performances(table)
    return Question(shared[0] if shared else 1, against=known[0] if known else "loss")


def _head(plan: Mapping[str, object], found: Findings) -> Iterator[str]:
    rows = found.means.rows
    prompts = found.table["prompt"].nunique()
    yield _paragraph(
        f"{len(rows)} models and checkpoints ({SUBSETS[found.question.subset].title}), {prompts} "
        f"prompts; {found.measure}; definition {plan.get('definition')}, role {plan.get('role')}."
    )
    for doubt in found.doubts(plan):
        yield _paragraph(f"{doubt}.")


def _performance(found: Findings) -> Iterator[str]:
    against = found.question.against
    yield _title(f"Coupling and {found.performance}")
    if len(found.points) < SMALLEST:
        yield _paragraph(f"Fewer than {SMALLEST} of these models have a known {found.performance}.")
        return
    yield _figure(figures.over_models(found.means, "coupling", against, found.fits))
    yield _list("What this shows", found.shows)
    yield _list("What it does not show", found.does_not_show)
    yield _table(figures.fits_table(found.fits))
    if len(set(found.points.family)) > 1:
        yield _figure(figures.without_families(found.families))
        yield _table(figures.without_families_table(found.families))


def _sizes(found: Findings) -> Iterator[str]:
    rows = found.means.rows
    varied = [size for size in SIZES if rows[size].nunique() > 1]
    if varied:
        yield _title("Coupling and size")
    for size in varied:
        yield _figure(figures.over_models(found.means, size, "coupling"))


def _prompts(found: Findings) -> Iterator[str]:
    if found.table["prompt"].nunique() < SMALLEST:
        return
    yield _title("Coupling and prompts")
    for number in PROMPT_NUMBERS:
        if found.table[number].nunique() > 1:
            trends = found.trends(number, last=True)
            yield _figure(figures.prompt_correlations(trends))
            yield _table(figures.trends_table(trends))


def _by_k(found: Findings) -> Iterator[str]:
    if len(found.by_k) > 1:
        yield _title("Coupling and K")
        yield _figure(figures.coupling_by_k(found.by_k))
        yield _figure(figures.correlation_by_k(found.correlations_by_k, found.question.against))


def _origin(plan: Mapping[str, object], table: "pd.DataFrame") -> Iterator[str]:
    yield _title("Where the numbers come from")
    yield _list(
        "Sources",
        (
            "Scores: measured by this program; each row of the table names its result by its key.",
            "Held-out losses: recorded as the runs were trained.",
            "Published numbers of models (parameters, training tokens, leaderboard scores): the "
            "catalogue of models, which names the source of each.",
            f"Prompts: {_of_prompts(plan)}.",
        ),
    )
    columns = ["model", "family", "step", "parameters", "layers", "width", "training_tokens"]
    known = table.drop_duplicates("model")[[*columns, "loss", "score"]]
    yield _table(known.set_index("model").dropna(axis=1, how="all"))


def _of_prompts(plan: Mapping[str, object]) -> str:
    origins = plan.get("origins")
    if not isinstance(origins, list):
        return "not recorded"
    return "; ".join(
        f"{one.get('n')} of {one.get('source')} (SHA-256 {str(one.get('sha256'))[:12]})"
        for one in origins
        if isinstance(one, dict)
    )


def _title(text: str) -> str:
    return f"<h2>{html.escape(text)}</h2>"


def _paragraph(text: str) -> str:
    return f"<p>{html.escape(text)}</p>"


def _list(title: str, items: Sequence[str]) -> str:
    lines = "".join(f"<li>{html.escape(item)}</li>" for item in items if item)
    return f"<h3>{html.escape(title)}</h3><ul>{lines}</ul>" if lines else ""


def _table(frame: "pd.DataFrame") -> str:
    body = frame.to_html(border=0, float_format=_short, na_rep="")
    return f"<details><summary>Table</summary>{body}</details>"


def _figure(figure: "go.Figure") -> str:
    told = figure.layout.meta
    page = figures.on_paper(figure)
    alt = html.escape(told["alt"], quote=True)
    body = page.to_html(full_html=False, include_plotlyjs=False)
    return f'<div role="img" aria-label="{alt}">{body}</div>'


def _short(value: float) -> str:
    return f"{value:.4g}"


_PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
body {{ max-width: 800px; margin: 2em auto; padding: 0 1em; background: white; color: #24292f;
  font: 16px/1.5 'Source Sans Pro', 'Helvetica Neue', Helvetica, Arial, sans-serif }}
details {{ overflow-x: auto; margin: 0.5em 0 }}
table {{ border-collapse: collapse; font-size: 13px }}
td, th {{ padding: 2px 10px 2px 0; text-align: right; white-space: nowrap }}
[role=img] {{ overflow-x: auto }}
</style>
<script>{plotly}</script></head>
<body><h1>{title}</h1>
{body}
</body>
</html>
"""
