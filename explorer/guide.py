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

TOKENS = """
**Grid.** Row *t* is the token whose Jacobian is taken, column *t'* the token whose top *K* singular
vectors serve as the basis. *Each token with itself* takes the Jacobians from a token's state to the
same token; *one input token* those from that token to every later one; *one output token* those
from every earlier one to that token. The colour is the score of the Depth page: 0 is what a basis
that has nothing to do with it would give, 1 is full coupling.

**Hatched** cells are forbidden: in a causal model no token hears a later one. **Grey** cells have
no score, and hovering tells why: what comes from another token passes through the attention heads
only, so that its Jacobian may have a rank below *K*.

**By distance.** The whole prompt as one curve: the mean over all pairs of tokens that lie so far
apart, with its spread. A Jacobian against itself is 1 by construction and enters no mean.

**Mean over all pairs** averages each cell over all pairs of blocks (*l*, *l'*); it has no matrices.
"""

START = """
Each block of a transformer moves a token's state a little. Its **Jacobian** is the linear part of
that move, and the Jacobian's top singular vectors are the directions it acts on most. If two blocks
are **coupled**, the directions of one diagonalise the Jacobian of the other: the matrix of that
pair then shows a bright diagonal on a dark ground. Training makes this happen; the untrained twin,
the same network with random weights, shows none.
"""
