"""Titles, captions and alternative texts of the figures over many models."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from coupling_core.base.units import counted, rounded

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

MEASURES = {
    "corrected": "Mean chance-corrected score",
    "coupling": "Mean score c",
    "alignment": "Mean alignment",
}
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
SHORT = {
    "coupling": "coupling",
    "loss": "loss",
    "score": "score",
    "parameters": "parameters",
    "layers": "depth",
    "width": "width",
    "training_tokens": "training tokens",
}
COEFFICIENTS = {"pearson": "Pearson's r", "spearman": "Spearman's ρ"}  # noqa: RUF001 - rho it is
SYMBOLS = (
    "Colour and symbol are the family; an open symbol is a model that is not trained; a thin line "
    "joins the checkpoints of one training run by step. "
)
NO_INTERVAL = re.compile(r"an interval and a p need at least \d+ \w+; here the number is \d+")
"""As statistics of too few units say it of each of their numbers."""
UNITS = "thick: 95\u00a0% interval over models, as if they were independent; thin: over whole {of}"


def coupling_axis(means: "ModelMeans") -> str:
    """Title of the axis of coupling."""
    return f"{MEASURES[means.measure]} ({means.k_name}; no unit)"


def over_models_caption(means: "ModelMeans", x: str, y: str, fits: Sequence["Fit"]) -> str:
    """How the scatter of models is read, and who is not in it."""
    text = SYMBOLS
    if "coupling" in (x, y):
        text += "Bars are 95\u00a0% intervals of a model's mean over its prompts. "
        if means.measure == "coupling":
            text += "Ticks are each model's chance floor: only what is beyond it is coupling. "
        else:
            text += "The dotted line is chance. "
    if any(not found.reason for found in fits):
        text += "The bands (95\u00a0%) take the models as independent, which p does not. "
    text += " ".join(once([f"{_slope(found)}." for found in fits]))
    return f"{text.strip()} {_left_out(means, x, y)}".strip()


def over_models_alt(rows: "DataFrame", x: str, y: str, fits: Sequence["Fit"]) -> str:
    """What the scatter of models shows, in numbers."""
    text = f"{SHORT[y].capitalize()} against {SHORT[x]}: "
    if not len(rows):
        return text + "no model has both numbers."
    spans = (
        f"{SHORT[name]} from {rows[name].min():.3g} to {rows[name].max():.3g}" for name in (x, y)
    )
    text += (
        f"{counted(len(rows), 'model')} of {counted(rows['family'].nunique(), 'family')}, "
        f"{' and '.join(spans)}."
    )
    return " ".join([text, *(f"{_sentence(found)}." for found in fits)])


def fit_name(found: "Fit") -> str:
    """A fit in a legend; R² in units of the vertical axis, so that two forms compare."""
    p = "" if found.over_clusters.reason else f", {found.over_clusters.p_told}"
    return f"{found.form}: R² = {found.r_squared_y:.2f}{p}, n = {found.n}"


def by_k_caption(means: Mapping[int, "ModelMeans"]) -> str:
    """How coupling against K is read."""
    raw = any(found.measure == "coupling" for found in means.values())
    floor = "Dashed lines are the chance floors" if raw else "The dotted line is chance"
    return (
        "Each line is a model: its mean over prompts with its 95\u00a0% interval. Colour and "
        f"symbol are the family; an open symbol is a model that is not trained. {floor}. A gap is "
        "a K at which a model was not measured."
    )


def by_k_alt(rows: "DataFrame") -> str:
    """What coupling does with K, in numbers."""
    if not len(rows):
        return "Coupling against K: no model has a number."
    ends = rows[rows["k"].isin([rows["k"].min(), rows["k"].max()])].groupby("k")["coupling"]
    told = (
        f"{mean:.3g} on average over {counted(n, 'model')} at K = {k}"
        for k, mean, n in zip(ends.mean().index, ends.mean(), ends.count(), strict=True)
    )
    return f"Coupling against K for {counted(rows['model'].nunique(), 'model')}: {', '.join(told)}."


def correlation_by_k_caption(found: Mapping[int, "Correlation"]) -> str:
    """How a correlation against K is read."""
    of = _of(found.values())
    return (
        f"Correlation over models at each K; {UNITS.format(of=of)}. A filled symbol has p < 0.05 "
        f"over whole {of}. A gap has no number."
    )


def correlation_by_k_alt(found: Mapping[int, "Correlation"], y: str) -> str:
    """What the correlation does with K, in numbers."""
    told = (f"K = {k}: {_correlation(one)}" for k, one in found.items())
    return f"Correlation of coupling and {SHORT[y]}. {'; '.join(told)}."


def by_prompt_caption(trends: "PromptTrends", model: "PromptTrend") -> str:
    """How coupling against a number of the prompt is read."""
    text = (
        f"Dots: the prompts of {model.model}; the line is their least-squares fit. Faint lines: "
        "the fits of the other models, over their own prompts. "
    )
    if model.reason:
        text += f"{model.model} has no line: {model.reason}. "
    if model.without:
        text += f"{model.without} of its prompts lack a number. "
    return text + _mean_told(trends)


def by_prompt_alt(trends: "PromptTrends", model: "PromptTrend") -> str:
    """What coupling does with a number of the prompt, in numbers."""
    named = f"Coupling of {model.model} against {trends.x_name} of the prompt"
    if model.reason:
        return f"{named}: {model.reason}."
    return f"{named}: {counted(len(model.x), 'prompt')}, {_trend(model)}. {_mean_told(trends)}"


def trends_caption(trends: "PromptTrends") -> str:
    """How the correlations within models are read."""
    return (
        "Rank correlation over prompts within each model, with its 95\u00a0% interval over "
        "prompts; of a training run its last checkpoint. The mean is over these models; its "
        "interval leaves out the same prompt of all of them, which share them. Prompts are taken "
        "for independent, which those of one source may not be."
    )


def trends_alt(trends: "PromptTrends") -> str:
    """The correlations within models, in numbers."""
    told = "; ".join(f"{one.model}: {one.reason or _trend(one)}" for one in trends.models)
    return f"Coupling against {trends.x_name} of the prompt. {_mean_told(trends)} {told}."


def without_families_caption(found: "LeaveOneFamilyOut") -> str:
    """How the forest plot is read."""
    return (
        f"The correlation over all models, and without each family; "
        f"{UNITS.format(of=found.overall.over_clusters.of)}, where there are enough. Within: each "
        "family's mean is taken out first. Between: of the families' "
        f"means. {found.verdict} {found.points.counted}"
    )


def without_families_alt(found: "LeaveOneFamilyOut") -> str:
    """The forest plot, in numbers."""
    told = [f"all models: {_correlation(found.overall)}"]
    told += [f"without {name}: {_correlation(left)}" for name, left in found.without.items()]
    return f"{forest_axis(found)}. {'; '.join(told)}. {found.verdict}"


def forest_axis(found: "LeaveOneFamilyOut") -> str:
    """Title of the forest plot's axis."""
    points = found.points
    return (
        f"{COEFFICIENTS[found.overall.method]} of {SHORT[points.x_name]} and {SHORT[points.y_name]}"
    )


