"""Results by their kinds: what is stored of a measurement, one class a file.

    base           what every result has
    depth          the blocks at one token
    tokens         the tokens, in two blocks
    token_means    the tokens, on average over all pairs of blocks
    trajectory     the path of every token through the blocks
    progress       where a running measurement stands, with the result so far

A new kind of result is a class here, a composition in `measuring.kinds`, its numbers in
`analysis.exports`, its words in `cli.reports`, and a page in `explorer.frame.shell.PAGE_OF_KIND`
with a recipe in `explorer.panels.recipes`; the archive, the store, the queue and the list of runs
know only `Result`.
"""

from coupling_core.base.records import TOKEN_KINDS, Kind, Request
from coupling_core.base.results.base import Result, Sizes
from coupling_core.base.results.depth import DepthResult
from coupling_core.base.results.progress import Progress
from coupling_core.base.results.token_means import TokenMeansResult
from coupling_core.base.results.tokens import PositionCoupling, TokenResult, TokensResult
from coupling_core.base.results.trajectory import TrajectoryResult

__all__ = [
    "DepthResult",
    "PositionCoupling",
    "Progress",
    "Result",
    "Sizes",
    "TokenMeansResult",
    "TokenResult",
    "TokensResult",
    "TrajectoryResult",
    "result_type",
]

_BY_KIND: dict[Kind, type[Result]] = {
    kind: of for of in (DepthResult, TokensResult, TrajectoryResult) for kind in of.kinds
}


def result_type(request: Request) -> type[Result]:
    """The class of a request's result; the archive reads by it."""
    if request.kind in TOKEN_KINDS and request.block is None:
        return TokenMeansResult
    return _BY_KIND[request.kind]
