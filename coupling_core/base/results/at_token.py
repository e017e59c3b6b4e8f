"""What results have that were measured of every block at one token."""

from collections.abc import Mapping
from dataclasses import dataclass

from coupling_core.base.records import Certificate
from coupling_core.base.results.base import Result


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class AtToken(Result):
    """A Jacobian of every block at one token, each decomposed.

    Args:
        token: the token measured, 1..n.
        certificates: of the SVDs, one per block.
    """

    token: int
    certificates: tuple[Certificate, ...]

    @property
    def measured(self) -> str:
        """Which token was measured."""
        text = self.tokens[self.token - 1].strip()
        return f"at token {self.token} of {len(self.tokens)}, “{text}”"

    def consistency(self) -> Mapping[str, bool]:
        """As `Result.consistency`."""
        return {
            "its token is none of the prompt": 1 <= self.token <= len(self.tokens),
            "its certificates are not one a block": len(self.certificates) == self.n_blocks,
        }
