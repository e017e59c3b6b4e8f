"""Numbers of each of many models: performance and sizes against coupling, and coupling against K.

And coupling against the length or the difficulty of prompts (Figure 10).
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from coupling_core.base.curves import X_TITLES, Curves
from coupling_core.base.errors import InputError
from coupling_core.base.units import counted, rounded, with_minus
from coupling_core.base.wording import MEASURES, once, paragraph
from coupling_core.figures import style
from coupling_core.figures.curves import Series, curves
from coupling_core.figures.training import COLORS, SYMBOLS

if TYPE_CHECKING:  # statistics import scipy and pandas, which pages do without until they need them
    from pandas import DataFrame

    from coupling_core.analysis.statistics import Fit, ModelMeans, PromptTrend, PromptTrends

HEIGHT = 460
SIZE = 9
"""Of a symbol, in pixels."""
DASHES = {"linear": "solid", "exponential": "dash"}
FITS = {"orientation": "h", "x": 0, "y": -0.18, "yanchor": "top"}
"""Place of the legend of the fits, under the axis: their names are long, and would spread out those
of the families."""
BELOW = 92
"""Pixels that axis and legend take below the plot."""
UPRIGHT = {**style.GRID, "automargin": True, "title_standoff": 10}
"""Keeps the title of a vertical axis clear of its numbers."""
OTHERS = "rgba(125, 131, 140, 0.6)"
"""Lines of other models: fainter than the chosen one's, stronger than the grid's."""
ABOUT = ["model", "family", "run", "step", "trained"]
OF_MEAN = ["low", "high", "chance", "prompts", "without"]
AXES = {
    "loss": "Held-out loss (nats a token; lower is better)",
    "score": "Leaderboard score (%)",
    "parameters": "Parameters",
    "layers": "Depth (blocks)",
    "width": "Width d",
    "training_tokens": "Training tokens",
}
LOOKS = "Colour and symbol are the family; an open symbol is a model that is not trained"
COUPLING_BY_K = Curves(
    x="k",
    y="Mean {measure} (no unit)",
    caption="Each line is a model: its mean over prompts with its 95\u00a0% interval. {looks}. "
    "{chance}. A gap is a K at which a model was not measured.",
    at="K = ",
    height=HEIGHT,
)
BY_PROMPT = Curves(
    x="{x}",
    y="Mean {measure} (no unit)",
    caption="Dots: the prompts of {model}, with their least-squares line. Faint lines: the other "
    "models, over their own prompts.{more}",
    at=" ",
    height=420,
)
PROMPT_AXES = {
    "tokens": "Length of the prompt (tokens)",
    "difficulty": "Difficulty of the prompt (1 easy .. 3 hard)",
}


def frame(
    alt: str, caption: str, told: dict[str, Any], x: dict[str, Any], y: dict[str, Any], **more: Any
) -> go.Figure:
    """An empty figure with its axes."""
    axes = {"xaxis": {**x, **style.GRID}, "yaxis": {**UPRIGHT, **y}}
    return style.new_figure(alt, caption, told, **{"height": HEIGHT, **axes, **more})


def over_models(means: "ModelMeans", x: str, y: str, fits: Sequence["Fit"] = ()) -> go.Figure:
    """Two numbers of each model: performance against coupling (Figure 1a), or sizes (Figure 9)."""
    table = over_models_table(means, x, y).sort_values("trained", ascending=False, kind="stable")
    drawn = [fit for fit in fits if not fit.reason]
    figure = frame(
        _models_alt(table, x, y, drawn),
        _models_caption(means, x, y, fits),
        {"title": f"{short(y)} against {short(x)}"},
        _axis(means, x, table),
        _axis(means, y, table),
    )
    if drawn:
        figure.update_layout(legend2=FITS, margin_b=BELOW)
        figure.layout.meta["below"] = BELOW
    for fit in drawn:
        line = style.line(fit.x, fit.y, fit.told, line_dash=DASHES[fit.form])
        line.update(uid=fit.form, legend="legend2", hoverinfo="skip")
        figure.add_traces([style.band(fit.x, fit.low, fit.high, "band"), line])
    looks = family_looks(means.rows["family"])
    _chance(figure, means, x, y, table, [looks[family][0] for family in table["family"]])
    for name, run in table.groupby("run", sort=False):
        if len(run) > 1:
            steps, (color, _) = run.sort_values("step"), looks[run["family"].iloc[0]]
            line = style.line(steps[x], steps[y], f"run {name}", color, 1, hoverinfo="skip")
            figure.add_trace(line.update(showlegend=False))
    for family, rows in table.groupby("family", sort=False):
        color, symbol = looks[str(family)]
        error = f"error_{'x' if x == 'coupling' else 'y'}"
        symbols = [symbol if trained else f"{symbol}-open" for trained in rows["trained"]]
        models = style.dots(
            rows[x],
            rows[y],
            str(family),
            {"color": color, "size": SIZE, "symbol": symbols},
            (),
            customdata=rows["model"],
            **({error: bars(rows, color)} if "coupling" in (x, y) else {}),
            showlegend=True,
            hovertemplate=f"%{{customdata}}<br>{x.replace('_', ' ')} %{{x:.4g}}, "
            f"{y.replace('_', ' ')} %{{y:.4g}}<extra>{family}</extra>",
        )
        figure.add_trace(models)
    return figure


def over_models_table(means: "ModelMeans", x: str, y: str) -> "DataFrame":
    """Twin of the scatter: a row a model that has both numbers, with the interval of coupling."""
    of_mean = OF_MEAN if "coupling" in (x, y) else []
    rows = means.rows.dropna(subset=[x, y])
    return rows[[*ABOUT, x, y, *of_mean]].reset_index(drop=True)


def fits_table(fits: Sequence["Fit"]) -> "DataFrame":
    """Twin of the fits: a row a fit."""
    from pandas import DataFrame

    names = ("form", "n", "r_squared", "r_squared_y", "p", "intercept", "slope")
    return DataFrame(
        {"fit": fit.form}
        | {name: getattr(fit, name) for name in names}
        | {"low": fit.over_models.low, "high": fit.over_models.high}
        | {f"clustered_{name}": getattr(fit.over_clusters, name) for name in ("p", "low", "high")}
        | {"reason": fit.reason}
        for fit in fits
    )


def coupling_by_k(means: Mapping[int, "ModelMeans"]) -> go.Figure:
    """Coupling of each model, a trace each, against K, with intervals over prompts."""
    table, ks = coupling_by_k_table(means), np.array(sorted(means))
    is_raw = any(found.measure == "coupling" for found in means.values())
    looks = family_looks(table["family"])
    series: list[Series] = []
    named: set[str] = set()  # families in the legend
    for (trained, model), found in table.groupby(["trained", "model"], sort=False):
        family = found["family"].iloc[0]
        color, symbol = looks[family]
        rows = found.set_index("k").reindex(ks)  # a K at which it was not measured is a gap
        if is_raw:
            level, hidden = rows["chance"].to_numpy(), {"showlegend": False}
            series.append(Series("chance", ks, level, color, 1, "dash", hover=False, more=hidden))
        more = {"name": family, "legendgroup": family, "showlegend": family not in named}
        more |= {"error_y": bars(rows, color), "customdata": [model] * len(ks)}
        mark, own = symbol if trained else f"{symbol}-open", rows["coupling"].to_numpy()
        series.append(Series(str(model), ks, own, color, 1.5, marks=7, symbol=mark, more=more))
        named.add(family)
    figure = curves(
        series,
        COUPLING_BY_K,
        f"{counted(table['model'].nunique(), 'model')} of {counted(len(looks), 'family')}",
        {
            "measure": MEASURES[next((found.measure for found in means.values()), "corrected")],
            "looks": LOOKS,
            "chance": "Dashed lines are the chance levels" if is_raw else "Dotted line: chance",
        },
        xaxis=k_axis(means),
        yaxis=UPRIGHT,
        told={"title": "coupling against K"},
    )
    return figure if is_raw else figure.add_hline(y=0, line=style.DOTTED)


def coupling_by_k_table(means: Mapping[int, "ModelMeans"]) -> "DataFrame":
    """Twin of coupling against K: a row a model and K that has a number."""
    from pandas import DataFrame, concat

    columns = ["model", "family", "trained", "k", "coupling", *OF_MEAN]
    rows = [found.rows for found in means.values()] or [DataFrame(columns=columns)]
    wanted, order = concat(rows).dropna(subset="coupling")[columns], ["trained", "model", "k"]
    rising = [False, True, True]
    return wanted.sort_values(order, ascending=rising, kind="stable", ignore_index=True)


def coupling_by_prompt(trends: "PromptTrends", model: str) -> go.Figure:
    """Coupling of one model on every prompt, over the lines of the other models."""
    names = [one.model for one in trends.models]
    if model not in names:
        raise InputError(f"model {model!r} is not in this sweep: it has {', '.join(names)}")
    own, mean = trends.models[names.index(model)], trends.mean
    others = [one for one in trends.models if one is not own and not one.rho.reason]
    dots = {"customdata": own.prompt, "hovertemplate": "%{customdata}<br>%{y:.3f}<extra></extra>"}
    series = [_trend(one, one.model, OTHERS, 1.2) for one in others]
    look = {**dots, "marker_opacity": 0.7}
    series.append(Series("prompts", own.x, own.coupling, style.ACCENT, 0, marks=7, more=look))
    if not own.rho.reason:
        series.append(_trend(own, "trend", style.ACCENT, 2.5))
    more = paragraph(
        (own.rho.reason, f"{model} has no line: {own.rho.reason}."),
        (own.without, f"{own.without} of its prompts lack a number."),
        (mean.reason, f"No mean over models: {mean.reason}."),
        (
            not mean.reason,
            f"Spearman's correlation is {rounded(mean.estimate, 2)} on average over {mean.n} "
            f"models, each checkpoint counted ({mean.over.told}).",
        ),
    )
    title = f"coupling of {model} against {trends.x_name}"
    few = {"tickvals": [1, 2, 3], "range": [0.8, 3.2]} if trends.x_name == "difficulty" else {}
    rho = own.rho.reason or f"{rounded(own.rho.estimate, 2)} ({own.rho.over.told})"
    figure = curves(
        series,
        BY_PROMPT,
        f"{title}, and of {counted(len(others), 'other model')}",
        {
            "x": PROMPT_AXES[trends.x_name],
            "measure": MEASURES[trends.measure],
            "model": model,
            "more": f" {more}",
        },
        also=f" Rank correlation within {model}: {rho}.",
        xaxis={**style.GRID, **few},
        yaxis=UPRIGHT,
        told={"title": title},
    )
    return figure.update_layout(showlegend=False)


def by_prompt_table(model: "PromptTrend", x_name: str) -> "DataFrame":
    """Twin of one model's prompts: columns prompt, the number of the prompt, coupling."""
    from pandas import DataFrame

    return DataFrame({"prompt": model.prompt, x_name: model.x, "coupling": model.coupling})


