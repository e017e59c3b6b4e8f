"""Coupling between the tokens of a prompt, in two blocks or on average over all pairs of blocks."""

from functools import partial

from coupling_core.base.kinds import KindOfResult
from coupling_core.base.records import TOKEN_K_VIEW, View
from coupling_core.base.results import TokenMeansResult, TokensResult

_between = partial(
    KindOfResult,
    folder=__name__,
    result=TokensResult,
    view=View,
    means=TokenMeansResult,
    k_view=TOKEN_K_VIEW,
)
KINDS = (
    _between("self"),
    _between("fixed-input", token="fixed"),
    _between("fixed-output", token="fixed"),
)
