"""Scores (see `base.definitions`), chance floors, means and intervals from what is stored."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real

import numpy as np
from jaxtyping import Float

from coupling_core.analysis.rotations import entry_by_rotation
from coupling_core.base.definitions import DEFINITIONS, DefinitionName
from coupling_core.base.errors import InputError
from coupling_core.base.jacobian import ALIKE
from coupling_core.base.notebook import in_short
from coupling_core.base.records import (
    LEVEL_WORDS,
    PAIRED,
    ROLES,
    View,
    resolve_block,
    resolve_blocks,
    resolve_token,
)
from coupling_core.base.results import DepthResult, Result, Scores, TokensResult
from coupling_core.base.results.base import NORM_INCLUDED
from coupling_core.base.results.scores import MEASURES, weighted_mean
from coupling_core.base.token_ids import Array
from coupling_core.base.units import ranges, rounded, told_apart

MIN_PROMPTS = 40
"""Fewer prompts than this overstate coupling: no claim about a model rests on them."""
MIN_NUMBERS = 5
"""Of fewer numbers the interval of a mean rests on what they are assumed to be drawn from, and of
fewer units left out in turn at most two degrees of freedom are left."""
MOVED = 0.005
"""By how much a mean has to be moved, or be below chance, for the reason to be told."""
LEVEL = 0.05
"""Below this a p is called significant; an interval leaves out 0 where its p is below it."""
_LEAST_P = 0.001
"""A smaller p rests on the far tails of distributions, and is not told as a number."""
OF_FEW = (
    f"an interval of fewer than {MIN_NUMBERS} prompts is wide, may go beyond what a number can be, "
    "and bears out nothing"
)
"""What is said where an interval of so few is told."""


@dataclass(frozen=True, repr=False)
class Interval:
    """A mean over prompts, or over seeds, and how sure it is.

    Args:
        mean: of them.
        median: of them.
        low: lower end of the 95 % interval of the mean; NaN below two.
        high: its upper end.
        n: how many.
    """

    mean: float
    median: float
    low: float
    high: float
    n: int

    __repr__ = in_short

    @property
    def enough(self) -> bool:
        """Whether there are enough prompts for a claim."""
        return self.n >= MIN_PROMPTS

    @property
    def verdict(self) -> str:
        """The mean, how sure it is, and what so many numbers can bear out."""
        if not self.n or np.isnan(self.mean):
            return "There is no mean: no number is known, or one of them is NaN."
        if self.n == 1:
            return f"{rounded(self.mean)}, one number: how far others are from it cannot be said."
        mean, low, high = told_apart(self.mean, self.low, self.high)
        told = f"{mean}, the mean of n = {self.n} (95\u00a0%: {low} to {high})"
        if self.n < MIN_NUMBERS:
            return (
                f"{told}. Of so few the interval is wide, and holds only if the numbers are "
                f"independent and normally distributed, which {self.n} cannot show: nothing is "
                f"claimed of fewer than {MIN_NUMBERS}."
            )
        few = "" if self.enough else f"; fewer than {MIN_PROMPTS} prompts can overstate coupling"
        return f"{told}{few}."


def p_words(p: float) -> str:
    """A p as people read it."""
    return f"p < {_LEAST_P}" if p < _LEAST_P else f"p = {p:.{2 + (p > 0.99)}g}"


def too_few(units: int, of: str, what: str = "an interval and a p need") -> str:
    """Why units are too few for an interval; "" where they are not."""
    if units >= MIN_NUMBERS:
        return ""
    return f"{what} at least {MIN_NUMBERS} {of}; here the number is {units}"


def definition_name(view: View) -> str:
    """Which score a view shows, and of which matrix and chance level where not as usual."""
    definition = DEFINITIONS[view.definition]
    name = definition.label + f", p = {view.p:g}" * definition.takes_p
    name += ", B = VᵀJU" * (view.role == "B")
    return name if view.level == "frames" else f"{name}, {LEVEL_WORDS[view.level]}"


def score(
    diagonal: Float[np.ndarray, "*pair k"],
    off_diagonal: Float[np.ndarray, "*pair k"],
    s: Float[np.ndarray, "*#pair k"],
    definition: DefinitionName,
    p: float = 1.0,
) -> Float[np.ndarray, "*pair k"]:
    """Score for every K at once; see `Definition.by_k`."""
    diagonal, off_diagonal, s = (np.asarray(x, np.float64) for x in (diagonal, off_diagonal, s))
    return DEFINITIONS[definition].by_k(diagonal, off_diagonal, s, p)


def chance_floor(
    result: DepthResult | TokensResult, definition: DefinitionName, p: float = 1.0
) -> Float[np.ndarray, "row k"]:
    """The score of independent Haar-random K-frames, for every row and every K.

    Args:
        result: of blocks, or of two blocks between tokens.
        definition: which score.
        p: order of the norm, where the definition takes one.

    Returns:
        an array (row k), without a unit; a row is a block or a token.

    Raises:
        InputError: where it is sampled, and was not when the Jacobians were at hand.
    """
    s, sampled = _spectrum(result), dict(zip(result.sampled, result.chance, strict=True))
    return floor_by_k(s, result.jacobian_norm, result.width, sampled, definition, p)


def floor_by_k(
    s: Float[np.ndarray, "row k"],
    jacobian_norm: Float[np.ndarray, " row"],
    width: int,
    sampled: Mapping[str, Float[np.ndarray, "row k"]],
    definition: DefinitionName,
    p: float = 1.0,
) -> Float[np.ndarray, "row k"]:
    """`chance_floor` from what is stored of each row's Jacobian."""
    if floor := DEFINITIONS[definition].floor:
        return floor(s.astype(np.float64), jacobian_norm[:, None], width, p)
    if definition not in sampled:
        raise InputError(
            f"this result has no chance floor of {definition!r}, which is sampled while the "
            "Jacobians are at hand, and was not when they were: choose another definition, or "
            "remove the result, unless it came with the program, and measure it again"
        )
    return np.where(np.isnan(s), np.nan, sampled[definition]).astype(np.float64)