def _trend(trend: "PromptTrend", name: str, color: str, width: float) -> Series:
    ends, slope = np.array([trend.x.min(), trend.x.max()]), with_minus(f"{trend.slope:.2g}")
    hover = f"{trend.model}: {slope} per unit<extra></extra>"
    more = {"customdata": [trend.model] * 2, "hovertemplate": hover}
    return Series(name, ends, trend.intercept + trend.slope * ends, color, width, more=more)


def family_looks(families: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Colour and symbol of each family, in alphabetical order: they differ without colours too."""
    looks = zip(cycle(COLORS), cycle(SYMBOLS), strict=False)
    return dict(zip(sorted(set(families)), looks, strict=False))


def bars(
    rows: "DataFrame", color: str, of: str = "coupling", prefix: str = "", **look: object
) -> dict[str, object]:
    """Error bars of a column from those of its ends; none if its interval is unknown."""
    return style.bars(rows[of], rows[f"{prefix}low"], rows[f"{prefix}high"], color, **look)


def k_axis(ks: Iterable[int]) -> dict[str, object]:
    """The axis of K."""
    return style.axis(X_TITLES["k"], **_log_where_decades(np.array([*ks], np.float64)))


def short(column: str) -> str:
    """What a sentence calls a column."""
    return "depth" if column == "layers" else column.replace("_", " ")


def _axis(means: "ModelMeans", name: str, table: "DataFrame") -> dict[str, object]:
    if name == "coupling":
        return style.axis(f"Mean {MEASURES[means.measure]}, {means.k_name}")
    is_size = name not in ("loss", "score")
    scale = _log_where_decades(table[name].to_numpy(np.float64)) if is_size else {}
    return style.axis(AXES[name], **scale)


def _log_where_decades(values: Float[np.ndarray, " point"]) -> dict[str, object]:
    """A log axis if positive numbers span an order of magnitude."""
    spans = values.size and values.min() > 0 and values.max() >= 10 * values.min()
    return style.log_axis(values) if spans else {}


def _chance(
    figure: go.Figure, means: "ModelMeans", x: str, y: str, table: "DataFrame", colors: list[str]
) -> None:
    """Chance on the axis of coupling: a dotted line at 0, or a tick for each model's level."""
    if means.measure == "coupling" and "coupling" in (x, y):
        ends = table.assign(coupling=table["chance"])
        symbol = "line-ns-open" if x == "coupling" else "line-ew-open"
        look = {"symbol": symbol, "size": 10, "line": {"width": 2}, "color": colors}
        ticks = style.dots(ends[x], ends[y], "chance", look, showlegend=False, hoverinfo="skip")
        figure.add_trace(ticks)
    elif x == "coupling":
        figure.add_vline(0, line=style.DOTTED)
    elif y == "coupling":
        figure.add_hline(0, line=style.DOTTED)


def _models_alt(table: "DataFrame", x: str, y: str, fits: Sequence["Fit"]) -> str:
    """Of two numbers of each model, whose rows have both."""
    title = f"{short(y).capitalize()} against {short(x)}"
    if table.empty:
        return f"{title}: no model has both numbers."
    models, families = (counted(table[of].nunique(), of) for of in ("model", "family"))
    spans = (f"{short(of)} from {table[of].min():.3g} to {table[of].max():.3g}" for of in (x, y))
    told = f"{title}: {models} of {families}, {' and '.join(spans)}."
    return " ".join([told, *(f"Fit, {fit.told}." for fit in fits)])


def _models_caption(means: "ModelMeans", x: str, y: str, fits: Sequence["Fit"]) -> str:
    missing = list(means.rows["model"][means.rows[[x, y]].isna().any(axis=1)])
    of_coupling, is_raw = "coupling" in (x, y), means.measure == "coupling"
    return paragraph(
        f"{LOOKS}; a thin line joins the checkpoints of one training run by step.",
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


def _slope(fit: "Fit") -> str:
    if fit.reason:
        return f"No {fit.form} fit: {fit.reason}."
    over = fit.over_clusters
    interval = over.reason or (
        f"95\u00a0% from {over.low:.3g} to {over.high:.3g}, {over.p_told}, over whole {over.of}"
    )
    return f"Slope of the {fit.form} fit: {fit.slope:.3g} ({interval})."


def _some(names: Sequence[str], most: int = 4) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")
