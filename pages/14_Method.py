"""Method: what is measured and how, how the figures are read, and what they cannot say."""

import streamlit as st

from coupling_core.base.definitions import DEFINITIONS
from explorer.frame.contents import PAGES
from explorer.frame.shell import SIDEBAR_WIDTH, page

TEXT_WIDTH = 780
"""In pixels: a line that the eye can follow."""
STYLE = f"""<style>
@media (min-width: 1500px) {{
  .st-key-contents {{
    position: fixed; top: 5rem; left: calc({SIDEBAR_WIDTH}px + 2.5rem + {TEXT_WIDTH}px + 4rem);
    padding-left: 1rem; width: auto !important; max-height: calc(100dvh - 6rem); overflow-y: auto;
  }}
}}
</style>"""
"""On a wide screen the contents stand beside the text, wherever one reads."""
CITATION = """@inproceedings{aubry2025coupling,
  title     = {Transformer Block Coupling and its Correlation with Generalization in {LLMs}},
  author    = {Aubry, Murdock and Meng, Haoming and Sugolov, Anton and Papyan, Vardan},
  booktitle = {International Conference on Learning Representations},
  year      = {2025},
  note      = {arXiv:2407.07810}
}"""


def _latex_lines(*lines: str) -> None:
    """Formulas one below the other."""
    st.latex(r"\begin{gathered}" + r" \\[.6em] ".join(lines) + r"\end{gathered}")


def jacobians() -> None:
    st.markdown(
        "A prompt of *n* tokens becomes states $X^0, \\dots, X^L$ of the residual stream, one row "
        "of width *d* a token. Block *l* adds its residual map to them, and its Jacobian at one "
        "token *t* is the linear part of what it adds there (paper, Eq. 6 and 8):"
    )
    st.latex(r"X^l = X^{l-1} + f^l(X^{l-1})")
    st.latex(r"J^l = \frac{\partial f^l(X^{l-1})_t}{\partial x_t^{l-1}} = U_l S_l V_l^\top")
    st.markdown(
        "The skip connection is left out: it would add the same identity to every block. The "
        "model's final norm counts as part of the last block (paper, Eq. 7) unless you exclude it. "
        "Blocks and tokens are numbered from 1; the prompt is tokenised with the tokenizer's own "
        "special tokens and no chat template."
    )


def coupling() -> None:
    st.markdown(
        "The Jacobian of block *l* is written in the top *K* singular vectors of block *l'*; *B* "
        "exchanges the roles of the left and the right vectors (paper, Section 3.1):"
    )
    _latex_lines(
        r"A^{ll'} = U_{l',K}^\top\, J^l\, V_{l',K},",
        r"B^{ll'} = V_{l',K}^\top\, J^l\, U_{l',K}",
    )
    st.markdown(
        "Where both blocks act in one basis, *A* is diagonal and its diagonal is that of "
        "$S_{l,K}$, the top *K* singular values *s* of $J^l$. The matrix of *K* is a corner of "
        "the matrix of every larger *K*, which is why changing *K* computes nothing."
    )


def scores() -> None:
    st.markdown("Texts on coupling normalise differently. Each number here names its definition.")
    for each in DEFINITIONS.values():
        st.markdown(f"**{each.name}**: {each.origin}")
        st.latex(each.formula)


def chance() -> None:
    st.markdown(
        "A raw score has a floor that has nothing to do with coupling. With *p* = 1 and *K* = 50 "
        "the trained SmolLM2-135M scores 0.859 on the first example prompt, and its untrained twin "
        "0.856. The floor is the score of a basis drawn at random (independent Haar-distributed "
        "*K*-frames), for which"
    )
    st.latex(
        r"\mathbb{E}\,\lVert A - S \rVert_F^2 = \lVert s \rVert_2^2 "
        r"+ \frac{K^2}{d^2} \lVert J \rVert_F^2"
    )
    st.markdown(
        f"holds exactly. The floor of a definition is {_floors()}. The maps colour the "
        "chance-corrected score, on which the same two models have 0.060 and 0.000, over all pairs "
        "of blocks:"
    )
    st.latex(r"\frac{c - \mathrm{floor}}{1 - \mathrm{floor}}")
    st.markdown(
        "No mean includes a Jacobian against itself: that is 1 by construction.\n\n"
        "Two bases can span the same subspaces without sharing the pairs of vectors in them. Then "
        "*A* has more entries off its diagonal than random bases leave, and the score falls "
        "*below* its floor. Two numbers take this apart: `overlap`, and the score above another "
        "chance level, that of both bases rotated at random within their subspaces (*Chance "
        "level* among the advanced choices), for which"
    )
    st.latex(
        r"\mathbb{E}\,\lVert Q^\top A R - S \rVert_F^2 = \lVert A \rVert_F^2 "
        r"+ \lVert s \rVert_2^2"
    )
    st.markdown("holds exactly. What is above that level is vectors in pairs.")


