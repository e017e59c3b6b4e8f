"""What coupling does over the checkpoints of a training run: whether it falls, whether it bends.

Checkpoints scatter, and so do prompts. A highest checkpoint there always is, and it is seldom the
last: that alone is no fall.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy import stats

from coupling_core.analysis.statistics.resampling import coefficient, jackknifed


@dataclass(frozen=True)
class Fall:
    """The highest checkpoint, its mean coupling, that of the last, and the one-sided p."""

    step: int
    top: float
    end: float
    p: float


def fall(coupling: Float[np.ndarray, "prompt step"], steps: Float[np.ndarray, " step"]) -> Fall:
    """Whether coupling falls after its highest checkpoint, by more than scatter explains.

    p is the larger of two, each of which takes the choice of the highest into account:

        checkpoints   those after the highest would come in any order, were there no fall: how many
                      orders fall as steadily (Kendall's tau, exact; a tie counts as a rise). The
                      highest itself is left out, and four must be left;
        prompts       the same prompts at the highest and at the last checkpoint (paired t, times
                      the number of checkpoints before the last).

    A prompt that lacks a checkpoint is left out; rising steps with the same numbers are one.
    """
    known = coupling[np.isfinite(coupling).all(1)]
    first = np.sort(np.unique(known, axis=1, return_index=True)[1])
    known, steps = known[:, first], steps[first]
    means = known.mean(0) if len(known) else np.full(len(steps), np.nan)
    top = int(means.argmax())
    p = max(_of_order(means[top + 1 :]), above_p(known[:, top] - known[:, -1]) * len(steps))
    return Fall(int(steps[top]), float(means[top]), float(means[-1]), min(p, 1.0))


def bend_p(coupling: Float[np.ndarray, " step"], performance: Float[np.ndarray, " step"]) -> float:
    """The p of a parabola's square, by leaving out each checkpoint: of no bend; NaN below five."""
    return jackknifed(
        lambda kept: coefficient(performance[kept], coupling[kept], 2),
        np.arange(len(coupling)),
        "checkpoints",
        is_correlation=False,
    ).p


def above_p(difference: Float[np.ndarray, " prompt"]) -> float:
    """One-sided p of a mean that is not above 0, prompts being independent; 1 below two."""
    n = len(difference)
    if n < 2 or not difference.mean() > 0:
        return 1.0
    error = difference.std(ddof=1) / np.sqrt(n)
    return float(stats.t.sf(difference.mean() / error, n - 1)) if error else 0.0


def _of_order(after: Float[np.ndarray, " step"]) -> float:
    """The p of steps that fall so steadily, all orders being as likely."""
    if len(after) < 2:
        return 1.0
    ranks = np.lexsort((np.arange(len(after)), after)).argsort()  # a tie rises
    return float(stats.kendalltau(np.arange(len(after)), ranks, alternative="less").pvalue)
