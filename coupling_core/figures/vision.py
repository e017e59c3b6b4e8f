"""Vision transformers: a picture whose patches are tokens, maps by rate, and numbers of runs."""

from collections.abc import Mapping
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go
from jaxtyping import UInt8
from plotly.subplots import make_subplots

from coupling_core.analysis.exports import frame as scores_table
from coupling_core.analysis.scores import Interval, Scores, score_pairs
from coupling_core.base.records import View
from coupling_core.base.results import DepthResult
from coupling_core.base.units import counted, percent, rounded, with_minus
from coupling_core.figures import cells, pairs, style
from coupling_core.figures.generalization import HEIGHT, SIZE, bars, upright
from coupling_core.figures.training import SYMBOLS

if TYPE_CHECKING:  # pandas is slow to import, and pages do without until they need it
    from pandas import DataFrame

PATCH = "patch "
SIDE = 250
"""Of a picture, in pixels."""
MAP = 260
"""Of each map where there is room: pages let it be lower in a narrow column."""
TITLES = 44
"""Pixels above the maps for their titles."""
FLOOR = 18
"""Pixels more, for the chance floor of raw scores."""
COLUMN_TITLE = "Basis l'"
"""Short, for on a small screen the maps are narrow."""
_PERCENT: dict[str, object] = {"ticksuffix": "\u00a0%", "hoverformat": ".1f"}
"""Of an axis of accuracies, which are drawn in percent."""


def patch_grid(tokens: tuple[str, ...]) -> tuple[int, int, int]:
    """Rows and columns of patches, and the number of tokens before them; zeros for no picture."""
    if not tokens or not tokens[-1].startswith(PATCH):
        return 0, 0, len(tokens)
    rows, columns = (int(part) for part in tokens[-1].removeprefix(PATCH).split(","))
    return rows, columns, len(tokens) - rows * columns


def picture(
    pixels: UInt8[np.ndarray, "height width channel"],
    tokens: tuple[str, ...],
    token: int,
    *,
    source: str = "",
) -> go.Figure:
    """A picture with the grid of its patches, by which a token is chosen.

    Args:
        pixels: as the model is shown them.
        tokens: their names; those before the patches stand in a row above the picture.
        token: the chosen one, 1..n.
        source: where the picture comes from, for files.

    Returns:
        a figure whose trace "tokens" takes clicks, with customdata t.
    """
    rows, columns, before = patch_grid(tokens)
    shown = np.broadcast_to(pixels, (*pixels.shape[:2], 3)) if pixels.shape[2] == 1 else pixels
    height, width = shown.shape[:2]
    step_y, step_x = height / max(rows, 1), width / max(columns, 1)
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
    x = [(t + 0.5) * step_x - 0.5 for t in range(before)]
    y = [-0.5 - 0.75 * step_y] * before
    x += [(c + 0.5) * step_x - 0.5 for _ in range(rows) for c in range(columns)]
    y += [(r + 0.5) * step_y - 0.5 for r in range(rows) for _ in range(columns)]
    faint = {"color": style.INK, "width": 1}
    squares = [cells.rectangle(*centre, step_x, step_y) for centre in zip(x, y, strict=True)]
    for square in squares:
        figure.add_shape(**square, line=faint)
    accent = {"color": style.ACCENT, "width": 3}
    figure.add_shape(**squares[token - 1], line=accent, name="selected")
    figure.add_scatter(
        x=x,
        y=y,
        customdata=list(range(1, len(tokens) + 1)),
        text=[f"token {i}: {name}" for i, name in enumerate(tokens, 1)],
        mode="markers",
        marker={"size": style.PICKED_PIXELS, "opacity": 0},
        hovertemplate="%{text}<extra></extra>",
        name="tokens",
        showlegend=False,
    )
    for number, name in enumerate(tokens[:before]):
        figure.add_annotation(x=x[number], y=y[number], text=name, showarrow=False)
    return figure.update_layout(margin={"l": 0, "r": 0, "t": 4, "b": 4})


