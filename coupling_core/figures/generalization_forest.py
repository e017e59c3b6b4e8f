"""Correlations with their intervals: a row for each family or model, or a place for each K."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from coupling_core.base.units import with_minus
from coupling_core.figures import style
from coupling_core.figures.generalization import bars, frame, k_axis, short

if TYPE_CHECKING:  # statistics import scipy and pandas, which pages do without until they need them
    from pandas import DataFrame

    from coupling_core.analysis.statistics import Correlation, LeaveOneFamilyOut, PromptTrends

COEFFICIENTS = {"pearson": "Pearson's r", "spearman": "Spearman's ρ"}  # noqa: RUF001 - rho it is
ROW, MARGINS = 30, 110
"""Pixels."""
BELOW = 86
"""Pixels of the axis in a file, whose title has two lines."""
SOFT = {style.ACCENT: "rgba(228, 87, 46, 0.45)", style.INK: "rgba(125, 131, 140, 0.45)"}
SIGNIFICANT = 0.05
BARS = (
    "Thick bars: 95\u00a0% interval over models, as if they were independent; thin bars: over "
    "whole {of}, if there are enough."
)
FAMILIES = (
    f"The correlation over all models, and without each family. {BARS} Within: each family's mean "
    "is subtracted first. Between: of the families' means. {verdict} {counted}"
)
PROMPTS = (
    "Rank correlation over prompts within each model, with its 95\u00a0% interval; of a training "
    "run its last checkpoint. The mean is over these models; its interval leaves out the same "
    "prompt of all of them. Prompts count as independent, which those of one source may not be."
)
BY_K = (
    f"Correlation over models at each K. {BARS} A filled symbol has p < 0.05 over whole {{of}}. A "
    "gap has no number."
)


def without_families(found: "LeaveOneFamilyOut") -> go.Figure:
    """A correlation over all models, without each family, within families and between them."""
    of, points = found.overall.over.of, found.points
    names = f"{short(points.x_name)} and {short(points.y_name)}"
    caption = FAMILIES.format(of=of, verdict=found.verdict, counted=points.counted)
    return _forest(found.rows, f"{COEFFICIENTS[found.overall.method]} of {names}", caption)


def prompt_correlations(trends: "PromptTrends") -> go.Figure:
    """Rank correlation of coupling and a number of the prompt, within each model (Figure 10)."""
    title = f"{COEFFICIENTS['spearman']} of coupling and {trends.x_name}"
    return _forest(trends.rows, title, PROMPTS)


def correlation_by_k(found: Mapping[int, "Correlation"], y: str) -> go.Figure:
    """Correlation of coupling and performance against K (the preprint's section 5.4)."""
    table = correlations_table(found, "k")
    method, of = next(((one.method, one.over.of) for one in found.values()), ("pearson", ""))
    title = f"{COEFFICIENTS[method]} of coupling and {short(y)}"
    figure = frame(
        estimates_told(title, {f"K = {k}": one for k, one in found.items()}),
        BY_K.format(of=of),
        {"title": f"correlation of coupling and {short(y)} against K"},
        k_axis(found),
        style.axis(title, range=[-1.05, 1.05]),
    )
    figure.add_hline(y=0, line=style.DOTTED)
    symbols = np.where(table["p"] < SIGNIFICANT, "circle", "circle-open")
    for name, error in _intervals(table, style.ACCENT, "correlation"):
        figure.add_scatter(
            x=table["k"],
            y=table["estimate"],
            name=name,
            error_y=error,
            customdata=table["n"],
            mode="lines+markers",
            line={"color": style.ACCENT, "width": 1.5},
            marker={"size": 10, "symbol": symbols},
            showlegend=False,
            hovertemplate="K = %{x}: %{y:.2f}, n = %{customdata}<extra></extra>",
        )
    return figure


def correlations_table(
    found: Mapping[str, "Correlation"] | Mapping[int, "Correlation"], of: str = "row"
) -> "DataFrame":
    """Twin of these figures: a row a correlation, NaN and a reason where there is none.

    p, outer_low and outer_high are over families; low and high as if models were independent.
    """
    from pandas import DataFrame

    columns = [of, "n", "estimate", "p", "low", "high", "outer_low", "outer_high", "reason"]
    rows = []
    for name, one in found.items():
        inner, outer = one.over_models, one.over_clusters
        ends = (outer.low, outer.high) if outer else (np.nan, np.nan)
        numbers = one.n, one.estimate, one.over.p, inner.low, inner.high
        rows.append((name, *numbers, *ends, inner.reason))
    return DataFrame(rows, columns=columns)


def estimates_told(title: str, found: Mapping[str, "Correlation"]) -> str:
    """Every correlation with the interval that its p goes with, or why it has none."""
    return f"{title}. {'; '.join(f'{name}: {_told(one)}' for name, one in found.items())}."


def _told(found: "Correlation") -> str:
    if found.reason:
        return found.reason
    over = found.over
    interval = "" if over.reason else f" [{over.low:z.2f}, {over.high:z.2f}], p = {over.p:.2g}"
    return with_minus(f"{found.estimate:z.2f}{interval}, n = {found.n}")


def _intervals(rows: "DataFrame", color: str, name: str) -> Iterator[tuple[str, dict[str, object]]]:
    """Names and error bars of both traces: thick ones over models, those over families capped."""
    inner, outer = {"thickness": 7, "width": 0}, {"thickness": 1.5, "width": 6}
    yield name, bars(rows, SOFT[color], "estimate", "", **inner)
    yield "outer", bars(rows, color, "estimate", "outer_", **outer)


def _forest(found: Mapping[str, "Correlation"], title: str, caption: str) -> go.Figure:
    """A forest plot: the first row, which the others are compared with, has the accent."""
    table = correlations_table(found).assign(text=[_told(one) for one in found.values()])
    figure = frame(
        estimates_told(title, found),
        caption,
        {"title": title, "below": BELOW},
        style.axis(style.two_lines(*title.split(" of ", 1)), range=[-1.08, 1.08]),
        {
            "type": "category",
            "categoryorder": "array",
            "categoryarray": list(table["row"][::-1]),
            "range": [-0.6, len(table) - 0.4],
            "showgrid": False,
            "ticks": "",
        },
        height=ROW * len(table) + MARGINS,
        showlegend=False,
    )
    figure.add_vline(x=0, line={"color": style.INK, "width": 1})
    is_known = np.isfinite(table["estimate"])
    if is_known[0]:
        figure.add_vline(x=table["estimate"][0], line=style.DOTTED | {"color": style.ACCENT})
    # A trace for each colour: plotly has one for all bars of a trace.
    for color, of_color in ((style.ACCENT, table.index == 0), (style.INK, table.index > 0)):
        rows = table[is_known & of_color]
        for name, error in _intervals(rows, color, "estimate"):
            look = {"color": color, "size": 10, "symbol": "square"}
            some = style.dots(rows["estimate"], rows["row"], name, look, customdata=rows["row"])
            hover = "%{y}: %{text}<extra></extra>"
            figure.add_trace(some.update(error_x=error, text=rows["text"], hovertemplate=hover))
    none = table[~is_known]
    reasons = style.dots([0.0] * len(none), none["row"], "no estimate", {}, hoverinfo="skip")
    reasons.update(mode="text", text=none["reason"], textfont={"size": 11})
    return figure.add_trace(reasons)
