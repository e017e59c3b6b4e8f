"""Its numbers."""

from coupling_core.base.numbers import Column, Number, last, tokens

ROWS = "state"
NORMS = Column("Norm of the last state", last)
NUMBERS = (
    Number("norms", "Euclidean norm of x^l", heading="norm", form=".4f", column=NORMS),
    *tokens(),
)
