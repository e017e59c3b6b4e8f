"""Numbers from stored results, without torch.

scores          every score, its chance floor, means and intervals, of blocks
token_scores    the same of tokens
subspaces       how well defined the top-K subspaces are, and principal angles
scaling         how the top singular values change with depth
graph           blocks as a weighted graph, and its communities
locality        how coupling falls off with the distance of blocks, and of tokens
random_bases    scores that bases drawn at random get
rotations       what random rotations leave of a matrix on average
over_prompts    one model over many prompts, and the means over them
verdict         a model's scores beside those of the untrained model
alignment       which parts of two results belong together, and the difference of their maps
compare, path_comparison    two results side by side: of blocks or tokens, and of paths
model_comparison    two models over the same prompts: the difference, and how sure it is
comparing_models    the same from a table of measurements, or two ways to look at one model
effects         what edits of a model's depth do, by block and by pair of blocks
perturbation    how far noise gets, and the size up to which a Jacobian says it
spectra         what a list of singular values amounts to
crossing        the directions of one model against those of another, block by block
directions      gaps and ties of directions, their tracks, and what blocks share
effect_study    the same over many prompts, beside the coupling of the same blocks
coupling_effect    whether coupled blocks are the ones that can be interchanged
pruning         which blocks to leave out, and what that costs
path_curves     numbers of a path by depth, and their means over prompts
trajectory      how straight and evenly spaced the paths of tokens are
projection      principal components of the paths
by_step         a measurement over the steps of a training run
step_tables, step_words    the numbers of training runs, for other programs and in sentences
statistics      coupling against performance over many models
findings        what the table of a sweep says
exports         a result's numbers for other programs: NumPy archives and CSV
ways            how a result's Jacobians were had
sentences       numbers over many models, in sentences that they bear out
"""
