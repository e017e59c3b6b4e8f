"""Names of figures, for type checkers: `make docs` writes them from the kinds' records."""

from typing import Literal

DepthFigure = Literal[
    "", "scores", "mosaic", "spectrum", "k", "scaling", "inverse-scaling", "graph", "locality"
]  # fmt: skip
TokensFigure = Literal[
    "", "grid", "mosaic", "distance", "spectrum"
]  # fmt: skip
TrajectoryFigure = Literal[
    "", "paths", "paths-3d", "line-shape", "norms", "line-shape-by-depth", "growth", "expodistance",
    "steps", "equidistance", "entropy", "linearised"
]  # fmt: skip
WhatifFigure = Literal[
    "", "interchange", "replace", "blocks"
]  # fmt: skip
SpectrumFigure = Literal[
    "", "eigenvalues", "maps", "products"
]  # fmt: skip
PerturbationFigure = Literal[
    "", "cosine", "depth", "radius"
]  # fmt: skip
DirectionsFigure = Literal[
    "", "readouts"
]  # fmt: skip
FigureName = (
    DepthFigure
    | TokensFigure
    | TrajectoryFigure
    | WhatifFigure
    | SpectrumFigure
    | PerturbationFigure
    | DirectionsFigure
)
"""Of all kinds; "" is the first of its kind."""
StepCurve = Literal[
    "loss", "coupling", "corrected", "alignment", "paired", "overlap", "locality", "line-shape",
    "expodistance", "departure", "u-dot-v", "effective-rank"
]  # fmt: skip