def _floors() -> str:
    """What the floor is, and of which definitions."""
    names: dict[str, list[str]] = {}
    for each in DEFINITIONS.values():
        names.setdefault(each.floor_words, []).append(f"`{each.name}`")
    return "; ".join(f"{words} ({', '.join(of)})" for words, of in names.items())


def graphs() -> None:
    st.markdown(
        "As in the papers' Figures 1c-e, each block is a node, and two blocks are joined by an "
        "edge whose weight is the mean of the two directions, which may differ much:"
    )
    st.latex(r"w_{ll'} = \tfrac{1}{2}\,(c_{ll'} + c_{l'l}), \qquad l \neq l'")
    st.markdown(
        "Edges below a threshold are left out, and pairs without a score are counted instead of "
        "drawn. At the default of 0.1, chance-corrected, SmolLM2-135M has 79 of 435 possible "
        "edges on the first example prompt, its untrained twin none. Communities are found with "
        "the Louvain method from the positive weights of the edges that are drawn, always with "
        "the same seed; *modularity* says how much heavier the edges within them are than at "
        "random. The locality curve is the mean weight over all pairs at a distance, whatever the "
        "threshold."
    )


def training() -> None:
    st.markdown(
        "The checkpoints of a training run are measured one by one, each as any other model. At "
        "each step the curves show means over all pairs of different blocks; **locality** is the "
        "mean score of neighbours minus that of all other pairs, 0 where no blocks are coupled or "
        "all alike:"
    )
    st.latex(
        r"\operatorname{mean}_{|l - l'| = 1} c_{ll'} - "
        r"\operatorname{mean}_{|l - l'| > 1} c_{ll'}"
    )
    st.markdown(
        "The runs that ship are of GPT-NeoX models with 8 blocks, trained by this program's own "
        "recipe in 4,000 steps, and looked at with *K* = 8, an eighth of their smallest width. On "
        "the first example prompt the smallest of them scores \u22120.005 before training, 0.139 "
        "at its highest, step 128, and 0.052 at the end, chance-corrected, while its held-out loss "
        "falls all the way from 7.13 to 3.12 nats a token. Coupling comes early and mostly "
        "between neighbours; it need not grow for as long as the model improves.\n\n"
        "The **paths** of each step are drawn in that step's own principal components. A component "
        "has no sign of its own: it takes the one in which the paths lie as at the step before."
    )


def edits() -> None:
    st.markdown(
        "The slots 1 to *L* of a model hold its blocks. An edit says what runs in each: nothing "
        "(*skip*), its own block twice (*repeat*), another block (*replace*), two blocks each in "
        "the other's slot (*interchange*), or its own with the residual map multiplied by *a* "
        "(*damp*). A block takes its weights, its rotary base, its window and its kind of "
        "attention along. What changes is what the model says, as the divergence of its "
        "next-token distributions *p* from those of the edited model *q*, in nats, on average over "
        "the tokens:"
    )
    st.latex(r"\mathrm{KL}(p \,\Vert\, q) = \sum_v p_v \ln \frac{p_v}{q_v}")
    st.markdown(
        "It is taken in float32 where that is good to 1e-5 of it, and else in float64. The logits "
        "themselves are float32: small divergences are as uncertain as logits that are rounded "
        "make them.\n\n"
        "**Coupling against effect.** Near blocks are more coupled and more cheaply exchanged, so "
        "that a plain correlation over pairs of blocks is mostly their distance. Beside Spearman's "
        "*rho* of coupling (the mean of both directions, chance-corrected) and $-\\ln$ KL there "
        "always stand that of distance alone, and the one *given distance*: of what $1$, "
        "$|l - l'|$ and $|l - l'|^2$ leave of both ranks. Pairs share blocks, so that *p* comes "
        "from permuting blocks (Mantel); intervals resample prompts, and are about this model. "
        "Coupling is said to go with the effect only where the interval of the one given distance "
        "leaves out 0 and its *p* is below 0.05.\n\n"
        "**First order.** Interchanging the neighbours *l* and *l* + 1 changes the state, to first "
        "order in their residual maps, by"
    )
    st.latex(r"J^{l+1} f^l(X^{l-1}) - J^l f^{l+1}(X^{l-1})")
    st.markdown(
        "with both maps and both Jacobians over the whole sequence at $X^{l-1}$. It vanishes where "
        "the two commute. Coupled blocks need not: with shared *U* and *V* and "
        "$W = V^\\top U$ they do only if $S' W S = S W S'$."
    )


