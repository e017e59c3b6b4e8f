"""Figures of a comparison of tokens: a record in, a plotly `Figure` out, and its twin as a table.

    spectrum    the singular values
    distance    the score by the distance of two tokens

Maps and matrices are those of `coupling_core.figures`, and so is `layout.meta`.
"""

from coupling_core.analysis.exports import frame as grid_table
from coupling_core.figures.maps import grid
from coupling_core.figures.maps import token_mosaic as mosaic
from coupling_core.figures.pair import matrix, matrix_table, score_by_k, score_by_k_table
from coupling_core.figures.score_squares import MOST_SHOWN
from coupling_core.figures.square_words import cell_words
from coupling_core.figures.tokens.distance import distance, distance_table
from coupling_core.figures.tokens.spectrum import spectrum, spectrum_table

__all__ = [  # noqa: RUF022 - by use, not by name
    # figures
    "grid",
    "mosaic",
    "matrix",
    "score_by_k",
    "spectrum",
    "distance",
    "MOST_SHOWN",
    "cell_words",
    # their twins
    "grid_table",
    "matrix_table",
    "score_by_k_table",
    "spectrum_table",
    "distance_table",
]