def once(sentences: Iterable[str]) -> list[str]:
    """The sentences, of which the first alone says why there is no interval."""
    told: list[str] = []
    for sentence in sentences:
        shorter = sentence
        for why in NO_INTERVAL.findall(" ".join(told)):
            shorter = shorter.replace(f" ({why})", "").replace(f"; {why}", "")
        told.append(shorter)
    return told


def _left_out(means: "ModelMeans", x: str, y: str) -> str:
    rows = means.rows
    missing = list(rows["model"][rows[[x, y]].isna().any(axis=1)])
    parts = []
    if len(missing):
        parts.append(f"Not drawn, because {SHORT[x]} or {SHORT[y]} is missing: {_named(missing)}.")
    if means.absent:
        parts.append(f"Not measured at {means.k_name}: {_named(means.absent)}.")
    return " ".join(parts)


def _named(names: Sequence[str], most: int = 4) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def _of(found: Iterable["Correlation"]) -> str:
    return next((one.over_clusters.of for one in found), "families")


def _sentence(found: "Fit") -> str:
    return f"No {found.form} fit: {found.reason}" if found.reason else f"Fit, {fit_name(found)}"


def _slope(found: "Fit") -> str:
    if found.reason:
        return f"No {found.form} fit: {found.reason}"
    whole = found.over_clusters
    told = whole.reason or (
        f"95\u00a0% from {whole.low:.3g} to {whole.high:.3g}, {whole.p_told}, over whole {whole.of}"
    )
    return f"Slope of the {found.form} fit: {found.slope:.3g} ({told})"


def _correlation(found: "Correlation") -> str:
    if found.reason:
        return found.reason
    return f"{rounded(found.estimate, 2)}, n = {found.n} ({found.over_clusters.told})"


def _trend(model: "PromptTrend") -> str:
    return f"Spearman's correlation {rounded(model.spearman, 2)} ({model.interval.told})"


def _mean_told(trends: "PromptTrends") -> str:
    if np.isnan(trends.mean):
        return f"No mean over models: {trends.interval.reason}."
    told = sum(not model.reason for model in trends.models)
    return (
        f"Spearman's correlation is {rounded(trends.mean, 2)} on average over {told} models, each "
        f"checkpoint counted ({trends.interval.told})."
    )
