"""Coupling against performance over many models, from the table of a sweep.

    means           mean coupling of each model over prompts, at one K, and subsets of the models
    by_group        mean coupling of each group of prompts, such as a category
    points          two numbers of each model, and what n counts
    fits            straight lines and exponentials (Figures 1a and 8)
    correlations    Pearson and Spearman, and given sizes (Figure 9): over models and over families
    families        the same without each family, within families, between them
    prompts         coupling against length and difficulty of prompts (Figure 10)
    courses         what coupling does over the checkpoints of a training run
    resampling      intervals over whole units, by leaving each out

What cannot be computed comes back as NaN with its reason in words, so that a page can say it.
"""

from coupling_core.analysis.statistics.correlations import (
    Correlation,
    PartialCorrelation,
    correlate,
    correlation_of,
    partial_correlation,
)
from coupling_core.analysis.statistics.courses import Fall, above_p, bend_p, fall
from coupling_core.analysis.statistics.families import LeaveOneFamilyOut, leave_one_family_out
from coupling_core.analysis.statistics.fits import Fit, Form, fit
from coupling_core.analysis.statistics.means import (
    SUBSETS,
    ModelMeans,
    at_k,
    means_by_k,
    model_means,
    subset,
    uncertified,
)
from coupling_core.analysis.statistics.points import ClusterBy, Points, pair
from coupling_core.analysis.statistics.prompts import PromptTrend, PromptTrends, prompt_trends
from coupling_core.analysis.statistics.resampling import Range