def comparisons() -> None:
    st.markdown(
        "Two measurements are compared at one *K* and one definition, pair by pair. Where their "
        "models have different numbers of blocks, block *l* of the shallower one, of *L* blocks, "
        "lies at the relative depth"
    )
    st.latex(r"r = \frac{l - 1}{L - 1}")
    st.markdown(
        "and is matched with the block of the deeper one whose *r* is nearest (the shallower of "
        "two equally near). Nothing is interpolated, so that every number shown was measured, and "
        "no block of the deeper model stands for two. The correlation (Pearson) is taken over all "
        "pairs of different blocks that have a score in both: near 1 where the same blocks are "
        "coupled in both results, whatever their means."
    )


def generalization() -> None:
    st.markdown(
        "A sweep measures every model *i* with every prompt. Its coupling $x_i$ is the mean over "
        "prompts of the mean over all pairs of different blocks, at one *K* (or one share of each "
        "model's width, as in the paper's Figure 1a); the bar is a 95\u00a0% interval over "
        "prompts, by Student's *t*. A prompt without a score is left out and counted. Its "
        "performance $y_i$ is a published benchmark score, or the held-out loss that was recorded "
        "in training. Statistics leave out a model that lacks either of the two.\n\n"
        "**What n counts.** Sets of weights: models, and checkpoints of training runs. Members of "
        "one family and checkpoints of one run are alike, so that a *p* that takes all of them as "
        "independent is too small wherever there are any. What is said counts each family as one, "
        "or each training run where all are of one family; that families are built on one another "
        "is not accounted for. With *G* of them, each is left out in turn, and with $d_g$ how far "
        "that moves a slope, or Fisher's *z* of a correlation,"
    )
    _latex_lines(
        r"\mathrm{se}^2 = \frac{G - 1}{G} \sum_g d_g^2,",
        r"\nu = \min\left(G,\; 3\, \frac{(\sum_g d_g^2)^2}{\sum_g d_g^4}\right) - 2",
    )
    st.markdown(
        "give *p* and the 95\u00a0% interval by Student's *t* with $\\nu$ degrees of freedom; "
        "below 5 families there is none. Of planted tables with the catalogue's families such an "
        "interval misses the truth in about 5\u00a0% of draws, and in up to 10\u00a0% where each "
        "family has a relation of its own or performance is a square of coupling. Something is "
        "said for or against the papers' claim only where both correlations, Pearson's and "
        "Spearman's, are beyond chance. How often each sentence is false is counted among the "
        "benchmarks that come with the program.\n\n"
        "**Fits** are ordinary least squares, a straight line and an exponential (the preprint's "
        "Figure 8, which says no more of its form; this one has no offset):"
    )
    _latex_lines(
        r"y = a + b\,x,",
        r"\ln y = a + b\,x \;\Leftrightarrow\; y = e^{a} e^{b x}",
    )
    st.markdown(
        "The band is that of the fitted mean, at 95\u00a0%, as if models were independent; *p*, of "
        "*b* = 0, is not. "
        "Both forms are compared by their share of the variance in units of *y*:"
    )
    st.latex(r"R^2 = 1 - \frac{\sum_i (y_i - \hat y_i)^2}{\sum_i (y_i - \bar y)^2}")
    st.markdown(
        "**Correlations** are Pearson's *r*, of straight lines, and Spearman's *rho*, which is "
        "*r* of the ranks.\n\n"
        "**Within training runs** coupling is said to fall where the checkpoints after its highest "
        "one fall more steadily than chance orders them (Kendall's *tau*, exact) and the same "
        "prompts score lower at the last one; no straight line describes a run where "
        "coupling against performance is curved beyond its checkpoints' scatter. A highest "
        "checkpoint before the last is not enough for either.\n\n"
        "**Without each family** the correlation is taken again. **Within families** each family's "
        "mean is subtracted first (from the ranks for *rho*), "
        "over families of two models or more:"
    )
    st.latex(
        r"r_{\mathrm{within}} = \operatorname{corr}(x_i - \bar x_{F(i)},\; y_i - \bar y_{F(i)})"
    )
    st.markdown(
        "A correlation that is not seen within families may be one of families: those that are "
        "coupled more may be better for another reason.\n\n"
        "**Given the sizes.** Parameters, depth, width and training tokens *z*, as logarithms "
        "where they span a factor of 10, are regressed out of both, and what is left is "
        "correlated:"
    )
    st.latex(r"r_{xy \cdot z} = \operatorname{corr}(x - \hat x(z),\; y - \hat y(z))")
    st.markdown(
        "A size that is unknown of a model, the same for all, or follows from those before it is "
        "left out, and named. Both have their *p* and interval over whole families, too.\n\n"
        "**By prompt** Spearman's *rho* is that of coupling and length, or difficulty, over the "
        "prompts of one model. The interval of the mean over models leaves out each prompt, for "
        "all models at once: it is about these models, and not about others."
    )


