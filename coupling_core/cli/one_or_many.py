"""What commands of several kinds do alike: one prompt is measured and told, many are averaged."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from coupling_core.base.records import AnyView, Request
from coupling_core.cli import files, options, reports
from coupling_core.cli.many import table_of_means
from coupling_core.cli.many_drawn import DrawMany
from coupling_core.cli.rows import Axes, Row
from coupling_core.cli.terminal import ProgressBar
from coupling_core.measuring.measure import measure
from coupling_core.store.disk import Store

if TYPE_CHECKING:  # plotly is slow to import, and only files of figures need it
    import plotly.graph_objects as go


def answer(
    ask: Callable[[str], Request],
    prompt: str | None,
    image: Path | None,
    many: Path | None,
    *,
    view: AnyView,
    row: Callable[[Any, Any], dict[str, float]],
    drawing: Callable[[Any], "Callable[[], go.Figure]"],
    drawing_many: DrawMany,
    chosen: Mapping[str, str | float] | None = None,
    together: Callable[[Sequence[Row]], tuple[dict[str, Any], Callable[[], None]]] | None = None,
    further: Callable[[Sequence[Row]], Mapping[str, tuple[Axes, np.ndarray]]] = lambda _: {},
    store: Path | None,
    device: str | None,
    fast: bool,
    out: Path | None,
    as_json: bool,
) -> None:
    """Measure what is asked of one prompt, or of each line of a file, and tell what it comes to.

    Args:
        ask: makes the request of a prompt.
        prompt: the one text.
        image: the one image.
        many: the file of prompts.
        view: how a result is looked at.
        row: the numbers of a result in the view, by name, of which means are told.
        drawing: what draws the figure of a result; it refuses what the result does not have.
        drawing_many: what draws the figure of many.
        chosen: as `table_of_means` has it.
        together: likewise.
        further: likewise.
        store: the store's folder; None is the usual one.
        device: where to compute.
        fast: as `measure` has it.
        out: the file to write; None writes none.
        as_json: whether JSON is printed.

    Raises:
        InputError, ComputeError, Cancelled: as `measure` and `table_of_means`.
    """
    listed = options.prompt_or_prompts(prompt, image, many)
    formats = files.FORMATS if listed is None else files.OF_MANY
    files.require_writable(out, formats, as_json=as_json)
    shelf = Store(store)
    if listed is not None:
        table_of_means(
            ask,
            listed,
            lambda result: row(result, view),
            shelf,
            view_of=lambda _: view,
            device=device,
            fast=fast,
            out=out,
            as_json=as_json,
            drawing=drawing_many,
            chosen=chosen,
            together=together,
            further=further,
        )
        return
    request = ask(options.one_prompt(prompt, image))
    with ProgressBar() as bar:
        result = measure(request, shelf, device=device, fast=fast, progress=bar)
    draw = drawing(result)
    if out is not None:
        files.write_result(out, result, view, draw)
    reports.tell(result, view, stored=not bar.used, as_json=as_json, out=out)
