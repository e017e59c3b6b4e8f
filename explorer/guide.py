"""How the figures are read, in a few sentences."""

DEPTH = """
**Score map.** Row *l* is the block whose Jacobian is taken, column *l'* the block whose top *K*
singular vectors serve as the basis. The colour says how nearly that basis diagonalises that
Jacobian: 1 is fully coupled, 0 is what a basis that has nothing to do with it would give. The
diagonal compares a block with itself; it is 1 by construction and enters no mean.

**Mosaic.** Each square is one coupling matrix. A bright diagonal on a dark square means that the
singular vectors of block *l'* are nearly those of block *l*, in the same order.

**A pair.** Click a cell. Where the singular values nearly tie at *K* (a gap next to 1), single
vectors are arbitrary: trust the angles between the subspaces more than any one row of the matrix.

**Colours** span a fixed range, so that two views compare; *auto range* gives that up and says so.
"""

START = """
Each block of a transformer moves a token's state a little. Its **Jacobian** is the linear part of
that move, and the Jacobian's top singular vectors are the directions it acts on most. If two blocks
are **coupled**, the directions of one diagonalise the Jacobian of the other: the matrix of that
pair then shows a bright diagonal on a dark ground. Training makes this happen; the untrained twin,
the same network with random weights, shows none.
"""

TRAJECTORIES = """
**Paths.** Each line is one token's way from its embedding (*x⁰*) through all blocks, seen in the
directions in which the last states differ most. The selected token is drawn in black (white on a
dark page); click on a path to select another. How much of the variance the directions explain
stands on the axes: what they leave out is not seen.

**Straightness.** A line-shape score of 1 is a straight line; a walk whose steps are at right angles
to one another has √L, about 5.5 for 30 blocks. Trained models are below it, untrained ones above.

**Growth.** Where the norm grows by the same factor in every block, the expodistance is 0. The first
blocks and the final norm change it most.

**Linearised path.** Each block is replaced by its Jacobian at the token's own state. Compare with
the dotted line, the error of a state that simply stays where it is.
"""
