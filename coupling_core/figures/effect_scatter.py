"""Coupling against the effect of an edit: over the pairs of one model, and by training step."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from coupling_core.analysis.coupling_effect import LEAST_EFFECT, CouplingEffect, Estimate, PairEdit
from coupling_core.analysis.effect_study import EffectStudy
from coupling_core.base.units import counted
from coupling_core.figures import style
from coupling_core.figures.training import HEIGHT, place, step_axis

if TYPE_CHECKING:
    from pandas import DataFrame

_DONE = {"interchange": "interchanged", "replace": "replaced by one another"}


def coupling_against_effect(
    study: EffectStudy, edit: PairEdit = "interchange", *, title: str = ""
) -> go.Figure:
    """A point for each pair of blocks, coloured by how far they are apart.

    Args:
        study: coupling and effects of one model; means over its prompts are drawn.
        edit: of two blocks.
        title: of the model.

    Returns:
        a figure whose trace "pairs" has customdata [l, l', |l - l'|].
    """
    x, y, row, column = _means(study, edit)
    return _scatter(x, y, row + 1, column + 1, len(study.prompts), edit, title)


def pairs_against_effect(found: CouplingEffect) -> go.Figure:
    """The same of the pairs of blocks that a correlation is over."""
    pairs = (found.coupling, found.smallness, found.block, found.other)
    return _scatter(*pairs, found.prompts, found.edit, found.whose)


def _scatter(
    x: np.ndarray,
    y: np.ndarray,
    block: np.ndarray,
    other: np.ndarray,
    n: int,
    edit: PairEdit,
    title: str,
) -> go.Figure:
    apart = other - block
    order = np.argsort(-apart)
    prompts = f"{n} prompt{'s' * (n > 1)}"
    figure = style.new_figure(
        f"Coupling of {len(x)} pairs of blocks against the effect of having them {_DONE[edit]}"
        + f", {title}, mean over {prompts}" * bool(title),
        f"A point for each pair of blocks, mean over {prompts} and both "
        f"directions. Higher: less changes when the two are {_DONE[edit]}. The colour is their "
        "distance. A rise within one colour is what distance does not explain.",
        {"title": title, "source": title},
        height=440,
        xaxis=style.axis("Coupling, chance-corrected (no unit)"),
        yaxis=style.axis("-log KL (KL in nats)"),
    )
    figure.add_trace(
        go.Scatter(
            x=x[order],
            y=y[order],
            mode="markers",
            marker={
                "size": 6,
                "color": apart[order],
                "colorscale": style.SEQUENTIAL,
                "reversescale": True,
                "colorbar": style.color_bar("Distance |l - l'|", "blocks"),
            },
            customdata=np.stack([block, other, apart], 1)[order],
            name="pairs",
            showlegend=False,
            hovertemplate="blocks %{customdata[0]} and %{customdata[1]}, "
            "%{customdata[2]} apart<br>coupling %{x:.3f}<br>-log KL %{y:.2f}<extra></extra>",
        )
    )
    return figure.update_layout(margin_t=80)


def effect_by_step(studies: Mapping[int, EffectStudy], edit: PairEdit, title: str) -> go.Figure:
    """The rank correlations of coupling and effect by training step.

    Args:
        studies: of one training run, by step.
        edit: of two blocks.
        title: of the run.

    Returns:
        a figure with the traces "rho", "distance alone" and "given distance", the last one with
        its 95 % interval over prompts as error bars.
    """
    steps = sorted(studies)
    found = [studies[step].correlated(edit) for step in steps]
    figure = style.new_figure(
        f"Rank correlation of coupling with the smallness of the effect of {edit} by training "
        f"step, {title}",
        f"Over the pairs of blocks of {title}, mean over "
        f"{counted(len(studies[steps[0]].prompts), 'prompt')}. "
        "Bars: 95\u00a0% intervals over prompts. A model of few blocks has few pairs, and one "
        "training run is no sample of training runs.",
        {"source": title},
        height=HEIGHT,
        xaxis=step_axis(steps),
        yaxis=style.axis("Spearman's rho") | {"range": [-1.05, 1.05]},
    )
    looks = (
        ("rho", "raw", style.ACCENT),
        ("distance alone", "distance", style.INK),
        ("given distance", "partial", style.SECOND),
    )
    for name, field, color in looks:
        estimates = [getattr(one, field) for one in found]
        rho = np.array([one.rho for one in estimates])
        figure.add_trace(
            go.Scatter(
                x=place(steps), y=rho, customdata=steps, mode="lines+markers", name=name,
                line={"color": color}, showlegend=True,
                error_y=_bars(estimates, rho) if field == "partial" else None,
                hovertemplate=f"{name}<br>step %{{customdata}}: %{{y:.2f}}<extra></extra>",
            )
        )  # fmt: skip
    return figure


def coupling_against_effect_table(study: EffectStudy, edit: PairEdit) -> "DataFrame":
    """The scatter's twin: a row for each pair of blocks."""
    from pandas import DataFrame

    x, y, row, column = _means(study, edit)
    return DataFrame(
        {
            "block": row + 1,
            "other_block": column + 1,
            "distance": column - row,
            "coupling": x,
            "minus_log_kl": y,
        }
    )


def effect_by_step_table(studies: Mapping[int, EffectStudy], edit: PairEdit) -> "DataFrame":
    """The correlations by step."""
    from pandas import DataFrame

    found = {step: studies[step].correlated(edit) for step in sorted(studies)}
    return DataFrame(
        [
            {
                "step": step,
                "rho": one.raw.rho,
                "distance_alone": one.distance.rho,
                "given_distance": one.partial.rho,
                "low": one.partial.low,
                "high": one.partial.high,
                "mantel_p": one.mantel_p,
                "partial_mantel_p": one.partial_mantel_p,
            }
            for step, one in found.items()
        ]
    )


def _bars(estimates: list[Estimate], rho: np.ndarray) -> dict[str, object]:
    low, high = (np.array([getattr(one, end) for one in estimates]) for end in ("low", "high"))
    return {"type": "data", "symmetric": False, "array": high - rho, "arrayminus": rho - low}


def _means(study: EffectStudy, edit: PairEdit) -> tuple[np.ndarray, ...]:
    """Coupling and -log KL of each pair l < l' that has both, with the two."""
    coupling = study.coupling.astype(np.float64).mean(0)
    effect = -np.log(np.maximum(getattr(study, edit).astype(np.float64), LEAST_EFFECT)).mean(0)
    both = [(values + values.T) / 2 for values in (coupling, effect)]
    row, column = np.nonzero(np.triu(np.isfinite(both[0]) & np.isfinite(both[1]), 1))
    return both[0][row, column], both[1][row, column], row, column