def score_square(
    result: DepthResult | TokensResult, view: View
) -> tuple[Float[np.ndarray, "row column"], Float[np.ndarray, "row column"]]:
    """Raw score of all pairs at one K, NaN where a rank is below it, and its chance level."""
    needs_corner = view.level == "rotations" and DEFINITIONS[view.definition].takes_entry
    if needs_corner and view.k > result.k_view:
        raise InputError(
            f"where bases are rotated, the chance level of {view.definition!r} follows from the "
            f"stored corner of A, which has side {result.k_view}, and K = {view.k} was asked for: "
            "choose a smaller K or another definition, or measure it with a larger k_view"
        )
    every = slice(None)
    raw, level = _by_k(result, view, every, every, slice(view.k - 1, view.k))
    return raw[..., 0], level[..., 0]


def _by_k(
    result: DepthResult | TokensResult, view: View, rows: slice, columns: slice, kept: slice
) -> tuple[Float[np.ndarray, "row column k"], Float[np.ndarray, "row column k"]]:
    """Raw score of some pairs for the kept K, NaN past a rank, and its chance level."""
    pairs = ROLES.index(view.role), rows, columns
    upto = slice(kept.stop)
    numerators = result.diagonal[*pairs, upto], result.off_diagonal[*pairs, upto]
    s = _spectrum(result)[rows, None, upto]
    raw = score(*numerators, s, view.definition, view.p)[..., kept]
    of_rows, of_columns = np.broadcast_to(result.rank, (2, result.rank.shape[-1]))
    ranks = np.minimum.outer(of_rows[rows], of_columns[columns])
    raw = np.where(np.arange(1, kept.stop + 1)[kept] <= ranks[..., None], raw, np.nan)
    if view.level == "frames":
        level = chance_floor(result, view.definition, view.p)[rows, None, kept]
        return raw, np.broadcast_to(level, raw.shape)
    return raw, _rotated(result, view, pairs, numerators, s, kept)[..., kept]


def _rotated(
    result: DepthResult | TokensResult,
    view: View,
    pairs: tuple[int, slice, slice],
    numerators: tuple[Array, Array],
    s: Array,
    kept: slice,
) -> Float[np.ndarray, "row column k"]:
    """The score of bases that are rotated within their subspaces."""
    definition = DEFINITIONS[view.definition]
    diagonal, off_diagonal, s = (np.asarray(x, np.float64) for x in (*numerators, s))
    entry = np.full(off_diagonal.shape, np.nan)
    if definition.takes_entry:
        corners = result.matrices[pairs].astype(np.float64) * s[..., :1, None]
        entry[..., kept] = entry_by_rotation(corners, range(1, kept.stop + 1)[kept])
    assert definition.rotated is not None  # else a view has the level of random frames
    level = definition.rotated(diagonal, off_diagonal, s, view.p, entry)
    return np.where(np.isnan(s), np.nan, level)


def _spectrum(result: DepthResult | TokensResult) -> Float[np.ndarray, "row k"]:
    """Singular values of the Jacobian of each row; of a token, NaN past its rank."""
    if not isinstance(result, TokensResult):
        return result.singular_values
    exists = np.arange(result.k_max) < result.rank[0][:, None]
    return np.where(exists, result.singular_values[0], np.nan)