def certificates() -> None:
    st.markdown(
        "A truncated SVD can be wrong without a sign of it: a triplet may simply be missing. Each "
        "one is therefore certified in double precision from the Jacobian itself. Both sets of "
        "vectors are orthonormal to 1e-5; the residuals of $Jv = us$ and $J^\\top u = vs$ are "
        "below 1e-4 of the largest singular value; and a Cholesky factorisation shows that no "
        "singular value above the *K*-th was missed:"
    )
    _latex_lines(
        r"s_K^2 (1 + \delta)^2 I - R^\top R \succ 0,",
        r"R = (I - U U^\top) J,",
        r"\delta = 10^{-4}",
    )
    st.markdown("Where a block fails, the page says which test failed instead of hiding it.")


def rechecks() -> None:
    st.markdown(
        "Libraries change, and with them what a model gives. Each result therefore keeps a hash "
        "and a sketch (32 random sums) of its model's final states and logits. *Recheck*, on the "
        "page Runs, runs the prompt through the model once more and compares. It says whether all "
        "is the same to the last bit, or but for rounding (2e-5 of the norm), or by how much it is "
        "not, and which library or file is no longer what it was."
    )


def trajectories() -> None:
    st.markdown(
        "The path of token *t* is $x^0_t, \\dots, x^L_t$, the last state with the final norm in it "
        "unless you exclude that. Its **line-shape score** walks it in unit steps (paper, Eq. 10 "
        "and 11); 1 is a straight line, and a walk whose steps are at right angles has $\\sqrt L$:"
    )
    _latex_lines(
        r"\mathrm{LSS}_t = \frac{L}{\lVert \tilde x^L - \tilde x^0 \rVert},",
        r"\tilde x^l = \tilde x^{l-1} + \frac{x^l - x^{l-1}}{\lVert x^l - x^{l-1} \rVert}",
    )
    st.markdown(
        "By depth it is taken over the 11 states round each one. A token that rests in a block has "
        "no direction there and no score; one whose unit steps sum to nothing has an infinite one. "
        "The **expodistance** is the squared coefficient of variation of the growth rates (Eq. 12 "
        "and 13, variance of a population), undefined where their mean is next to 0; "
        "**equidistance** is the coefficient of variation of the lengths of the steps:"
    )
    _latex_lines(
        r"\alpha^l = \ln \frac{\lVert x^l \rVert}{\lVert x^{l-1} \rVert},",
        r"\mathrm{ED} = \frac{\operatorname{Var}_l \alpha^l}{(\operatorname{Avg}_l \alpha^l)^2}",
    )
    st.markdown(
        "Over 60 prompts of 64 tokens SmolLM2-135M has a mean line-shape score of 4.61 (95\u00a0% "
        "interval 4.57 to 4.64) and its untrained twin one of 6.48 (6.45 to 6.51); without the "
        "final norm 4.24 and 5.49. The papers report 4.25 and 6.54 on average over their models, "
        "which are larger, and over other prompts. What they say of even growth is not seen here: "
        "the first blocks and the final norm change the norm most, and the expodistance of the "
        "trained model (53, or 6.8 without the final norm) is above its twin's (6.3, or 5.5).\n\n"
        "The **entropy of the logits** lets the model's own final norm and head, with whatever "
        "scaling and capping they have, read each raw state. The **linearised path** replaces "
        "each block by its Jacobian at the token's own state (Section 6.1):"
    )
    _latex_lines(
        r"x^l \approx (I + J^l_{tt})\, x^{l-1},",
        r"\hat x^l = (I + J^l_{tt})\, \hat x^{l-1},",
        r"\hat x^0 = x^0",
    )
    st.markdown(
        "This is a line through 0, not through the state: attention reads its input through a norm "
        "that takes its length out, so that along *x* itself its Jacobian gives nothing. In "
        "SmolLM2 the error of one step is about that of a state which stays where it is, which is "
        "drawn beside it."
    )


