"""Its numbers."""

from pandas import DataFrame

from coupling_core.base.numbers import Column, Number, last, tokens
from coupling_core.base.records import AnyView
from toy import NormsResult

NUMBERS = (
    Number("norms", "Euclidean norm of x^l", column=Column("Norm of the last state", last)),
    *tokens(),
)


def table(result: NormsResult, view: AnyView) -> DataFrame:
    return DataFrame({"state": range(len(result.norms)), "norm": result.norms})
