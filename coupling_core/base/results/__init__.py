"""Results by their kinds: what is stored of a measurement, one class a file.

    base           what every result has
    at_token       what those have that are of every block at one token
    depth          the blocks at one token
    tokens         the tokens, in two blocks
    token_means    the tokens, on average over all pairs of blocks
    trajectory     the path of every token through the blocks
    whatif         what edits of its depth do
    spectrum       eigenvalues of each block's map, and products of them
    perturbation   noise on the first state, in truth and to first order
    directions     what the leading singular vectors of the blocks read and write
    scores         the scores of one view of it: numbers, means, tables, a figure
    progress       where a running measurement stands, with the result so far

A class is here if more than its own kind's folder needs it, such as figures. The archive, the
store, the queue and the list of runs know only `Result`.
"""

from coupling_core.base.kinds import kind_of
from coupling_core.base.records import Request
from coupling_core.base.results.base import Result, Sizes
from coupling_core.base.results.depth import DepthResult
from coupling_core.base.results.directions import DirectionsResult
from coupling_core.base.results.perturbation import PerturbationResult
from coupling_core.base.results.progress import BEGINNING, Progress
from coupling_core.base.results.scores import Means, PairScores, PositionScores, Scores
from coupling_core.base.results.spectrum import SpectrumResult
from coupling_core.base.results.token_means import TokenMeansResult
from coupling_core.base.results.tokens import TokenResult, TokensResult
from coupling_core.base.results.trajectory import TrajectoryResult
from coupling_core.base.results.whatif import WhatIfResult


def result_type(request: Request) -> type[Result]:
    """The class of a request's result; the archive reads by it."""
    kind = kind_of(request.kind)
    return kind.means if kind.means and request.is_mean else kind.result
