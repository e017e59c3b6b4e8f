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

GRAPH = """
**Graph.** Each node is a block, each edge a pair of blocks whose score reaches the threshold; the
wider and the darker, the more they are coupled. An edge has no direction: it is the mean of the
Jacobian of *l* in the basis of *l'* and the other way round, which the line under the figure tells
apart. Click on an edge, or on a node, which takes its strongest partner along.

**Communities** (Louvain) are groups of blocks that are coupled more among themselves than at
random. Even noise has communities, and a modularity above 0: look whether the untrained twin, at
the same threshold, has any edge at all.

**Locality.** The mean score against how many blocks apart two blocks are. Training makes near
blocks more alike than far ones; far to the right only few pairs are left.

**Raw or chance-corrected.** The papers' graphs draw the raw score. With *K* = 50 that lies near
0.86 for every pair, trained or not, so that the graphs look alike: the chance-corrected score is
what tells them apart.
"""

COMPARE = """
**Three maps.** *A* and *B* in one range, and their difference: red where *A* is coupled more, blue
where *B* is. Row *l* is the block of the Jacobian, column *l'* the block of the basis.

**Matching.** Blocks go by number. Where the two models differ in depth, block *l* of the shallower
lies at *r* = (*l* - 1) / (*L* - 1) and is matched with the block of the deeper model whose *r* is
nearest; nothing is interpolated. All numbers that you select are *A*'s.

**Correlation** is that of the two maps, pair by pair, without the diagonal: near 1 where the same
blocks are coupled in both, whatever the mean. Two prompts of one model have much in common; a
trained model and its untrained twin have nothing.

**Widths.** Models of other widths have other chance floors at one *K*: compare chance-corrected
scores or alignments, not raw ones.
"""

TRAINING = """
**Slider.** Each step is a checkpoint of one training run: drag it, play it, or use the arrow keys.
Maps, graph and paths keep their ranges over all steps, so that what changes on the screen has
changed in the model. A step in pale italics is not measured for this prompt.

**Maps and graph** are those of the Depth and the Layer graph page: 0 is chance, the diagonal is 1
by construction. What lies near the diagonal is coupling between neighbours.

**By training step.** The chance-corrected score and the alignment are 0 for blocks that have
nothing to do with one another, before training and after. The raw score *c* is not: its chance
floor (dashed) moves as the singular values change, so that *c* can fall while coupling rises.
Coupling need not rise to the end: look where it peaks, and whether the loss still falls there.

**Locality** is the mean score of neighbouring blocks less that of all other pairs. **Paths**: each
step has principal components of its own, turned so that nothing flips from step to step.

**One prompt is no evidence.** A claim on training needs many texts and several seeds.
"""

SWEEPS = """
Each point is a set of weights: a model, or a checkpoint of a training run. Its coupling is the mean
over all prompts of the sweep; the bar is a 95 % interval over prompts. An open symbol is not
trained; a thin line joins the checkpoints of one run in the order of training.

**n, R², p.** The lines are least squares. Models of one family, and checkpoints of one run, are
alike: p and the intervals that sentences tell count each family as one, and of fewer than five
nothing is told. Look at what is left without each family, too.

**Performance.** A held-out loss was recorded as a run was trained, and lower is better; a
leaderboard score is a published one, joined by the model's id. Without either, a model is not in
this figure.

**By prompt.** Whether longer or harder prompts couple more, within each model. All models share the
prompts; the interval of their mean is over prompts.
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

VISION = """
**A run a point.** Every run is the same architecture with the same pictures; only the rate of
stochastic depth and the seed differ. Stochastic depth leaves out each block at random while the
model learns, the last one at the given rate and earlier ones less often.

**Coupling** is the mean score over all pairs of blocks and over many pictures: at the class token,
from which the classes are read, or between all tokens of a picture. Bars are 95 % intervals over
pictures; the band is that of the mean over seeds, by Student's *t*. Runs of one seed begin with the
same weights and see the images in the same order at every rate, so that the bands of two rates move
together: what is said of rates compares them within seeds.

**The picture.** Each patch is a token of its own. Click one, or the class token above, and the maps
beside it are of that token: one a rate, in one range. 0 is what a basis that has nothing to do with
the block would give, 1 is full coupling.

**Cause.** Rates were set by hand, so that a difference between rates beyond chance is the doing of
the rate. Whether coupling is what makes a model accurate does not follow from any of it.
"""
