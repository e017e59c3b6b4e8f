"""Coupling against the length and the difficulty of prompts, within models (Figure 10)."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy import stats

from coupling_core.records import Measure, PromptNumber
from coupling_core.scores import nan_mean
from coupling_core.statistics.means import SAMPLES, at_k, require_columns
from coupling_core.statistics.points import is_constant
from coupling_core.statistics.resampling import Range, correlations, no_range, too_few


@dataclass(frozen=True, eq=False)
class PromptTrend:
    """Coupling of one model against a number of the prompt.

    Args:
        model: its name.
        family: of the model.
        prompt: texts of the prompts that have both numbers.
        x: (prompt) tokens, by the model's own tokenizer, or difficulty 1..3.
        coupling: (prompt) means over l != l'.
        without: prompts that lack a number.
        spearman: rank correlation over prompts.
        p: of no correlation, prompts being independent.
        interval: 95 % bootstrap interval of it over prompts.
        slope: of coupling in x by least squares, per token or per step of difficulty.
        intercept: of that line.
        reason: why there are no such numbers; "" where there are.
    """

    model: str
    family: str
    prompt: tuple[str, ...]
    x: Float[np.ndarray, " prompt"]
    coupling: Float[np.ndarray, " prompt"]
    without: int
    spearman: float
    p: float
    interval: Range
    slope: float
    intercept: float
    reason: str = ""


@dataclass(frozen=True, eq=False)
class PromptTrends:
    """Coupling against a number of the prompt, for every model.

    Args:
        x_name: "tokens" or "difficulty".
        measure: which coupling.
        models: a trend a model.
        mean: of Spearman's rho over the models that have one.
        interval: 95 % bootstrap interval of that mean over prompts: a resample has the same
            prompts for all models, which share them. It is about these models, not about others.
    """

    x_name: PromptNumber
    measure: Measure
    models: tuple[PromptTrend, ...]
    mean: float
    interval: Range


def prompt_trends(
    table: pd.DataFrame,
    x: PromptNumber,
    k: int | float,
    measure: Measure = "corrected",
    *,
    seed: int = 0,
) -> PromptTrends:
    """Coupling against length or difficulty of the prompt, within every model.

    Args:
        table: of a sweep, a row a model x prompt x K.
        x: column, "tokens" or "difficulty".
        k: an integer, or a share of each model's width.
        measure: column of the coupling.
        seed: of the bootstrap.

    Raises:
        InputError: where a column is missing, or no model was measured at this K.
    """
    require_columns(table, "model", "family", "prompt", "k", "width", x, measure)
    rows = at_k(table, k)
    known = np.isfinite(rows[x].to_numpy(np.float64)) & np.isfinite(
        rows[measure].to_numpy(np.float64)
    )
    prompts = pd.Index(rows["prompt"][known].unique())
    n = len(prompts)
    weights = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / max(n, 1)), SAMPLES)
    found = [
        _trend(model, x, measure, prompts, weights.astype(np.float64))
        for _, model in rows.assign(known=known).groupby("model", sort=False)
    ]
    drawn = np.array([values for trend, values in found if not trend.reason])
    trends = tuple(trend for trend, _ in found)
    rhos = [trend.spearman for trend in trends if not trend.reason]
    reason = too_few(n, "prompts") or ("" if rhos else "no model has a correlation over prompts")
    mean = float(np.mean(rhos)) if rhos else np.nan
    if reason:
        return PromptTrends(x, measure, trends, mean, no_range(n, "prompts", reason))
    return PromptTrends(x, measure, trends, mean, _percentiles(nan_mean(drawn, 0), n))


def _trend(
    rows: pd.DataFrame,
    x: PromptNumber,
    measure: Measure,
    prompts: "pd.Index[str]",
    weights: Float[np.ndarray, "sample prompt"],
) -> tuple[PromptTrend, Float[np.ndarray, " sample"]]:
    """The trend of a model, and its rho in every resample."""
    kept = rows[rows["known"]]
    at, coupling = (kept[name].to_numpy(np.float64) for name in (x, measure))
    n, first = len(kept), rows.iloc[0]
    about = (first["model"], first["family"], tuple(kept["prompt"]), at, coupling, len(rows) - n)
    if reason := _no_trend(at, coupling, x):
        none = no_range(n, "prompts", reason)
        return PromptTrend(*about, np.nan, np.nan, none, np.nan, np.nan, reason), np.full(
            len(weights), np.nan
        )
    rho = stats.spearmanr(at, coupling)
    line = stats.linregress(at, coupling)
    places = prompts.get_indexer(pd.Index(kept["prompt"])).astype(np.int64)
    drawn = correlations(at, coupling, weights[:, places], "spearman")
    interval = (
        no_range(n, "prompts", few) if (few := too_few(n, "prompts")) else _percentiles(drawn, n)
    )
    return PromptTrend(
        *about,
        float(rho.statistic),
        float(rho.pvalue),
        interval,
        float(line.slope),
        float(line.intercept),
    ), drawn


def _percentiles(drawn: Float[np.ndarray, " sample"], n: int) -> Range:
    low, high = np.quantile(drawn[np.isfinite(drawn)], (0.025, 0.975))
    return Range(float(low), float(high), n, "prompts")


def _no_trend(
    x: Float[np.ndarray, " prompt"], coupling: Float[np.ndarray, " prompt"], name: str
) -> str:
    if len(x) < 3:
        return f"{len(x)} prompts have both {name} and coupling, and 3 are needed"
    if is_constant(x):
        return f"all prompts have the same {name}"
    return "coupling is the same on all prompts" if is_constant(coupling) else ""
