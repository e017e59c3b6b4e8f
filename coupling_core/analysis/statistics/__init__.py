"""Coupling against performance over many models, from the table of a sweep.

    means           mean coupling of each model over prompts, at one K
    by_group        mean coupling of each group of prompts, such as a category
    subsets         named subsets of the models (Table 4 of the preprint)
    points          two numbers of each model, and what n counts
    fits            straight lines and exponentials (Figures 1a and 8)
    correlations    Pearson and Spearman, over models and over families or runs
    families        the same without each family, within families, between them
    partial         the same given parameters, depth, width and training tokens (Figure 9)
    prompts         coupling against length and difficulty of prompts (Figure 10)
    courses         what coupling does over the checkpoints of a training run
    resampling      intervals over whole units, by leaving each out

What cannot be computed comes back as NaN with its reason in words, so that a page can say it.
"""

from coupling_core.analysis.statistics.correlations import Correlation, correlate, correlations_by_k
from coupling_core.analysis.statistics.courses import Fall, above_p, bend_p, fall
from coupling_core.analysis.statistics.families import LeaveOneFamilyOut, leave_one_family_out
from coupling_core.analysis.statistics.fits import Fit, Form, fit
from coupling_core.analysis.statistics.means import ModelMeans, at_k, means_by_k, model_means
from coupling_core.analysis.statistics.partial import (
    PartialCorrelation,
    ResidualCorrelation,
    over_clusters,
    partial_correlation,
    residual_correlation,
)
from coupling_core.analysis.statistics.points import SIZES, ClusterBy, Points, pair
from coupling_core.analysis.statistics.prompts import PromptTrend, PromptTrends, prompt_trends
from coupling_core.analysis.statistics.resampling import LEVEL, Range, p_words
from coupling_core.analysis.statistics.subsets import SUBSETS, Subset, subset

__all__ = [  # noqa: RUF022 - by stage, not by name
    # a row a model
    "ModelMeans",
    "model_means",
    "means_by_k",
    "at_k",
    "SUBSETS",
    "Subset",
    "subset",
    # two numbers of each
    "SIZES",
    "Points",
    "pair",
    # how they go together
    "Form",
    "Fit",
    "fit",
    "LEVEL",
    "ClusterBy",
    "Range",
    "p_words",
    "Correlation",
    "correlate",
    "correlations_by_k",
    # what it rests on
    "LeaveOneFamilyOut",
    "leave_one_family_out",
    "PartialCorrelation",
    "ResidualCorrelation",
    "partial_correlation",
    "residual_correlation",
    "over_clusters",
    # within training runs, over checkpoints
    "Fall",
    "fall",
    "bend_p",
    "above_p",
    # within models, over prompts
    "PromptTrend",
    "PromptTrends",
    "prompt_trends",
]
