"""Coupling against the length and the difficulty of prompts, within models (Figure 10)."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy import stats

from coupling_core.analysis.statistics.means import at_k, require_columns
from coupling_core.analysis.statistics.points import is_constant
from coupling_core.analysis.statistics.resampling import Range, correlations, jackknifed
from coupling_core.base.records import Measure, PromptNumber
from coupling_core.base.units import counted


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
        interval: 95 % interval and p of `spearman`, prompts being independent.
        reason: why there are no such numbers; "" where there are.
        spearman: rank correlation over prompts.
        slope: of coupling in x by least squares, per token or per step of difficulty.
        intercept: of that line.
    """

    model: str
    family: str
    prompt: tuple[str, ...]
    x: Float[np.ndarray, " prompt"]
    coupling: Float[np.ndarray, " prompt"]
    without: int
    interval: Range
    reason: str = ""
    spearman: float = np.nan
    slope: float = np.nan
    intercept: float = np.nan


@dataclass(frozen=True, eq=False)
class PromptTrends:
    """Coupling against a number of the prompt, for every model.

    Args:
        x_name: "tokens" or "difficulty".
        measure: which coupling.
        models: a trend a model.
        mean: of Spearman's rho over the models that have one.
        interval: 95 % interval of that mean over prompts, each left out for all models at once,
            which share them. It is about these models, not about others.
    """

    x_name: PromptNumber
    measure: Measure
    models: tuple[PromptTrend, ...]
    mean: float
    interval: Range


def prompt_trends(
    table: pd.DataFrame, x: PromptNumber, k: int | float, measure: Measure = "corrected"
) -> PromptTrends:
    """Coupling against length or difficulty of the prompt, within every model of a sweep's table.

    Raises:
        InputError: where a column is missing, or no model was measured at this K (see `k_of`).
    """
    require_columns(table, "model", "family", "prompt", "k", "width", x, measure)
    rows = at_k(table, k)
    known = np.isfinite(rows[x].to_numpy(np.float64)) & np.isfinite(
        rows[measure].to_numpy(np.float64)
    )
    trends = tuple(
        _trend(model, x, measure)
        for _, model in rows.assign(known=known).groupby("model", sort=False)
    )
    told = [trend for trend in trends if not trend.reason]
    prompts = pd.Index(dict.fromkeys(text for trend in told for text in trend.prompt))
    n = len(prompts)
    if not told:
        none = Range(n, "prompts", "no model has a correlation over prompts")
        return PromptTrends(x, measure, trends, np.nan, none)

    def mean(weights: Float[np.ndarray, "sample prompt"]) -> Float[np.ndarray, " sample"]:
        places = [prompts.get_indexer(pd.Index(one.prompt)) for one in told]
        rhos = [
            correlations(one.x, one.coupling, weights[:, at], "spearman")
            for one, at in zip(told, places, strict=True)
        ]
        return np.mean(rhos, 0)

    interval = jackknifed(mean, np.arange(n), "prompts")
    return PromptTrends(
        x, measure, trends, float(np.mean([one.spearman for one in told])), interval
    )


def _trend(rows: pd.DataFrame, x: PromptNumber, measure: Measure) -> PromptTrend:
    """The trend of a model."""
    kept = rows[rows["known"]]
    at, coupling = (kept[name].to_numpy(np.float64) for name in (x, measure))
    n, first = len(kept), rows.iloc[0]
    about = (first["model"], first["family"], tuple(kept["prompt"]), at, coupling, len(rows) - n)
    if reason := _no_trend(at, coupling, x):
        return PromptTrend(*about, Range(n, "prompts", reason), reason)
    line = stats.linregress(at, coupling)
    return PromptTrend(
        *about,
        jackknifed(
            lambda weights: correlations(at, coupling, weights, "spearman"),
            np.arange(n),
            "prompts",
        ),
        spearman=float(stats.spearmanr(at, coupling).statistic),
        slope=float(line.slope),
        intercept=float(line.intercept),
    )


def _no_trend(
    x: Float[np.ndarray, " prompt"], coupling: Float[np.ndarray, " prompt"], name: str
) -> str:
    if len(x) < 3:
        return f"{counted(len(x), 'prompt')} with both {name} and coupling, and 3 are needed"
    if is_constant(x):
        return f"all prompts have the same {name}"
    return "coupling is the same on all prompts" if is_constant(coupling) else ""