def score_pairs(result: DepthResult, view: View) -> Scores:
    """All pairs of the viewed blocks at one K.

    Args:
        result: a depth-wise result.
        view: K, definition, p, role and blocks.

    Returns:
        `coupling`, `chance` and `corrected` (block block), without a unit.

    Raises:
        InputError: where K exceeds what the result holds, or a block is out of range.
    """
    require_k(result, view.k)
    blocks = resolve_blocks(view.blocks, result.n_blocks)
    shown = np.ix_(np.array(blocks) - 1, np.array(blocks) - 1)
    coupling, floor = (values[shown] for values in score_square(result, view))
    above = corrected(coupling, floor)
    weights = 1 - np.eye(len(blocks))
    return Scores(coupling, floor, above, weights, blocks, result=result, view=view)


def score_by_k(
    result: DepthResult | TokensResult, block: int, basis: int, view: View
) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
    """Score of one pair, NaN past a rank, and its chance floor for K = 1..Kmax.

    Args:
        result: of blocks, or of two blocks between tokens.
        block: l (or t) of the Jacobian, from 1; -1 is the last.
        basis: l' (or t') of the basis.
        view: definition, p and role.

    Returns:
        two arrays (k), without a unit.

    Raises:
        InputError: where a block or a token is out of range.
    """
    resolve = resolve_block if isinstance(result, DepthResult) else resolve_token
    i, j = (resolve(each, result.rank.shape[-1]) - 1 for each in (block, basis))
    raw, level = _by_k(result, view, slice(i, i + 1), slice(j, j + 1), slice(0, result.k_max))
    return raw[0, 0], level[0, 0]


def arbitrary_told(result: DepthResult, view: View) -> str:
    """Which blocks have K equal singular values, so that their scores mean nothing; "" if none.

    So has a block whose output a hook has replaced (J = -I), however well certified.
    """
    blocks = resolve_blocks(view.blocks, result.n_blocks)
    s = result.singular_values[np.array(blocks) - 1, : view.k].astype(np.float64)
    alike = (s[:, 0] > 0) & (s[:, -1] >= (1 - ALIKE) * s[:, 0]) & (view.k > 1)
    if not alike.any():
        return ""
    which = f"block{'s' * (int(alike.sum()) > 1)} {ranges(np.array(blocks)[alike].tolist())}"
    return (
        f"The singular values of {which} are all alike, as if a hook had replaced an output: the "
        "directions are arbitrary, and the scores there mean nothing."
    )


def last_row(
    final_norm: str, n_blocks: int, found: Scores, corrected: bool, least: float = 0
) -> str:
    """What sets the row of the last block apart, if it has a final norm and moves the mean."""
    if final_norm != NORM_INCLUDED or found.blocks[-1] != n_blocks:
        return ""
    values = found.corrected if corrected else found.coupling
    off = np.where(found.against_itself(), np.nan, values)
    if np.isnan(off[-1]).all() or np.isnan(off[:-1]).all():
        return ""
    own, others, mean = (float(np.nanmean(rows)) for rows in (off[-1], off[:-1], off))
    if abs(mean - others) < least:
        return ""
    return (
        f"Block {n_blocks} includes the final norm, so its row (mean {rounded(own)}) is not "
        f"comparable with the others (mean {rounded(others)})."
    )


def below_chance(result: DepthResult, found: Scores, which: str = "That") -> str:
    """Why the mean is below its chance level, where it is by more than `MOVED`; else ""."""
    view, mean = found.view, found.mean().corrected
    has_pairing = DEFINITIONS[view.definition].rotated is not None
    if view.level == "rotations" or not has_pairing or not mean < -MOVED:
        return ""
    shared = score_pairs(result, replace(view, definition="overlap")).mean()
    if not shared.corrected > MOVED:
        return ""
    paired = rounded(score_pairs(result, replace(view, **PAIRED)).mean().corrected)
    return (
        f"{which} is below chance because these blocks share subspaces (overlap "
        f"{rounded(shared.coupling)}, of random bases {rounded(shared.chance)}) without pairing "
        f"the vectors in them: against rotated bases the mean is {paired}."
    )


def mean_by_k(
    result: DepthResult, view: View
) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
    """Raw score, chance floor and chance-corrected score for K = 1..Kmax, means over l != l'."""
    at = np.array(resolve_blocks(view.blocks, result.n_blocks)) - 1
    others = ~np.eye(len(at), dtype=bool)
    every = slice(None)
    by_k = _by_k(result, view, every, every, slice(0, result.k_max))
    raw, floor = (values[np.ix_(at, at)][others] for values in by_k)
    floor = np.where(np.isnan(raw), np.nan, floor)
    raw, floor, above = (nan_mean(x, 0) for x in (raw, floor, corrected(raw, floor)))
    return raw, floor, above


