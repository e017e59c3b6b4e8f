"""One more score, and the one place where it is added."""

import numpy as np

from coupling_core.base.definitions import Definition, norm_by_k

COSINE = Definition(
    name="cosine",
    label="cosine of A and S",
    formula=r"c = \frac{\operatorname{tr} AS}{\lVert A \rVert_F \lVert s \rVert_2}",
    origin="of nobody, and 1 where the matrices are multiples of one another.",
    as_written=lambda A, s, p: np.sum(A * np.diag(s)) / np.linalg.norm(A) / np.linalg.norm(s),
    by_k=lambda diagonal, off, s, p: (
        np.cumsum(diagonal * s, -1) / (np.sqrt(off + np.cumsum(diagonal**2, -1)) * norm_by_k(s, 2))
    ),
    floor=lambda s, size, d, p: np.where(np.isnan(s), np.nan, 0.0),
    floor_words="naught",
)
