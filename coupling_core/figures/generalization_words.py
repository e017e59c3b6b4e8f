"""Names, alternative texts and captions of the figures over many models."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from coupling_core.base.units import counted, rounded
from coupling_core.base.wording import paragraph

if TYPE_CHECKING:  # statistics import scipy and pandas, which pages do without until they need them
    from pandas import DataFrame

    from coupling_core.analysis.statistics import (
        Correlation,
        Fit,
        LeaveOneFamilyOut,
        ModelMeans,
        PromptTrend,
        PromptTrends,
    )

Words = tuple[str, str]
"""An alternative text and a caption."""

AXES = {
    "loss": "Held-out loss (nats a token; lower is better)",
    "score": "Leaderboard score (%)",
    "parameters": "Parameters",
    "layers": "Depth (blocks)",
    "width": "Width d",
    "training_tokens": "Training tokens",
}
PROMPT_AXES = {
    "tokens": "Length of the prompt (tokens)",
    "difficulty": "Difficulty of the prompt (1 easy .. 3 hard)",
}
COEFFICIENTS = {"pearson": "Pearson's r", "spearman": "Spearman's ρ"}  # noqa: RUF001 - rho it is
SYMBOLS = "Colour and symbol are the family; an open symbol is a model that is not trained."
NO_INTERVAL = re.compile(r"an interval and a p need at least \d+ \w+; here the number is \d+")
"""What statistics of too few units say of each of their numbers."""


def short(column: str) -> str:
    """What a sentence calls a column."""
    return "depth" if column == "layers" else column.replace("_", " ")


def over_models(
    means: "ModelMeans", rows: "DataFrame", x: str, y: str, fits: Sequence["Fit"]
) -> Words:
    """Of two numbers of each model, whose rows have both."""
    title = f"{short(y).capitalize()} against {short(x)}"
    models, families = (counted(rows[of].nunique(), of) for of in ("model", "family"))
    spans = (f"{short(of)} from {rows[of].min():.3g} to {rows[of].max():.3g}" for of in (x, y))
    missing = list(means.rows["model"][means.rows[[x, y]].isna().any(axis=1)])
    of_coupling, is_raw = "coupling" in (x, y), means.measure == "coupling"
    return paragraph(
        (rows.empty, f"{title}: no model has both numbers."),
        (not rows.empty, f"{title}: {models} of {families}, {' and '.join(spans)}."),
        *(f"Fit, {fit_name(fit)}." for fit in fits if not fit.reason),
    ), paragraph(
        f"{SYMBOLS[:-1]}; a thin line joins the checkpoints of one training run by step.",
        (of_coupling, "Bars are 95\u00a0% intervals of a model's mean over its prompts."),
        (of_coupling and not is_raw, "The dotted line is the chance level."),
        (
            of_coupling and is_raw,
            "Ticks are each model's chance level: only what is beyond it is coupling.",
        ),
        (
            not all(fit.reason for fit in fits),
            "The bands (95\u00a0%) treat models as independent; p does not.",
        ),
        *once(map(_slope, fits)),
        (missing, f"Not drawn, because {short(x)} or {short(y)} is missing: {_some(missing)}."),
        (means.absent, f"Not measured at {means.k_name}: {_some(means.absent)}."),
    )


def fit_name(fit: "Fit") -> str:
    """A fit in a legend; R² in units of the vertical axis, so that two forms compare."""
    p = "" if fit.over_clusters.reason else f", {fit.over_clusters.p_told}"
    return f"{fit.form}: R² = {fit.r_squared_y:.2f}{p}, n = {fit.n}"


def _slope(fit: "Fit") -> str:
    if fit.reason:
        return f"No {fit.form} fit: {fit.reason}."
    over = fit.over_clusters
    interval = over.reason or (
        f"95\u00a0% from {over.low:.3g} to {over.high:.3g}, {over.p_told}, over whole {over.of}"
    )
    return f"Slope of the {fit.form} fit: {fit.slope:.3g} ({interval})."


def coupling_by_k(rows: "DataFrame", measure: str) -> Words:
    """Of each model's coupling at every K."""
    models, ends = counted(rows["model"].nunique(), "model"), (rows["k"].min(), rows["k"].max())
    means = rows[rows["k"].isin(ends)].groupby("k")["coupling"].agg(["mean", "count"])
    each = (
        f"{mean:.3g} on average over {counted(n, 'model')} at K = {k}"
        for k, mean, n in means.itertuples()
    )
    is_raw = measure == "coupling"
    return (
        f"Coupling against K for {models}: {', '.join(each) or 'none has a number'}.",
        "Each line is a model: its mean over prompts with its 95\u00a0% interval. "
        f"{SYMBOLS} {'Dashed lines are the chance levels' if is_raw else 'Dotted line: chance'}. "
        "A gap is a K at which a model was not measured.",
    )


def correlation_by_k(found: Mapping[int, "Correlation"]) -> str:
    """How the correlation of coupling and performance at every K is read."""
    of = next((one.over_clusters.of for one in found.values()), "families")
    return (
        f"Correlation over models at each K. {_bars(of)} A filled symbol has p < 0.05 over whole "
        f"{of}. A gap has no number."
    )


def coupling_by_prompt(trends: "PromptTrends", model: "PromptTrend") -> str:
    """How one model's prompts are read."""
    models = sum(not one.reason for one in trends.models)
    return paragraph(
        f"Dots: the prompts of {model.model}, with their least-squares line. Faint lines: the "
        "other models, over their own prompts.",
        (model.reason, f"{model.model} has no line: {model.reason}."),
        (model.without, f"{model.without} of its prompts lack a number."),
        (np.isnan(trends.mean), f"No mean over models: {trends.interval.reason}."),
        (
            not np.isnan(trends.mean),
            f"Spearman's correlation is {rounded(trends.mean, 2)} on average over {models} models, "
            f"each checkpoint counted ({trends.interval.told}).",
        ),
    )


PROMPT_CORRELATIONS = (
    "Rank correlation over prompts within each model, with its 95\u00a0% interval; of a training "
    "run its last checkpoint. The mean is over these models; its interval leaves out the same "
    "prompt of all of them. Prompts count as independent, which those of one source may not be."
)


def without_families(found: "LeaveOneFamilyOut") -> str:
    """How the correlation without each family, within families and between them is read."""
    return (
        "The correlation over all models, and without each family. "
        f"{_bars(found.overall.over_clusters.of)} Within: each family's mean is subtracted first. "
        f"Between: of the families' means. {found.verdict} {found.points.counted}"
    )


def forest_axis(found: "LeaveOneFamilyOut") -> str:
    """Title of the axis of the correlations without families."""
    names = short(found.points.x_name), short(found.points.y_name)
    return f"{COEFFICIENTS[found.overall.method]} of {' and '.join(names)}"


def once(texts: Iterable[str]) -> list[str]:
    """The sentences, of which only the first says why there is no interval."""
    kept: list[str] = []
    for text in texts:
        for why in NO_INTERVAL.findall(" ".join(kept)):
            text = text.replace(f" ({why})", "").replace(f"; {why}", "")
        kept.append(text)
    return kept


def _some(names: Sequence[str], most: int = 4) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def _bars(of: str) -> str:
    return (
        "Thick bars: 95\u00a0% interval over models, as if they were independent; thin bars: over "
        f"whole {of}, if there are enough."
    )
