"""Coupling between the tokens of a prompt: the Jacobians of two blocks, across positions."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Bool, Float, Int

from coupling_core.base.definitions import UNNAMED_SAMPLED, DefinitionName
from coupling_core.base.figure_names import TokensFigure
from coupling_core.base.records import ROLES, Certificate, Level, Role, View, resolve_token
from coupling_core.base.results.base import Result, within
from coupling_core.base.results.scores import PositionScores

FAINT = 1e-4
"""Below this part of the largest Jacobian's norm, or the identity's, J between tokens is faint."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class TokenResult(Result[TokensFigure]):
    """What a comparison of tokens knows of them, for one pair of blocks or for all.

    Args:
        token: the token that is fixed, 1..n; 0 where every token is taken with itself.
        causal: whether a token sees only those before it.
        block_count: L.
        singular_values: the top Kmax of the Jacobians.
    """

    token: int
    causal: bool
    block_count: int
    singular_values: Float[np.ndarray, "side position k"]

    finite = ("singular_values", "jacobian_norm")

    @property
    def allowed(self) -> Bool[np.ndarray, " position"]:
        """Where there is a Jacobian: an input may come no later than its output, if causal."""
        number = np.arange(1, len(self.tokens) + 1)
        match self.request.kind if self.causal else "self":
            case "fixed-input":
                return number >= self.token
            case "fixed-output":
                return number <= self.token
            case _:
                return np.ones(len(number), bool)

    @property
    def faint(self) -> bool:
        """Whether a Jacobian is so small that float32 may hold rounding alone.

        By the singular values that are kept: their norm is at most the Jacobian's.
        """
        if not self.token:
            return False
        norms = np.linalg.norm(self.singular_values, axis=-1)
        largest = np.nanmax(norms, axis=-1, keepdims=True, initial=self.width**0.5)
        return bool(((norms > 0) & (norms < FAINT * largest)).any())

    def scores(
        self,
        k: int | None = None,
        *,
        definition: DefinitionName = "paper",
        role: Role = "A",
        p: float = 1.0,
        level: Level = "frames",
    ) -> PositionScores:
        """The scores of all pairs of tokens, as `DepthResult.scores` has those of blocks.

        A row is the token of the Jacobian, a column that of the basis. A mean over all pairs of
        blocks is kept at the K of its `k_grid` alone; raises `InputError` at another.
        """
        k = self.default_k if k is None else k
        return self.part("numbers").derive(self, View(k, definition, p, role, level=level))

    @property
    def is_doubtful(self) -> bool:
        """Whether a faint Jacobian, which float32 rounds away, was not compared with float64.

        The results of earlier versions, which did not, do not tell the ways by block.
        """
        ways = self.provenance.get("ways")
        by_block = isinstance(ways, dict) and all(isinstance(of, dict) for of in ways.values())
        return self.faint and not by_block

    @property
    def fixed_words(self) -> str:
        """Which token is fixed, and at which end; or that every token is taken with itself."""
        if not self.token:
            return "each token with itself"
        text = self.tokens[self.token - 1].strip()
        end = "input" if self.request.kind == "fixed-input" else "output"
        return f"{end} token {self.token} of {len(self.tokens)}, “{text}”"


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class TokensResult(TokenResult):
    """The numerators of every score of two blocks between all positions of a prompt.

    NaN where causality forbids, or where it is unfinished.

    Args:
        blocks: l of the Jacobian (rows) and l' of the basis (columns).
        singular_values: the top Kmax of both blocks, 0 past the rank.
        next_singular_value: s_{Kmax+1}, which shows the gap at Kmax; NaN where Kmax = d.
        rank: numerical rank of the measured part, at most Kmax; 0 where the Jacobian is zero, and
            where there is none.
        jacobian_norm: norm_F of block l's Jacobians.
        diagonal: A_kk and B_kk; row = position of the Jacobian, column = position of the basis.
        off_diagonal: squared norm of the off-diagonal entries of the leading k x k corner.
        matrices: leading corner of A and B divided by s_1 of the row's Jacobian, so that float16
            always holds it.
        sampled: the definitions whose chance floor was sampled.
        chance: their chance floors.
        chance_error: their standard errors.
        certificates: of both blocks, by position; None where there is no Jacobian.
        positions_done: how many of the allowed positions are measured.
    """

    blocks: tuple[int, int]
    next_singular_value: Float[np.ndarray, "side position"]
    rank: Int[np.ndarray, "side position"]
    jacobian_norm: Float[np.ndarray, " position"]
    diagonal: Float[np.ndarray, "role position position k"]
    off_diagonal: Float[np.ndarray, "role position position k"]
    matrices: Float[np.ndarray, "role position position k_view k_view"]
    sampled: tuple[str, ...] = UNNAMED_SAMPLED
    chance: Float[np.ndarray, "sampled position k"]
    chance_error: Float[np.ndarray, "sampled position k"]
    certificates: tuple[tuple[Certificate | None, ...], ...]
    positions_done: int = 0

    axis_names: ClassVar = {"sampled": "sampled"}
    certified_along = ("side", "position")

    @property
    def complete(self) -> bool:
        """Whether every position is measured."""
        return self.positions_done == int(self.allowed.sum())

    @property
    def measured(self) -> str:
        """What of the prompt was compared."""
        block, other = self.blocks
        pair = f"block {block}" if block == other else f"blocks {block} and {other}"
        return f"in {pair}, {self.fixed_words}"

    @classmethod
    def each_certificate(cls, fields: Mapping[str, Any]) -> Iterator[Certificate]:
        """One a Jacobian: a block that is compared with itself has its own once."""
        distinct = 1 if len(set(fields["blocks"])) == 1 else 2
        for side in fields["certificates"][:distinct]:
            yield from filter(None, side)

    def consistency(self) -> Mapping[str, bool]:
        """As `Result.consistency`."""
        known = within(np.array(self.blocks), 1, self.n_blocks)
        return {"its blocks are none of the model": known}

    def singular_values_of(self, token: int, *, other: bool = False) -> Float[np.ndarray, " k"]:
        """Those of one token's Jacobian, largest first; 0 past its rank, without a unit.

        The token is 1..n, or counted from the end; raises `InputError` on any other. `other` takes
        the block that gives the bases, in place of the one whose Jacobians they are.
        """
        at = resolve_token(token, len(self.tokens)) - 1
        values: Float[np.ndarray, " k"] = self.singular_values[int(other), at]
        return values

    def matrix(
        self, token: int, other: int, role: Role = "A"
    ) -> Float[np.ndarray, "k_view k_view"]:
        """Leading corner of A (or B) of two tokens in its own units.

        Tokens are 1..n, or counted from the end; raises `InputError` on any other.
        """
        row, column = (resolve_token(each, len(self.tokens)) - 1 for each in (token, other))
        stored = self.matrices[ROLES.index(role), row, column].astype(np.float32)
        return stored * np.float32(self.singular_values[0, row, 0])
