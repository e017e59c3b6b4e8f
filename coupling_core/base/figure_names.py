"""Names of figures, for type checkers: `make docs` writes them from the kinds' records."""

from typing import Literal

DepthFigure = Literal[
    "",
    "scores",
    "mosaic",
    "spectrum",
    "k",
    "scaling",
    "inverse-scaling",
    "graph",
    "locality",
]

TokensFigure = Literal[
    "",
    "grid",
    "mosaic",
    "distance",
    "spectrum",
]

TrajectoryFigure = Literal[
    "",
    "paths",
    "paths-3d",
    "line-shape",
    "norms",
    "line-shape-by-depth",
    "growth",
    "expodistance",
    "steps",
    "equidistance",
    "entropy",
    "linearised",
]

WhatifFigure = Literal[
    "",
    "interchange",
    "replace",
    "blocks",
]

SpectrumFigure = Literal[
    "",
    "eigenvalues",
    "maps",
    "products",
]

PerturbationFigure = Literal[
    "",
    "cosine",
    "depth",
    "radius",
]

DirectionsFigure = Literal[
    "",
    "readouts",
]

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
    "loss",
    "coupling",
    "corrected",
    "alignment",
    "locality",
    "line-shape",
    "expodistance",
    "departure",
    "u-dot-v",
    "effective-rank",
]
