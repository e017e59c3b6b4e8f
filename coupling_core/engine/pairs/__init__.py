"""Singular vectors, and Jacobians compared with one another.

svd             top-K triplets with a certificate that they are the right ones
krylov          the same by block Krylov iteration, as a GPU likes it
coupling        all pairs of blocks at one token
token_coupling  all pairs of tokens in two blocks
token_means     the same, averaged over all pairs of blocks
"""
