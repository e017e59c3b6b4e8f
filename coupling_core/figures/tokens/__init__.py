"""Figures of a comparison of tokens: a record in, a plotly `Figure` out, and its twin as a table.

    grid        the score of every pair of tokens, their texts on the axes
    mosaic      every coupling matrix in one picture
    spectrum    the singular values
    distance    the score by the distance of two tokens
    axes        what grid and mosaic share: labels, hatched and grey cells, the mouse
    words       captions and alternative texts

`layout.meta` is that of the other figures.
"""

from coupling_core.analysis.exports import frame as grid_table
from coupling_core.figures.pair import matrix, matrix_table, score_by_k, score_by_k_table
from coupling_core.figures.tokens.axes import MOST_SHOWN
from coupling_core.figures.tokens.distance import distance, distance_table
from coupling_core.figures.tokens.grid import grid
from coupling_core.figures.tokens.mosaic import mosaic
from coupling_core.figures.tokens.spectrum import spectrum, spectrum_table
from coupling_core.figures.tokens.words import cell_words

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