def rate_maps(
    results: Mapping[float, DepthResult],
    view: View,
    *,
    corrected: bool = True,
    selected: tuple[int, int] | None = None,
    source: str = "",
) -> go.Figure:
    """The score maps of models that differ in their rate of stochastic depth, in one range.

    Args:
        results: by rate, of the same picture and token.
        view: K, definition and role.
        corrected: draw the chance-corrected score, else c.
        selected: the pair (l, l') to outline in each.
        source: where the numbers come from, for files.

    Returns:
        a figure with a map a rate, whose traces "pairs" take clicks, with customdata [l, l'].
    """
    rates = sorted(results)
    found = {rate: score_pairs(results[rate], view) for rate in rates}
    means = {rate: _mean_told(found[rate], corrected) for rate in rates}
    told, more = ", ".join(f"rate {rate:g}" for rate in rates), FLOOR * (not corrected)
    figure = make_subplots(
        1,
        max(1, len(rates)),
        horizontal_spacing=0.02,
        subplot_titles=[_title(rate, means) for rate in rates],
    )
    look = style.new_figure(
        f"Score maps over all pairs of blocks at {told}. "
        + ". ".join(f"Mean at rate {r:g}: {m.replace('<br>', ', ')}" for r, m in means.items()),
        "The same picture, token and range for each rate, with the mean of each map. Row l is "
        "the block of the Jacobian, column l' that of the basis; the diagonal is 1 by construction "
        "and enters no mean.",
        {"title": f"Score maps at {told}", "source": source},
        height=MAP + 220 + more,
        margin={"l": 56, "r": 16, "t": 140 + more, "b": 80, "autoexpand": False},
        legend=style.BELOW,
    )
    figure.update_layout(look.layout)
    low, high = style.score_range(np.zeros(0), corrected, False)
    named: set[str] = set()  # a reason for grey cells stands once in the legend
    for column, rate in enumerate(rates, 1):
        numbers = found[rate]
        at = np.arange(len(numbers.blocks), dtype=np.float64)
        z = pairs.colored(numbers, corrected)
        heat = go.Heatmap(
            x=at, y=at, z=z, coloraxis="coloraxis", hoverinfo="skip", name=f"rate {rate:g}"
        )
        figure.add_trace(heat, 1, column)
        if grey := pairs.grey_cells(results[rate], numbers, at):
            figure.add_trace(grey.update(showlegend=grey.name not in named), 1, column)
            named.add(grey.name)
        figure.add_trace(pairs.points(results[rate], numbers, at), 1, column)
        axes = pairs.axes(at, numbers.blocks, side=1, most=4)
        # Each square by itself: plotly keeps only the first of axes that match one another square.
        figure.update_xaxes(axes["xaxis"], constraintoward="center", row=1, col=column)
        figure.update_yaxes(axes["yaxis"], row=1, col=column)
        anchor = "x" if column == 1 else f"x{column}"
        figure.update_yaxes(scaleanchor=anchor, row=1, col=column)
        if column > 1:
            figure.update_yaxes(ticks="", showticklabels=False, row=1, col=column)
        if selected and set(selected) <= set(numbers.blocks):
            shape = pairs.outline(numbers.blocks, at, selected, side=1)
            figure.add_shape(**shape, row=1, col=column)
    figure.update_annotations(font={"size": 13})
    # Plotly would draw these as titles of the axes over the maps, since the bar has room below it.
    for title in tuple(figure.layout.annotations):
        below = {"x": title.x, "xanchor": "center", "y": 0, "yanchor": "top", "yshift": -26}
        figure.add_annotation(
            text=COLUMN_TITLE,
            xref="paper",
            yref="paper",
            showarrow=False,
            font={"size": 13},
            **below,
        )
    figure.update_xaxes(title=None, automargin=False)
    figure.update_yaxes(title=None, automargin=False)
    figure.update_yaxes(title={"text": pairs.ROW_TITLE}, col=1)
    # In pixels, so that it keeps clear of the titles of the maps however low these are.
    bar = style.score_bar(view, corrected, False, y=1, ypad=TITLES + more, len=250)
    figure.update_layout(
        coloraxis={"cmin": low, "cmax": high, "colorscale": style.SEQUENTIAL, "colorbar": bar}
    )
    return figure


