"""Coupling as part of a loss: raised, lowered to chance, or held at a value while a model trains.

penalty     the penalty of a batch, from the forward pass that was just made
watched     the calls of the blocks in that pass, kept with their graphs
linear      a block's Jacobian at one token of every sequence, as products with directions
bases       its leading singular directions, by a few power steps
"""

from coupling_core.engine.penalty.penalty import CouplingPenalty, coupling_penalty

__all__ = ["CouplingPenalty", "coupling_penalty"]
