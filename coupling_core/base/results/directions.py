"""Directions: what the leading singular vectors of every block read and write at one token."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float, Int

from coupling_core.base.figure_names import DirectionsFigure
from coupling_core.base.records import resolve_block
from coupling_core.base.results.at_token import AtToken

READOUTS = ("writes", "reads", "reads_embedding")
"""u by the unembedding, v by the unembedding, v by the input embeddings."""
SIDES = ("u", "v")
"""What a block writes, and what it reads."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class DirectionsResult(AtToken[DirectionsFigure]):
    """The leading singular vectors u_k (written) and v_k (read) of each block at one token.

    A block that is not measured yet (a partial result) has NaN in every array, and so does a
    readout that the model does not allow. A sign is 0 for the end towards the direction itself, and
    1 for the other.

    Args:
        u: left singular vectors, in columns; the largest entry of each v is positive.
        v: right singular vectors, in columns.
        rounding: largest angle in degrees by which float16 turned one of a block's vectors; side 0
            is u.
        singular_values: s_k of each block's Jacobian.
        next_singular_value: s_{K+1}; NaN where K = d.
        jacobian_norm: norm_F(J).
        rank: numerical rank of the measured part, at most K.
        matrices: A^{ll'} = U_{l'}^T J^l V_{l'} divided by s_1 of the row's block.
        top: ids of the tokens (or numbers of the classes) at either end of each direction, the most
            extreme first; `READOUTS` has the readouts.
        top_z: how far their cosines lie from the mean over the vocabulary, in standard deviations.
        top_cosine: their cosines with the direction.
        peakedness: mean of the 10 largest abs(z) of a readout; of a vocabulary below 100, of one in
            ten.
        floor: the peakedness that one in a hundred random directions exceeds. It is that of the
            unembedding, with the final norm's weight except for what a last block writes that has
            the final norm; or of the embedding.
        missing: why a readout is missing, by its name.
        vocabulary: the texts of the tokens in `top`, by id.
    """

    u: Float[np.ndarray, "block d k"]
    v: Float[np.ndarray, "block d k"]
    rounding: Float[np.ndarray, "block side"]
    singular_values: Float[np.ndarray, "block k"]
    next_singular_value: Float[np.ndarray, " block"]
    jacobian_norm: Float[np.ndarray, " block"]
    rank: Int[np.ndarray, " block"]
    matrices: Float[np.ndarray, "block block k k"]
    top: Int[np.ndarray, "readout block k sign top"]
    top_z: Float[np.ndarray, "readout block k sign top"]
    top_cosine: Float[np.ndarray, "readout block k sign top"]
    peakedness: Float[np.ndarray, "readout block k"]
    floor: Float[np.ndarray, "readout block"]
    missing: Mapping[str, str]
    vocabulary: Mapping[str, str]

    axis_names: ClassVar = {"readout": READOUTS, "side": SIDES}

    @property
    def count(self) -> int:
        """K, how many directions of each side a block has."""
        return self.singular_values.shape[1]

    @property
    def complete(self) -> bool:
        """Whether every block is measured, and every readout is made or cannot be."""
        lacking = [n for n, f in zip(READOUTS, self.floor, strict=True) if np.isnan(f).any()]
        return not np.isnan(self.jacobian_norm).any() and set(lacking) <= set(self.missing)

    @property
    def beyond_chance(self) -> Bool[np.ndarray, "readout block k"]:
        """Whether a readout is more peaked than all but one in a hundred of random directions."""
        return self.peakedness > self.floor[..., None]

    def basis(self, block: int, side: str = "u") -> Float[np.ndarray, "d k"]:
        """The directions of one block in columns, of length 1 in float64.

        The block is 1..L, or counted from the end; raises `InputError` on any other. "u" is what it
        writes, and "v" what it reads.
        """
        at = resolve_block(block, self.n_blocks) - 1
        vectors = getattr(self, side)[at].astype(np.float64)
        length = np.linalg.norm(vectors, axis=0)
        return np.divide(vectors, length, out=np.zeros_like(vectors), where=length > 0)

    def consistency(self) -> Mapping[str, bool]:
        """As `Result.consistency`."""
        named = {str(i) for i in np.unique(self.top) if i >= 0}
        return {
            "it has no text for a token": named <= set(self.vocabulary),
            "it misses another readout": set(self.missing) <= set(READOUTS),
        }
