"""Follow the norm of every state x^l at one token."""

from collections.abc import Mapping
from dataclasses import dataclass

from jaxtyping import Float
from numpy import ndarray

from coupling_core.base import kinds
from coupling_core.base.records import AnyView
from coupling_core.base.results import Result


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class NormsResult(Result):
    token: int
    norms: Float[ndarray, " state"]

    finite = ("norms",)
    complete = True

    @property
    def measured(self) -> str:
        return f"at token {self.token}"

    def consistency(self) -> Mapping[str, bool]:
        return {"its token is none of the prompt": 1 <= self.token <= len(self.tokens)}


KINDS = (kinds.KindOfResult("toy", __name__, NormsResult, AnyView, token="measured"),)


def add() -> None:
    """Register it for as long as this process lasts: the one line that a kind takes."""
    kinds.FOLDERS += (__name__,)