def rate_maps_table(results: Mapping[float, DepthResult], view: View) -> "DataFrame":
    """Twin of the maps: a row a rate and pair.

    Returns:
        columns rate, block (of the Jacobian), basis, coupling, chance, corrected.
    """
    from pandas import concat

    tables = {rate: scores_table(results[rate], view) for rate in sorted(results)}
    return concat(tables, names=["rate"]).reset_index("rate").reset_index(drop=True)


def _mean_told(found: Scores, corrected: bool) -> str:
    mean = found.mean()
    if corrected:
        return with_minus(rounded(mean.corrected))
    return f"{rounded(mean.coupling)}<br>chance {rounded(mean.chance)}"


def _title(rate: float, means: Mapping[float, str]) -> str:
    return f"Rate {rate:g}<br>{means[rate]}"


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

    Args:
        rows: a row a run, with its rate, seed, accuracy, and coupling with its interval.
        x: column "rate" or "coupling".
        y: column "coupling", or "accuracy", which is drawn in percent.
        names: of the axes, by column.
        by_rate: mean of y at each rate with its interval over seeds, drawn as a line.
        chosen: the rate to mark; "" for none.
        source: where the numbers come from, for files.

    Returns:
        a figure with a trace a seed, or a rate where x is coupling, whose customdata is the rate;
        with "mean" and "interval" where `by_rate` is given.
    """
    parts, what = ("seed", "Seed") if x == "rate" else ("rate", "Rate")
    title = f"{names[y]} against {names[x].lower()}"
    times = 100.0 if y == "accuracy" else 1.0
    upwards: dict[str, object] = {"title": {"text": names[y]}}
    figure = style.new_figure(
        f"{title} of {counted(len(rows), 'run')}."
        + "".join(
            f" At rate {rate:g}: {_told(y, found.mean)} ({_told(y, found.low)} to "
            f"{_told(y, found.high)})."
            for rate, found in (by_rate or {}).items()
        ),
        f"Each point is a run, each symbol a {parts}. "
        + (
            "The line joins the means of the seeds, the band is their 95\u00a0% interval."
            if by_rate
            else "Bars are 95\u00a0% intervals over pictures."
        ),
        {"title": title, "source": source},
        height=HEIGHT,
        xaxis={"title": {"text": style.two_lines(*names[x].split(", ", 1))}} | style.GRID,
        yaxis=upright(upwards | (_PERCENT if y == "accuracy" else {})),
    )
    if by_rate:
        _means(figure, by_rate, times)
    if "coupling" in (x, y) and not rows["chance"].any():
        (figure.add_vline if x == "coupling" else figure.add_hline)(0, line=style.DOTTED)
    looks = cycle(zip(style.CATEGORIES, SYMBOLS, strict=False))
    for (value, some), (color, symbol) in zip(rows.groupby(parts), looks, strict=False):
        error = {f"error_{'x' if x == 'coupling' else 'y'}": bars(some, color)}
        figure.add_scatter(
            x=some[x],
            y=times * some[y],
            **(error if "coupling" in (x, y) else {}),
            customdata=some["rate"].map("{:g}".format),
            text=[f"rate {r.rate:g}, seed {r.seed}" for r in some.itertuples()],
            mode="markers",
            marker={
                "color": color,
                "size": [SIZE + 4 * (f"{rate:g}" == chosen) for rate in some["rate"]],
                "symbol": symbol,
            },
            name=f"{what} {value:g}",
            hovertemplate="%{text}<br>%{x}, %{y}<extra></extra>",
        )
    return figure


def _told(column: str, value: float) -> str:
    return percent(value, 1) if column == "accuracy" else with_minus(rounded(value))


def _means(figure: go.Figure, by_rate: Mapping[float, Interval], times: float) -> None:
    rates = sorted(by_rate)
    low, high, mean = (
        times * np.array([getattr(by_rate[rate], end) for rate in rates])
        for end in ("low", "high", "mean")
    )
    figure.add_trace(style.band(np.array(rates), low, high, "interval"))
    figure.add_trace(style.line(rates, mean, "Mean over seeds", hoverinfo="skip", uid="mean"))
