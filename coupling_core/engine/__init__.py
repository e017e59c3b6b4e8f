"""From a model and a prompt to numbers: all that needs torch.

loading             models loaded, their blocks found, computing in float32
jacobians           blocks captured, and their Jacobians with the checks that they are right
pairs               singular vectors, and the coupling of all pairs of Jacobians
perturbation        noise on the first state, in truth and to first order
spectrum            eigenvalues of the blocks' linear maps, and products of them
edits               a model whose blocks run elsewhere, twice, damped or not at all
penalty             coupling as part of a loss
directions          directions read by the unembedding, added to states, and taken out
token_paths         states, entropies and linearised errors along every token's path
passport            what a model itself computed, to recognise it by
hardware            devices, threads, free memory
plain_torch         torch as it is where nobody has set anything
matrix_products     large products by the faster library
side_by_side        pieces of one measurement at the same time, each on one core
out_of_memory       work in chunks that shrink where memory runs out
replaced_forward    another forward in front of a module's own
ways_taken          which way gave each Jacobian, noted for the result
reference           slow, obvious versions of every stage: the oracles of the tests
"""
