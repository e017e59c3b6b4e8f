"""What results have that were measured of every block at one token."""

from dataclasses import dataclass
from typing import ClassVar

from coupling_core.base.notebook import FigureOf
from coupling_core.base.records import Certificate
from coupling_core.base.results.base import Result


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class AtToken(Result[FigureOf]):
    """A Jacobian of every block at one token, each decomposed.

    Args:
        token: the token measured, 1..n.
        certificates: of the SVDs, one per block.
    """

    token: int
    certificates: tuple[Certificate, ...]

    certified_along: ClassVar[tuple[str, ...]] = ("block",)

    @property
    def measured(self) -> str:
        """Which token was measured."""
        text = self.tokens[self.token - 1].strip()
        return f"at token {self.token} of {len(self.tokens)}, “{text}”"
