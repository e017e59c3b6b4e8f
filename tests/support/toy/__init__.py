"""A kind of result in one folder: the norm of every state x^l at one token."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from coupling_core.base import kinds
from coupling_core.base.records import AnyView
from coupling_core.base.results import Result, Sizes


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class NormsResult(Result):
    """The norm of x^0 .. x^L at one token, 1..n."""

    token: int
    norms: Float[np.ndarray, " state"]

    finite = ("norms",)

    @classmethod
    def sizes_of(cls, fields: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]) -> Sizes:
        return Sizes(n_blocks=shapes["norms"][0] - 1)

    @property
    def complete(self) -> bool:
        return True

    @property
    def measured(self) -> str:
        return f"at token {self.token}"

    def consistency(self) -> Mapping[str, bool]:
        return {"its token is none of the prompt": 1 <= self.token <= len(self.tokens)}


KINDS = (kinds.KindOfResult("toy", __name__, NormsResult, AnyView, token="measured", has_k=False),)


def add() -> None:
    """Register it for as long as this process lasts: the one line that a kind takes."""
    kinds.FOLDERS += (__name__,)
