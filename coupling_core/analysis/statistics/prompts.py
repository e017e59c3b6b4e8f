"""Coupling against the length and the difficulty of prompts, within models (Figure 10)."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float
from scipy import stats

from coupling_core.analysis.statistics.correlations import Correlation
from coupling_core.analysis.statistics.means import at_k, require_columns
from coupling_core.analysis.statistics.resampling import Range, correlation, jackknifed, unrelated
from coupling_core.base.records import Measure, PromptNumber
from coupling_core.base.units import counted


@dataclass(frozen=True, eq=False)
class PromptTrend:
    """Coupling of one model against a number of the prompt.

    Args:
        model: its name.
        prompt: texts of the prompts that have both numbers.
        x: tokens, by the model's own tokenizer, or difficulty 1..3.
        coupling: means over l != l'.
        without: prompts that lack a number.
        rho: Spearman's correlation over prompts, which are independent.
        slope, intercept: of coupling in x by least squares, per token or step of difficulty.
    """

    model: str
    prompt: tuple[str, ...]
    x: Float[np.ndarray, " prompt"]
    coupling: Float[np.ndarray, " prompt"]
    without: int
    rho: Correlation
    slope: float = np.nan
    intercept: float = np.nan


@dataclass(frozen=True, eq=False)
class PromptTrends:
    """Coupling against a number of the prompt, for every model.

    `mean` is that of Spearman's rho over these models, with its 95 % interval over prompts, each
    left out for all models at once, which share them.
    """

    x_name: PromptNumber
    measure: Measure
    models: tuple[PromptTrend, ...]
    mean: Correlation

    @property
    def rows(self) -> dict[str, Correlation]:
        """The mean, and each model's."""
        each = {one.model: one.rho for one in self.models}
        return {f"mean of {counted(self.mean.n, 'model')}": self.mean, **each}


def prompt_trends(
    table: pd.DataFrame, x: PromptNumber, k: int | float, measure: Measure = "corrected"
) -> PromptTrends:
    """Coupling against length or difficulty of prompts, within every model of a sweep's table."""
    require_columns(table, "model", "family", "prompt", "k", "width", x, measure)
    models = at_k(table, k).groupby("model", sort=False)
    trends = tuple(_trend(str(name), rows, x, measure) for name, rows in models)
    told = [trend for trend in trends if not trend.rho.reason]
    prompts = pd.Index(dict.fromkeys(text for trend in told for text in trend.prompt))
    if not told:
        why = "no model has a correlation over prompts"
        none = Correlation("spearman", 0, Range(len(prompts), "prompts", why), reason=why)
        return PromptTrends(x, measure, trends, none)
    places = [prompts.get_indexer(pd.Index(one.prompt)) for one in told]

    def mean(kept: Bool[np.ndarray, " prompt"]) -> float:
        every = zip(told, places, strict=True)
        return float(np.mean([_rho(one, kept[at]) for one, at in every]))

    interval = jackknifed(mean, np.arange(len(prompts)), "prompts")
    estimate = float(np.mean([one.rho.estimate for one in told]))
    found = Correlation("spearman", len(told), interval, estimate=estimate)
    return PromptTrends(x, measure, trends, found)


def _trend(model: str, rows: pd.DataFrame, x: PromptNumber, measure: Measure) -> PromptTrend:
    """The trend of a model."""
    numbers = rows[[x, measure]].astype(np.float64)
    known = np.isfinite(numbers.to_numpy()).all(axis=1)
    at, coupling = numbers.to_numpy()[known].T
    n = len(at)
    reason = unrelated({x: at, "coupling": coupling}, "prompt")
    none = Correlation("spearman", n, Range(n, "prompts", reason), reason=reason)
    trend = PromptTrend(model, tuple(rows["prompt"][known]), at, coupling, len(rows) - n, none)
    if reason:
        return trend
    interval = jackknifed(partial(_rho, trend), np.arange(n), "prompts")
    estimate, p = map(float, stats.spearmanr(at, coupling))
    line = stats.linregress(at, coupling)
    rho = Correlation("spearman", n, interval, estimate=estimate, p=p)
    return replace(trend, rho=rho, slope=float(line.slope), intercept=float(line.intercept))


def _rho(one: PromptTrend, kept: Bool[np.ndarray, " prompt"]) -> float:
    """Spearman's correlation of the prompts that are kept."""
    return correlation(one.x[kept], one.coupling[kept], "spearman")