def corrected(
    coupling: Float[np.ndarray, "*any"], floor: Float[np.ndarray, "*any"]
) -> Float[np.ndarray, "*any"]:
    """Chance-corrected score (c - floor) / (1 - floor): 0 by chance, 1 when coupled.

    NaN where chance alone gives 1, as in `preprint` at K = 1, which has nothing off the diagonal.

    Args:
        coupling: raw scores c, without a unit, of any shape.
        floor: their chance floors, of the same shape.
    """
    room = 1 - floor
    return (coupling - floor) / np.where(room > 0, room, np.nan)


def means(found: Scores) -> dict[str, float]:
    """Means over l != l' of the raw score, of its chance floor and of the corrected score."""
    mean = found.mean()
    return {name: getattr(mean, name) for name in MEASURES}


def mean_off_diagonal(values: Float[np.ndarray, "block block"]) -> float:
    """Mean over l != l', NaN where none is left; a Jacobian against itself is 1 by construction.

    Args:
        values: a score for each pair of blocks, without a unit.
    """
    return weighted_mean(np.asarray(values, np.float64), 1 - np.eye(len(values)))


def block_means(
    values: Float[np.ndarray, "block block"],
) -> tuple[Float[np.ndarray, " block"], Float[np.ndarray, " block"]]:
    """Mean over l != l' of each row (block l as Jacobian) and of each column (l' as basis)."""
    others = np.where(np.eye(len(values), dtype=bool), np.nan, values)
    return nan_mean(others, 1), nan_mean(others, 0)


def mean_interval(values: Float[np.ndarray, " n"] | Sequence[float] | Array) -> Interval:
    """Mean over prompts, or seeds, with its 95 % interval by Student's t.

    Args:
        values: a number a prompt, such as a column of a table of `measure_many` for one model. With
            one that is NaN, all that is found is.

    Raises:
        InputError: where there is none at all.
    """
    from scipy.special import stdtrit  # not before somebody asks for an interval

    every = np.asarray(values, np.float64)
    if not (n := len(every)):
        raise InputError("no prompt is left to average over")
    mean, half = float(every.mean()), np.nan
    if n > 1:
        half = float(stdtrit(n - 1, 0.975) * every.std(ddof=1) / np.sqrt(n))
    return Interval(mean, float(np.median(every)), mean - half, mean + half, n)


def known_interval(values: Float[np.ndarray, " n"]) -> Interval:
    """The same of those that are finite; n = 0, and NaN, where none is."""
    known = values[np.isfinite(values)]
    return mean_interval(known) if known.size else Interval(np.nan, np.nan, np.nan, np.nan, 0)


def k_of(k: int | float, width: float) -> int:
    """K of a model of this width; below 1 it is a share of it, as in the paper's Figure 1a."""
    if isinstance(k, int) and k >= 1:
        return k
    if isinstance(k, Real) and 0 < k < 1:
        return max(1, round(k * width))
    raise InputError(f"K must be an integer from 1 on or a share of the width below 1, not {k!r}")


def every_k_of(asked: Iterable[int | float], width: float) -> tuple[int, ...]:
    """Every K of `ways_of`, once."""
    return tuple(dict.fromkeys(k for k, _ in ways_of(asked, width)))


def ways_of(asked: Iterable[int | float], width: float) -> tuple[tuple[int, float], ...]:
    """Every K up to a width (0: any), rising, with the share that it was asked for as, or NaN."""
    pairs = sorted((k_of(k, width), k if k < 1 else 0.0) for k in dict.fromkeys(asked))
    return tuple((k, share or float("nan")) for k, share in pairs if k <= width or not width)


def require_k(result: Result, k: int) -> None:
    """Refuse a K that the result does not hold."""
    if not 1 <= k <= result.k_max:
        why = "what was measured; ask for it when computing"
        if result.k_max == result.width:
            why = "the model's width"
        elif k > result.width:
            why = f"what was measured; at most the model's width, {result.width}, can be"
        raise InputError(f"K must lie in 1..{result.k_max} ({why}), and {k} was asked for")


def nan_mean(values: Float[np.ndarray, "a b"], axis: int) -> Float[np.ndarray, " c"]:
    """Mean of what is there; NaN where nothing is."""
    counted = ~np.isnan(values)
    n = counted.sum(axis)
    return np.where(counted, values, 0).sum(axis) / np.where(n > 0, n, np.nan)
