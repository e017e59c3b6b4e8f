"""`coupling spectrum`: the eigenvalues of each block's linear map, and products over depth."""

from functools import partial
from typing import Annotated

from coupling_core.analysis.exports import row
from coupling_core.base.records import DEFAULT_MODEL, AnyView, Request
from coupling_core.cli import options
from coupling_core.cli.many_drawn import Drawn, figure_of, strip
from coupling_core.cli.one_or_many import answer
from coupling_core.kinds.spectrum.views import FigureName, maker

_DEPARTURE = Drawn(
    "departure", "Departure from normality, median of the blocks (0 to 1)", 0.0, "a normal map"
)
_OF_MANY: dict[FigureName, Drawn] = {
    "eigenvalues": _DEPARTURE,
    "maps": _DEPARTURE,
    "products": Drawn("effective_rank", "Effective rank of the product of all blocks"),
}
"""The number of each prompt that stands for a figure."""


def command(
    prompt: options.Prompt = None,
    image: options.Image = None,
    many: options.Prompts = None,
    model: options.Model = DEFAULT_MODEL,
    token: options.Token = None,
    final_norm: options.Norm = "include",
    revision: options.Revision = None,
    untrained: options.Untrained = None,
    dtype: options.Rounded = "float32",
    quantize: options.Quantised = None,
    stack: options.OneStack = None,
    device: options.Device = None,
    plain: options.Plain = False,
    out: options.Out = None,
    figure: Annotated[FigureName, figure_of("spectrum")] = "eigenvalues",
    as_json: options.Json = False,
    store: options.StoreFolder = None,
) -> None:
    """Find the eigenvalues of each block's linear map, and what their products leave over."""
    asked = partial(
        Request,
        model=model,
        final_norm=final_norm,
        revision=revision,
        untrained=untrained,
        dtype=dtype,
        quantize=quantize,
        stack=stack,
        kind="spectrum",
    )
    answer(
        lambda text: asked(text, token=options.token_of(token, text)),
        prompt,
        image,
        many,
        view=AnyView(),
        row=row,
        drawing=lambda result: maker(result, AnyView(), figure),
        drawing_many=partial(strip, _OF_MANY[figure], many),
        store=store,
        device=device,
        fast=not plain,
        out=out,
        as_json=as_json,
    )
