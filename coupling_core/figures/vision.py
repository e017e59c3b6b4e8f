"""Vision transformers: a picture whose patches are tokens, maps by rate, and numbers of runs."""

from collections.abc import Mapping
from functools import partial
from itertools import cycle
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import plotly.graph_objects as go
from jaxtyping import UInt8

from coupling_core.analysis.exports import frame as scores_table
from coupling_core.analysis.scores import Interval, score_pairs
from coupling_core.base.records import View
from coupling_core.base.results import DepthResult
from coupling_core.base.units import counted, percent, rounded, with_minus
from coupling_core.figures import style
from coupling_core.figures.generalization import SIZE, bars, frame
from coupling_core.figures.score_squares import ScoreSquare, score_look
from coupling_core.figures.squares import Square, panels, rectangle
from coupling_core.figures.training import SYMBOLS

if TYPE_CHECKING:  # pandas is slow to import, and pages do without until they need it
    from pandas import DataFrame

PATCH = "patch "
SIDE = 250  # of a picture, in pixels
MAP = 260  # of each map where there is room: pages let it be lower in a narrow column
TITLES = 44  # pixels above the maps for their titles
FLOOR = 18  # pixels more, for the chance floor of raw scores
COLUMN_TITLE = "Basis l'"  # short, for on a small screen the maps are narrow


def picture(
    pixels: UInt8[np.ndarray, "height width channel"],
    tokens: tuple[str, ...],
    token: int,
    *,
    source: str = "",
) -> go.Figure:
    """A picture with the grid of its patches, and the tokens before them above it."""
    # The last token is named after its place, and so tells how many patches there are.
    rows, columns = (int(part) for part in tokens[-1].removeprefix(PATCH).split(","))
    before = len(tokens) - rows * columns
    shown = np.broadcast_to(pixels, (*pixels.shape[:2], 3))
    height, width = shown.shape[:2]
    step_y, step_x = height / rows, width / columns
    figure = style.new_figure(
        f"A picture of {columns} by {rows} patches and {before} other tokens; chosen is token "
        f"{token} of {len(tokens)}, {tokens[token - 1]}.",
        "Each square is a patch, and so a token; the squares above are the tokens before them.",
        {
            "title": f"A picture and its {len(tokens)} tokens",
            "source": source,
            "on_page": "A click chooses a token.",
        },
        height=SIDE + 70,
        hoverdistance=-1,  # every pixel belongs to the square whose middle is nearest
        xaxis={"visible": False, "range": [-0.5, width - 0.5], "constrain": "domain"},
        yaxis={
            "visible": False,
            "range": [height - 0.5, -0.5 - 1.4 * step_y],
            "scaleanchor": "x",
            "constrain": "domain",
        },
    )
    figure.add_image(z=shown, hoverinfo="skip", name="picture")
    places = [(t, -1.25) for t in range(before)]  # a quarter of a step over the picture
    places += [(column, row) for row in range(rows) for column in range(columns)]
    x, y = ((np.array(places, float) + 0.5) * (step_x, step_y) - 0.5).T.tolist()
    squares = [rectangle(*centre, step_x, step_y) for centre in zip(x, y, strict=True)]
    for square in squares:
        figure.add_shape(**square, line={"color": style.INK, "width": 1})
    accent = {"color": style.ACCENT, "width": 3}
    figure.add_shape(**squares[token - 1], line=accent, name="selected")
    texts = [f"token {i}: {name}" for i, name in enumerate(tokens, 1)]
    look = {"customdata": list(range(1, len(tokens) + 1)), "showlegend": False}
    figure.add_trace(style.dots(x, y, "tokens", style.PICKED, texts, **look))
    for name, left, up in zip(tokens[:before], x, y, strict=False):
        figure.add_annotation(x=left, y=up, text=name, showarrow=False)
    return figure.update_layout(margin={"l": 0, "r": 0, "t": 4, "b": 4})


