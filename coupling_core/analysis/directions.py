"""What stored directions say: gaps and ties, tracks over depth, and where a direction recurs."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float, Int

from coupling_core.analysis.subspaces import chance_angles, median_told, principal_angles
from coupling_core.base.blocks import Blocks, blocks_of
from coupling_core.base.choosing import require_one_of
from coupling_core.base.errors import InputError
from coupling_core.base.notebook import Plottable, Table, Tabular, in_a_line
from coupling_core.base.records import (
    DirectionsView,
    resolve_block,
    resolve_blocks,
    view_by,
)
from coupling_core.base.results import DirectionsResult
from coupling_core.base.results.directions import SIDES
from coupling_core.base.units import counted, ranges, ranges_spoken, rounded

ROUNDING = 3e-5
"""How far float32 leaves a Jacobian uncertain at most, in units of s_1."""
TURNED = 0.1
"""An angle in radians: where rounding may turn two neighbours into one another by more, they are
tied, and only the subspace of both means anything."""
DONE = {"u": "write", "v": "read"}
HELD = {"u": "written", "v": "read"}
"""What blocks do with directions of a side, and what then is done with these."""


def viewed(
    result: DirectionsResult,
    view: DirectionsView | None,
    blocks: Blocks = None,
    leading: int | None = None,
) -> tuple[tuple[int, ...], int]:
    """The blocks of a view, or those named, and how many directions of each."""
    numbers = blocks_of(blocks, result.n_blocks)
    view = view_by(DirectionsView, view, blocks=numbers, leading=leading)
    count = view.leading or result.count
    if count > result.count:
        raise InputError(
            f"K must lie in 1..{result.count} (the directions kept of a block), and {count} came"
        )
    return resolve_blocks(view.blocks, result.n_blocks), count


def gaps(result: DirectionsResult) -> Float[np.ndarray, "block k"]:
    """(s_k - s_{k+1}) / s_1; NaN where there is no s_{k+1}."""
    s = np.column_stack([result.singular_values, result.next_singular_value]).astype(np.float64)
    return -np.diff(s) / np.where(s[:, :1] > 0, s[:, :1], np.nan)


def tied(result: DirectionsResult) -> Bool[np.ndarray, "block k"]:
    """Whether a direction is tied with the next: rounding may turn them into one another.

    By Wedin's theorem an error of the Jacobian of norm r turns a singular vector by r / gap at
    most. r is what float32 leaves of J, or the residual of the decomposition where that is more.
    """
    known = np.full(result.n_blocks, ROUNDING)
    known[: len(result.certificates)] = [max(ROUNDING, c.residual) for c in result.certificates]
    return gaps(result) * TURNED < known[:, None]


def counts(
    result: DirectionsResult, leading: int | None = None
) -> Int[np.ndarray, "readout block"]:
    """How many of the leading directions have a readout beyond chance, by readout and block."""
    return result.beyond_chance[..., : leading or result.count].sum(-1)


def track(result: DirectionsResult, block: int, component: int) -> Float[np.ndarray, " block"]:
    """A_kk^{ll'} over l, for the component k (1..K) of the basis block l': u'_k^T J^l v'_k."""
    if not 1 <= component <= result.count:
        raise InputError(
            f"direction {component} is out of range: {result.count} are kept of a block"
        )
    column, k = resolve_block(block, result.n_blocks) - 1, component - 1
    stored = result.matrices[:, column, k, k].astype(np.float64)
    return stored * result.singular_values[:, 0]


def track_chance(result: DirectionsResult) -> Float[np.ndarray, " block"]:
    """The 95 % half width of u^T J^l v over independent random unit u and v: 1.96 norm_F(J) / d."""
    return 1.96 * result.jacobian_norm.astype(np.float64) / result.width


def held(
    result: DirectionsResult, direction: Float[np.ndarray, " d"], side: str
) -> Float[np.ndarray, " block"]:
    """norm(U^T x) of a unit vector x in each block's subspace U; by chance about sqrt(K / d)."""
    x = np.asarray(direction, np.float64)
    bases = [orthonormal(result.basis(b, side)) for b in range(1, result.n_blocks + 1)]
    return np.array([np.linalg.norm(basis.T @ x) for basis in bases])


@dataclass(frozen=True, repr=False)
class Shared(Plottable[str]):
    """The directions that several blocks have in common; the only figure is "shared".

    Its table has a row a direction, the most shared first: shared_direction (1, 2, ...), `share`,
    and `share_by_chance` (as `chance`).

    Args:
        directions: in columns, the most shared first, as many as one block has.
        share: eigenvalues of the mean projection onto the blocks' subspaces: 1 lies in all.
        chance: the share that independent random subspaces stay below.
        count: how many of these directions are shared beyond chance.
        result: the directions of all blocks.
        blocks: those that share them, 1..L.
        side: "u", what they write, or "v", what they read.
    """

    figures: ClassVar = {"shared": "directions.shared_directions"}

    directions: Float[np.ndarray, "d k"]
    share: Float[np.ndarray, " k"]
    chance: float
    count: int
    result: DirectionsResult = field(repr=False, compare=False)
    blocks: tuple[int, ...]
    side: str

    def __repr__(self) -> str:
        return in_a_line(
            self,
            self.result.whose,
            f"blocks {ranges(self.blocks)} {DONE[self.side]}",
            f"{self.count} of {counted(len(self.share), 'direction')} shared beyond chance",
            f"shares {rounded(self.share[0])} to {rounded(self.share[-1])}",
            f"by chance below {rounded(self.chance)}",
        )

    @property
    def verdict(self) -> str:
        """How many are shared beyond chance."""
        many = {0: "no direction", 1: "one direction"}.get(self.count, f"{self.count} directions")
        return (
            f"Blocks {ranges_spoken(self.blocks)} {DONE[self.side]} {many} in common beyond "
            f"chance, of the leading {len(self.share)} of each."
        )

    def _table(self) -> Table:
        columns = {
            "shared_direction": np.arange(1, len(self.share) + 1),
            "share": self.share,
            "share_by_chance": self.chance,
        }
        about = {"blocks": list(self.blocks), "side": self.side}
        return columns, self.result.attributes() | about

    @property
    def _drawn_of(self) -> tuple[DirectionsResult, DirectionsView]:
        return self.result, DirectionsView(self.blocks, len(self.share))


NULL_DRAWS = 20
NULL_WIDTHS = 4.0
"""Standard deviations of the largest eigenvalue of random subspaces above its mean."""


def shared_subspace(
    bases: Sequence[Float[np.ndarray, "d _"]], seed: int = 0
) -> tuple[Float[np.ndarray, "d k"], Float[np.ndarray, " k"], float, int]:
    """The first four fields of `Shared`: eigenvectors of the mean of U U^T over the bases U."""
    if len(bases) < 2:
        raise InputError(f"directions are shared by two blocks at least, and {len(bases)} came")
    d, k = len(bases[0]), max(basis.shape[1] for basis in bases)
    together = np.concatenate(bases, 1) / np.sqrt(len(bases))
    directions, s, _ = np.linalg.svd(together, full_matrices=False)
    chance = _share_by_chance(d, tuple(b.shape[1] for b in bases), seed)
    share = s**2
    # Some subspaces share more than k where not all have the same; all of them share k at most.
    return directions[:, :k], share[:k], chance, int((share[:k] > chance).sum())


def shared_of(
    result: DirectionsResult,
    view: DirectionsView | None = None,
    side: str = "u",
    *,
    blocks: Blocks = None,
    leading: int | None = None,
) -> Shared:
    """The directions that blocks share.

    Args:
        result: the directions.
        view: which blocks, and how many of the leading directions of each; None is all.
        side: "u", what they write, or "v", what they read.
        blocks: in place of a view: "9-16", a range, a list of numbers.
        leading: in place of a view: how many of the leading directions of each.

    Raises:
        InputError: where the result lacks a block or has fewer directions, or blocks or a number
            of directions come beside a view; on fewer than two blocks.
    """
    chosen, count = viewed(result, view, blocks, leading)
    require_one_of("the side", side, SIDES)
    bases = [orthonormal(result.basis(b, side)[:, :count]) for b in chosen]
    return Shared(*shared_subspace(bases), result, chosen, side)


@dataclass(frozen=True, repr=False)
class BetweenPrompts(Tabular):
    """How far the directions of a block are those of other prompts too.

    Its table has a row a block: block, 1..L; `shared`; `smallest_angle` and `median_angle` of the
    block's `angles`, and `median_angle_by_chance`, of independent subspaces, in degrees.

    Args:
        blocks: l, 1..L.
        angles: principal angles in degrees between two prompts' subspaces, smallest first, mean
            over the pairs of prompts; NaN where one of them has fewer directions.
        chance: the same of independent random subspaces.
        shared: of the K directions that lie most in the subspaces of all prompts, how many do so
            beyond chance, by block.
        leading: K, how many directions of a block each prompt has.
        side: "u", what blocks write, or "v", what they read.
        results: the directions, one a prompt.
    """

    blocks: tuple[int, ...]
    angles: Float[np.ndarray, "block k"]
    chance: Float[np.ndarray, " k"]
    shared: Int[np.ndarray, " block"]
    leading: int
    side: str
    results: tuple[DirectionsResult, ...] = field(repr=False, compare=False)

    def __repr__(self) -> str:
        return in_a_line(
            self,
            self.whose,
            f"{counted(len(self.blocks), 'block')}: {ranges(self.blocks)}",
            f"{counted(self.leading, 'direction')} {HELD[self.side]}",
            median_told(self.angles, self.chance),
        )

    @property
    def n(self) -> int:
        """How many prompts."""
        return len(self.results)

    @property
    def whose(self) -> str:
        """Of which model and how many prompts, in a line."""
        return f"{self.results[0].model_name}, {counted(self.n, 'prompt')}"

    @property
    def verdict(self) -> str:
        """How far the subspaces are apart beside chance, and how many blocks share a direction."""
        known = np.isfinite(self.angles).all(1)
        if not known.any():
            return f"No block has {counted(self.leading, 'direction')} in every prompt."
        chance = float(np.median(self.chance))
        sharing, at = int((self.shared > 0).sum()), int(np.argmax(self.shared))
        most = f"; most in block {self.blocks[at]}, {self.shared[at]}" if sharing else ""
        return (
            f"Between two of {counted(self.n, 'prompt')}, the leading "
            f"{counted(self.leading, 'direction')} of a block "
            f"{'stands' if self.leading == 1 else 'stand'} at "
            f"{np.median(self.angles[known]):.1f} degrees in the median; independent ones "
            f"would at {chance:.1f}. In {sharing} of {counted(len(self.blocks), 'block')} the "
            f"prompts share directions beyond chance{most}."
        )

    def _table(self) -> Table:
        columns = {
            "block": self.blocks,
            "shared": self.shared,
            "smallest_angle": self.angles[:, 0],
            "median_angle": np.median(self.angles, 1),
            "median_angle_by_chance": float(np.median(self.chance)),
        }
        first = self.results[0]
        about = {"model": first.model_name, "prompts": self.n, "K": self.leading}
        return columns, about | {"side": self.side, "final_norm": first.final_norm_words}


def between_prompts(
    results: Sequence[DirectionsResult],
    view: DirectionsView | None = None,
    side: str = "u",
    *,
    blocks: Blocks = None,
    leading: int | None = None,
) -> BetweenPrompts:
    """How much the subspaces of each block have in common from prompt to prompt.

    Args:
        results: of one model, a prompt each.
        view: which blocks, and how many of the leading directions of each; None is all.
        side: "u", what they write, or "v", what they read.
        blocks: in place of a view: "9-16", a range, a list of numbers.
        leading: in place of a view: how many of the leading directions of each.

    Raises:
        InputError: on fewer than two results, results of several models, or blocks or directions
            that they lack.
    """
    require_one_of("the side", side, SIDES)
    if len(results) < 2:
        raise InputError(f"prompts are compared, two at least, and results of {len(results)} came")
    _require_prompts(results)
    chosen, count = viewed(results[0], view, blocks, leading)
    angles, shared = np.full((len(chosen), count), np.nan), np.zeros(len(chosen), int)
    for at, block in enumerate(chosen):
        bases = [orthonormal(one.basis(block, side)[:, :count]) for one in results]
        shared[at] = shared_subspace(bases)[-1]
        angles[at] = mean_angles(bases, count)
    chance = chance_angles(count, results[0].width)
    return BetweenPrompts(chosen, angles, chance, shared, count, side, tuple(results))


def _require_prompts(results: Sequence[DirectionsResult]) -> None:
    """Refuse results of several models, and one prompt twice."""
    asked = [(one.model_name, one.request) for one in results]
    models = {
        " ".join(filter(None, (name, of.revision, of.dtype, of.quantize))) for name, of in asked
    }
    digests = {one.identity.get("digest") for one in results} - {None, ""}
    if len(models) > 1 or len(digests) > 1:
        raise InputError(
            f"prompts of one model are compared, and these results ({', '.join(sorted(models))}) "
            "are of several: cross(a, b) compares two models over one prompt"
        )
    if len({one.token_ids.tobytes() for one in results}) < len(results):
        raise InputError("prompts are compared with one another, and one came twice")


def orthonormal(columns: Float[np.ndarray, "d k"]) -> Float[np.ndarray, "d rank"]:
    """Orthonormal columns with the same span; those that are zero are left out."""
    exact = np.asarray(columns, np.float64)
    return np.linalg.qr(exact[:, exact.any(axis=0)])[0]


def mean_angles(bases: Sequence[Float[np.ndarray, "d _"]], k: int) -> Float[np.ndarray, " k"]:
    """Principal angles in degrees, mean over each two of several bases; NaN below K directions."""
    if any(basis.shape[1] < k for basis in bases):
        return np.full(k, np.nan)
    return np.mean([principal_angles(a, b) for a, b in combinations(bases, 2)], 0)


@lru_cache(maxsize=64)
def _share_by_chance(d: int, widths: tuple[int, ...], seed: int) -> float:
    """The share that independent random subspaces of these widths stay below."""
    rng, largest = np.random.default_rng(seed), []
    for _ in range(NULL_DRAWS):
        frames = [np.linalg.qr(rng.standard_normal((d, k)))[0] for k in widths]
        gram = np.concatenate(frames, 1)
        small = gram @ gram.T if d < gram.shape[1] else gram.T @ gram
        largest.append(float(np.linalg.eigvalsh(small)[-1]) / len(widths))
    return min(1.0, float(np.mean(largest) + NULL_WIDTHS * np.std(largest)))