def linear_maps() -> None:
    st.markdown(
        "Near the states that it met, block *l* is the matrix $M^l = I + J^l_{tt}$. Its "
        "eigenvalues are computed in float64, with the residual of their eigenvectors. **How sure "
        "each is** follows from its left and right eigenvectors *y* and *x* of length 1: an error "
        "*E* moves it by at most"
    )
    _latex_lines(
        r"|\delta\lambda| \le \frac{\lVert E \rVert}{|y^{\mathsf H} x|},",
        r"\lVert E \rVert \approx 10^{-6} \lVert J \rVert_F",
    )
    st.markdown(
        "to first order, where *E* is what float32 leaves of the Jacobian. One that may be off by "
        "more than a hundredth of its modulus is drawn as an open circle. **Henrici's departure** "
        "is 0 of a normal matrix, whose eigenvectors are orthogonal, and below 1:"
    )
    _latex_lines(
        r"\frac{\sqrt{\lVert M \rVert_F^2 - \sum_k |\lambda_k|^2}}{\lVert M \rVert_F},",
        r"\text{asymmetry} = \frac{\lVert J - J^\top \rVert_F}{\lVert J + J^\top \rVert_F}",
    )
    st.markdown(
        "Of the product $M^l \\cdots M^1$, with singular values *s*, the **effective rank** is "
        "$\\exp(-\\sum p \\ln p)$ with $p_k = s_k^2 / \\sum s^2$, and the **participation ratio** "
        "$(\\sum s^2)^2 / \\sum s^4$: how many directions of the first state are left. Multiplied "
        "in random orders, the same blocks say how much of that is due to the order. It is the "
        "linear part, at one token's own states, of what a model does to a small change."
    )


def perturbation() -> None:
    st.markdown(
        "Noise of a given size *e* is added to the embedding of one token, and the model runs on "
        "(the preprint's Figure 34). To first order, its change behind block *l* is a product:"
    )
    _latex_lines(
        r"\tilde x^0_t = x^0_t + e\,\lVert x^0_t \rVert\, w,",
        r"\Delta^l \approx M^l \cdots M^1\, e\,\lVert x^0_t \rVert\, w",
    )
    st.markdown(
        "with random *w* of length 1: anywhere, in the span of the leading $v_k$ of block 1, or in "
        "the span of as many random directions. The **radius** is the size at which the norm of "
        "the difference of both changes is a tenth of the true one, in half of 32 draws. Above it, "
        "Jacobians do not say what happens. Where float32 may be off by more than a quarter of "
        "that tenth, a size does not count; that is measured, by running the undisturbed state "
        "among others."
    )