def rate_maps(
    results: Mapping[float, DepthResult],
    view: View,
    *,
    corrected: bool = True,
    selected: tuple[int, int] | None = None,
    source: str = "",
) -> go.Figure:
    """The score maps of models that differ in their rate of stochastic depth, in one range."""
    listed = ", ".join(f"rate {rate:g}" for rate in sorted(results))
    more, drawn, titles = FLOOR * (not corrected), [], []
    for rate in sorted(results):
        shown = ScoreSquare.of(score_pairs(results[rate], view))
        z, mean = shown.colored(corrected=corrected), shown.found.mean()
        colors = shown.heatmap(z, coloraxis="coloraxis", hoverinfo="skip", name=f"rate {rate:g}")
        drawn.append((shown, shown.traces(colors, shown.why, shown.hover_texts())))
        raw = f"{rounded(mean.coupling)}<br>chance {rounded(mean.chance)}"
        of_map = with_minus(rounded(mean.corrected)) if corrected else raw
        titles.append(f"Rate {rate:g}<br>{of_map}")
    figure = panels(drawn, titles, spacing=0.02, most=4)
    means = (f"Mean at r{title[1:].replace('<br>', ': ', 1)}" for title in titles)
    empty = style.new_figure(
        f"Score maps over all pairs of blocks at {listed}. "
        + ". ".join(means).replace("<br>", ", "),
        "The same image, token and range for each rate, with the mean of each map. Row l is "
        "the block of the Jacobian, column l' that of the basis; the diagonal is 1 by construction "
        "and enters no mean.",
        {"title": f"Score maps at {listed}", "source": source},
        height=MAP + 220 + more,
        margin={"l": 56, "r": 16, "t": 140 + more, "b": 80, "autoexpand": False},
        legend=style.BELOW,
    )
    figure.update_layout(empty.layout)
    for column, (shown, _) in enumerate(drawn, 1):
        for shape in shown.outlines(selected):
            figure.add_shape(**shape, row=1, col=column)
        if column > 1:
            figure.update_yaxes(ticks="", showticklabels=False, row=1, col=column)
    figure.update_annotations(font={"size": 13})
    # Plotly would draw these as titles of the axes over the maps, since the bar has room below it.
    for title in tuple(figure.layout.annotations):
        below = {"text": COLUMN_TITLE, "y": 0, "yanchor": "top", "yshift": -26}
        figure.add_annotation(title.to_plotly_json() | below)
    # Each square by itself: plotly keeps only the first of axes that match one another square.
    figure.update_xaxes(title=None, automargin=False, constraintoward="center")
    figure.update_yaxes(title=None, automargin=False)
    figure.update_yaxes(title={"text": Square.titles[0]}, col=1)
    look = score_look(np.zeros(0), view, corrected=corrected)
    scale = {"cmin": look["zmin"], "cmax": look["zmax"], "colorscale": look["colorscale"]}
    # In pixels, so that it keeps clear of the titles of the maps however low these are.
    place = {"y": 1, "ypad": TITLES + more, "len": 250}
    return figure.update_layout(coloraxis=scale | {"colorbar": look["colorbar"] | place})


def rate_maps_table(results: Mapping[float, DepthResult], view: View) -> "DataFrame":
    """Twin of the maps: columns rate, block (of the Jacobian), basis, and the three scores."""
    from pandas import concat

    tables = {rate: scores_table(results[rate], view) for rate in sorted(results)}
    return concat(tables, names=["rate"]).reset_index("rate").reset_index(drop=True)


def vision_runs(
    rows: "DataFrame",
    x: str,
    y: str,
    names: Mapping[str, str],
    by_rate: Mapping[float, Interval] | None = None,
    *,
    chosen: str = "",
    source: str = "",
) -> go.Figure:
    """Two numbers of every run: coupling or accuracy by rate, or one against the other.

    A row is a run, `names` are of the axes, and `by_rate` has the means of y over seeds.
    """
    parts, title = "seed" if x == "rate" else "rate", f"{names[y]} against {names[x].lower()}"
    y_axis: dict[str, Any] = {"title": {"text": names[y]}}
    times, number = 1.0, cast(Any, rounded)
    if y == "accuracy":  # in percent
        times, number = 100.0, partial(percent, digits=1)
        y_axis |= {"ticksuffix": "\u00a0%", "hoverformat": ".1f"}
    means, read = "", "Bars are 95\u00a0% intervals over images."
    if by_rate:
        read = "The line joins the means of the seeds, the band is their 95\u00a0% interval."
    for rate, over in (by_rate or {}).items():
        of, least, most = (with_minus(number(end)) for end in (over.mean, over.low, over.high))
        means += f" At rate {rate:g}: {of} ({least} to {most})."
    figure = frame(
        f"{title} of {counted(len(rows), 'run')}.{means}",
        f"Each point is a run, each symbol a {parts}. {read}",
        {"title": title, "source": source},
        {"title": {"text": style.two_lines(*names[x].split(", ", 1))}},
        y_axis,
    )
    if by_rate:
        rates = np.array(sorted(by_rate))
        low, high, mean = (
            times * np.array([getattr(by_rate[rate], end) for rate in rates])
            for end in ("low", "high", "mean")
        )
        figure.add_trace(style.band(rates, low, high, "interval"))
        figure.add_trace(style.line(rates, mean, "Mean over seeds", hoverinfo="skip", uid="mean"))
    if "coupling" in (x, y) and not rows["chance"].any():
        (figure.add_vline if x == "coupling" else figure.add_hline)(0, line=style.DOTTED)
    looks = cycle(zip(style.CATEGORIES, SYMBOLS, strict=False))
    for (value, some), (color, symbol) in zip(rows.groupby(parts), looks, strict=False):
        sizes = [SIZE + 4 * (f"{rate:g}" == chosen) for rate in some["rate"]]
        look = {"color": color, "size": sizes, "symbol": symbol}
        texts = [f"rate {run.rate:g}, seed {run.seed}" for run in some.itertuples()]
        name, shown = f"{parts.capitalize()} {value:g}", some["rate"].map("{:g}".format)
        runs = style.dots(some[x], times * some[y], name, look, texts, customdata=shown)
        if "coupling" in (x, y):
            runs[f"error_{'x' if x == 'coupling' else 'y'}"] = bars(some, color)
        figure.add_trace(runs.update(hovertemplate="%{text}<br>%{x}, %{y}<extra></extra>"))
    return figure
