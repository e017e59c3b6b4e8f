"""How it is looked at from Python."""

from functools import partial

from coupling_core.base.drawing import Drawing
from coupling_core.base.records import AnyView
from coupling_core.figures import render
from coupling_core.figures.style import new_figure
from toy import NormsResult


def plot(result: NormsResult, view: AnyView) -> Drawing:
    figure = new_figure("Norms.", "The norm of every state.", height=300)
    figure.add_scatter(y=result.norms)
    return Drawing(figure, partial(render, figure, result=result, view=view))


def verdict(result: NormsResult, view: AnyView) -> str:
    return f"The last norm is {result.norms[-1]:.3g}."