def vision() -> None:
    st.markdown(
        "A vision transformer cuts an image into patches, and each is a token; before them stands "
        "a class token, from which the class is read. All tokens see all others, so that a block's "
        "Jacobian at one of them is that of the whole sequence with this one row varied.\n\n"
        "The other rows meet the varied one in attention only, through keys and values that do not "
        "depend on it. The block is therefore run on that row alone, over the others' keys and "
        "values; where that does not give what the model gave, over all rows. Both agree with "
        "full-sequence differentiation to 1e-9 in true float64.\n\n"
        "**Stochastic depth** leaves out each half of a block (attention, MLP) for whole images at "
        "random while the model learns, at a rate that rises linearly from 0 in the first block to "
        "the given one in the last; what is kept is divided by the probability of keeping it. "
        "Coupling is measured in the whole model, with nothing left out. The runs that ship "
        "learned 2,000 images of Fashion-MNIST for 50 epochs, so that those at rate 0 "
        "know nearly all of them by heart; accuracy is on the 10,000 test images. Intervals over "
        "seeds, and over pictures, are Student's. Runs of one seed share initial weights and the "
        "order of images at every rate; rates are therefore compared within seeds, with a variance "
        "of its own for each, along a straight line and along a parabola."
    )


def limits() -> None:
    st.markdown(
        "- **One prompt is an example.** A handful of prompts can overstate coupling by up to "
        "70\u00a0%: a claim about a model needs at least 40 of them and an interval. Start leads "
        "to Depth over a list of your own prompts, and `coupling depth --prompts FILE` does the "
        "same.\n"
        "- **Near ties.** Neighbouring singular values often differ by less than 1\u00a0%. Single "
        "vectors are then arbitrary, and a matrix may look scrambled although the subspaces "
        "agree: read the principal angles beside it.\n"
        "- **Training moves the floor.** As the spectrum sharpens, the raw score can fall while "
        "coupling rises: compare chance-corrected scores or alignments.\n"
        "- **Models are few, and not independent.** A correlation over checkpoints says that "
        "coupling and performance both change with training; one over models, that they go "
        "together in those that were measured. Neither says what causes what.\n"
        "- **Held-out losses** compare only between models that read the same text with the same "
        "vocabulary.\n"
        "- **Linear, and at one token.** A Jacobian describes a block near one state only, and "
        "nothing of what other tokens do.\n"
        "- **Post-norm blocks** (BERT and its kin) share by construction the directions that their "
        "norms take out, so that an untrained one is coupled too: the untrained twin of MiniLM "
        "scores 0.16 where the trained model scores 0.37 (chance-corrected, K = 50). Compare such "
        "a model with its twin, not with 0.\n"
        "- **Quantised weights** are measured as what they are dequantised to, in float32."
    )


def reading() -> None:
    for one in PAGES.values():
        if one.guide:
            st.subheader(one.title, anchor=False)
            st.markdown(one.guide)


def directions() -> None:
    st.markdown(
        "What block *l* writes is $u_k$ and what it reads is $v_k$, the singular vectors of its "
        "Jacobian; the largest entry of each $v_k$ is positive. A direction is **read out** by its "
        "cosine $c_i$ with each row of the unembedding, scaled by the final norm's weight and "
        "centred over the vocabulary (what is read, also with each centred input embedding):"
    )
    _latex_lines(
        r"z_i = \frac{c_i - \bar c}{\sigma_c},",
        r"\text{peakedness} = \tfrac{1}{10} \sum_{i \in \text{top 10}} |z_i|",
    )
    st.markdown(
        "The null of the peakedness is that of 500 random directions. A readout that 99 of 100 of "
        "them do not reach says more than chance; the top tokens of any other mean nothing. In "
        "SmolLM2-135M that is most of them. Where rounding may turn two neighbours into one "
        "another by more than 0.1 (Wedin's theorem), they are tied, and only their common "
        "subspace means anything.\n\n"
        "**Steering** adds a direction to the state, in units of the state's own norm, and runs "
        "the rest of the model; **ablation** takes a subspace out of what a block reads. Both are "
        "held against 20 random directions, or frames of as many:"
    )
    _latex_lines(
        r"x^l_t + e\,\lVert x^l_t \rVert\, u,",
        r"x^{l-1}_t - V_K V_K^\top x^{l-1}_t",
    )
    st.markdown(
        "**Shared** by several blocks are the leading eigenvectors of the mean of $U U^\\top$ over "
        "them; as many count as have an eigenvalue above the largest of independent random "
        "subspaces. The **track** of a component is $A_{kk}^{ll'}$ over *l*; unrelated directions "
        r"lie within $1.96\,\lVert J^l \rVert_F / d$ 95 times of 100."
    )

    st.markdown(
        "**Across two models** of one width, over the same tokens, block by block: the principal "
        "angles between the spans of the leading *K* directions of A and of B; independent ones "
        "stand at the angles of Wachter's law. A direction of B is **new** where less than half "
        "of its squared length lies among the leading 2 *K* of A's block. The Jacobians of A in "
        "the bases of B are"
    )
    st.latex(r"A^{ll'} = U_{b,l'}^\top\, J_a^{l}\, V_{b,l'}")


