"""Singular vectors, and Jacobians compared with one another.

svd             top-K triplets with a certificate that they are the right ones
chebyshev       the space of the top right vectors by products alone, as a GPU likes it
products        coupling matrices of one Jacobian with many bases, and what tells their scores
square          Jacobians as they come, each compared with every one
coupling        of the blocks at one token
token_coupling  of the tokens in two blocks
token_means     of the tokens in all blocks, of which means are kept
"""
