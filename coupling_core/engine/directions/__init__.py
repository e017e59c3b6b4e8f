"""What the leading singular vectors of a block write and read, and what they do.

head        the matrix by which a model says its next token, found by trying
readouts    directions read by the unembedding or the embedding, beside random ones
outcome     how far what a model says is from what it said, and of which tokens it says more
steering    a direction added to a state, and the rest of the model run on
ablation    a subspace taken out of the states, in one block or in several
"""