def pruning() -> None:
    st.markdown(
        "Blocks are ranked on every third text, and what leaving them out costs is told of the "
        "others alone: their **loss**, the cross entropy of the next token, in nats a token, with "
        "a 95\u00a0% interval by resampling whole texts. Nothing is trained after blocks are gone. "
        "The rankings:\n\n"
        "- **coupling**: the blocks most coupled with those next to them go first, by the mean of "
        "the chance-corrected scores of *l* with *l* - 1 and *l* + 1, in both directions, at the "
        "last token. The preprint's Table 2 says that coupling makes blocks redundant, and "
        "redundant means here: a neighbour acts along the same directions.\n"
        "- **Block Influence** (Men et al., ShortGPT): least first,"
    )
    st.latex(
        r"\mathrm{BI}_l = 1 - \operatorname{mean}_t "
        r"\frac{x^{l-1}_t \cdot x^l_t}{\lVert x^{l-1}_t \rVert \, \lVert x^l_t \rVert}"
    )
    st.markdown(
        "- **angular distance** (Gromov et al.): of *n* blocks in a row, those over which the last "
        "token's state turns least,"
    )
    st.latex(
        r"\frac{1}{\pi} \arccos "
        r"\frac{x^a \cdot x^{a+n}}{\lVert x^a \rVert \, \lVert x^{a+n} \rVert}"
    )
    st.markdown(
        "- **KL**: greedily, the block without which the next-token distributions change least; "
        "the next is measured in the model that is left.\n"
        "- **last**: from the end, but never the very last block, whose output the final norm "
        "and the head read.\n"
        "- **random**: 20 orders of all blocks. A ranking that costs as much as the middle "
        "90\u00a0% of them is no better than chance.\n\n"
        "**Neighbours' weights instead**: in the place of a block that goes runs the nearest block "
        "that stays (of two equally near, the one before), which saves as much. transformers has "
        "no form for such a model, so that only models with blocks left out are saved."
    )


def citation() -> None:
    st.markdown(
        "The measure and the phenomenon are from this paper; please cite it for both. The "
        "mosaic of the Depth page follows its Figure 3, the Tokens page its Figures 4, 15 and "
        "16, the Layer graph its Figures 1c-e, Training its Figures 1b-e, Generalization its "
        "Figures 1a, 8 and 9, and the preprint's Figures 8 to 10."
    )
    st.code(CITATION, language="bibtex", wrap_lines=True)


SECTIONS = {
    "From a prompt to Jacobians": jacobians,
    "Coupling matrices": coupling,
    "Scores": scores,
    "What chance gives": chance,
    "How the singular vectors are checked": certificates,
    "Whether an old result still holds": rechecks,
    "Paths through depth": trajectories,
    "Blocks as linear maps": linear_maps,
    "How far noise gets": perturbation,
    "What directions say and do": directions,
    "The blocks as a graph": graphs,
    "Through training": training,
    "Coupling and performance over models": generalization,
    "Images": vision,
    "What if blocks ran elsewhere": edits,
    "Which blocks could go": pruning,
    "Two results side by side": comparisons,
    "How the figures are read": reading,
    "What these figures cannot say": limits,
    "Citation": citation,
}


def _anchor(number: int) -> str:
    return f"section-{number}"


with page("Method"):
    st.html(STYLE)
    with st.container(width=TEXT_WIDTH):
        st.title("Method", anchor=False)
        with st.container(key="contents"):
            st.markdown(
                "\n".join(
                    f"{number}. [{title}](#{_anchor(number)})"
                    for number, title in enumerate(SECTIONS, start=1)
                )
            )
        for number, (title, write) in enumerate(SECTIONS.items(), start=1):
            st.header(title, anchor=_anchor(number))
            write()
