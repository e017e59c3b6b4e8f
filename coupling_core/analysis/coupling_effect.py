"""Coupling against effect: are coupled blocks the ones that can be interchanged?

Over pairs of blocks, the rank correlation of their coupling with -log KL of an edit of the two.
Near blocks are both more coupled and more cheaply interchanged, so that a plain correlation is
mostly their distance: beside it always stand that of distance alone, and the partial one given
distance,

    rho(c, e | |l - l'|): correlation of what 1, |l - l'| and |l - l'|^2 leave of the two ranks.

Pairs share blocks and are not independent, so that p comes from permuting blocks (Mantel 1967; the
partial one permutes residuals, Legendre 2000); intervals resample prompts, and say how sure the
numbers of this model are, not how other models would fare.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from jaxtyping import Float, Int

from coupling_core.analysis.effects import effect_maps
from coupling_core.analysis.scores import LEVEL, p_words, score_pairs, too_few
from coupling_core.base.errors import InputError
from coupling_core.base.notebook import Plottable, Table, in_a_line
from coupling_core.base.records import View
from coupling_core.base.results import DepthResult, WhatIfResult
from coupling_core.base.units import counted, rounded

PairEdit = Literal["interchange", "replace"]
"""Edits of two blocks."""

INNER = 2
"""Blocks at either end that are left out of the inner ones, 3..L-2: they differ from all others."""
RESAMPLED = 1000
PERMUTED = 999
LEAST_EFFECT = 1e-12
"""Smaller effects count as this: they are rounding, and 0 has no logarithm."""
LEAST_BLOCKS = 5


@dataclass(frozen=True)
class Estimate:
    """A rank correlation over pairs with its 95 % interval over prompts; NaN of too few prompts."""

    rho: float
    low: float
    high: float

    def __repr__(self) -> str:
        return f"Estimate({self.words()})"

    @property
    def holds_zero(self) -> bool:
        """Whether 0 lies in the interval, or there is none."""
        return not (self.low > 0 or self.high < 0)

    def words(self, p: str = "") -> str:
        """In words, with a p beside the interval."""
        ends = f"95\u00a0%: {rounded(self.low, 2)} to {rounded(self.high, 2)}"
        sure = "; ".join(filter(None, (ends * (not np.isnan(self.low)), p)))
        return rounded(self.rho, 2) + f" ({sure})" * bool(sure)


@dataclass(frozen=True, repr=False, kw_only=True)
class CouplingEffect(Plottable[str]):
    """How the coupling of pairs of blocks goes with the effect of an edit of the two.

    Its table has a row a pair: block (l), other_block (l'), distance, coupling (no unit) and
    minus_log_kl (of KL in nats). Its only figure is "pairs", a point a pair.

    Args:
        pairs: how many pairs it is over.
        prompts: how many prompts the numbers are means of.
        blocks: the first and the last block of the pairs, 1..L.
        raw: correlation of coupling and -log effect.
        distance: correlation of nearness, -|l - l'|, and -log effect.
        partial: that of `raw` with distance held fixed.
        mantel_p: of `raw`, two-sided.
        partial_mantel_p: of `partial`, two-sided.
        no_interval: why there are no intervals; "" where there are.
        edit: of the two blocks.
        whose: of which model, as a phrase; "" where only numbers came.
        k: K of the coupling; None where only numbers came.
        coupled: where in the prompt the coupling is, and how the model was had where that is not as
            usual, in words; "" where only numbers came.
        of: what else is known of the results that it is of: keys, final norm, precision.
        block: l of each pair.
        other: l' of each, the greater one.
        coupling: chance-corrected, mean over prompts and both directions; without a unit.
        smallness: -log of the effect in nats, likewise.
    """

    figures: ClassVar = {"pairs": "effects.coupling_against_effect"}

    pairs: int
    prompts: int
    blocks: tuple[int, int]
    raw: Estimate
    distance: Estimate
    partial: Estimate
    mantel_p: float
    partial_mantel_p: float
    no_interval: str
    edit: PairEdit
    whose: str = ""
    k: int | None = None
    coupled: str = ""
    block: Int[np.ndarray, " pair"]
    other: Int[np.ndarray, " pair"]
    coupling: Float[np.ndarray, " pair"]
    smallness: Float[np.ndarray, " pair"]
    of: Mapping[str, str | float] = field(default_factory=dict, repr=False, compare=False)

    @property
    def claims(self) -> bool:
        """Whether coupling says more of the effect than distance does."""
        return not self.partial.holds_zero and self.partial_mantel_p < LEVEL

    @property
    def p_told(self) -> tuple[str, str]:
        """Both p by Mantel's test in words: of the correlation, and of the one given distance."""
        return p_words(self.mantel_p), p_words(self.partial_mantel_p)

    @property
    def _at_k(self) -> str:
        where = f" ({self.coupled})" * bool(self.coupled)
        return "" if self.k is None else f" at K = {self.k}{where}"

    @property
    def verdict(self) -> str:
        """What it shows, and what it does not."""
        first, last = self.blocks
        whole, partial = self.p_told
        lead = (
            f"Over {self.pairs} pairs of blocks {first}..{last}, coupling{self._at_k} and the "
            f"smallness of the effect correlate with rho = {self.raw.words(f'Mantel {whole}')}; "
            f"the nearness of the two alone with {self.distance.words()}. With distance held fixed "
            f"it is {self.partial.words(f'partial Mantel {partial}')}. "
        )
        if self.no_interval:
            return lead + f"Nothing is claimed: {self.no_interval}."
        if self.claims:
            less = "larger" if self.partial.rho < 0 else "smaller"
            return lead + (
                f"Of pairs that are equally far apart, the effect is {less} for the more coupled "
                "ones. That is a correlation within one model, and no proof that coupling is the "
                "cause."
            )
        if not self.partial.holds_zero:  # though p is not below the level
            lead += (
                "By the interval, other prompts would give much the same; but by p, blocks in a "
                "random order often give as much. "
            )
        return f"{lead}That does not show that coupling says more than distance does."

    def _table(self) -> Table:
        columns = {
            "block": self.block,
            "other_block": self.other,
            "distance": self.other - self.block,
            "coupling": self.coupling,
            "minus_log_kl": self.smallness,
        }
        k = {} if self.k is None else {"K": self.k}
        told = {"of": self.whose, "prompts": self.prompts, "edit": self.edit}
        return columns, {**told, **k, **self.of}

    def __repr__(self) -> str:
        first, last = self.blocks
        return in_a_line(
            self,
            self.whose,
            self.edit,
            self._at_k.removeprefix(" at "),
            f"{self.pairs} pairs of blocks {first}-{last}",
            f"rho {self.raw.words()}",
            f"with distance held fixed {self.partial.words()}",
        )


def coupling_effect(
    coupling: DepthResult | Float[np.ndarray, "prompt block block"],
    effect: WhatIfResult | Float[np.ndarray, "prompt_of_effect l m"],
    *,
    k: int | None = None,
    edit: PairEdit = "interchange",
    inner: bool = False,
    seed: int = 0,
) -> CouplingEffect:
    """Correlate coupling with the effect of an edit, over pairs of blocks.

    Args:
        coupling: a depth-wise result, or chance-corrected scores of many prompts; the mean of both
            directions of a pair is taken.
        effect: a what-if result over the same prompt, or the effects in nats over the same prompts;
            likewise, of -log.
        k: of the coupling; of a result None is its `default_k`.
        edit: "interchange" or "replace"; of numbers, what they are the effect of.
        inner: whether only blocks 3..L-2 are looked at.
        seed: of the resampling and the permutations.

    Raises:
        InputError: where the two are not of the same model, prompts and blocks, or these are too
            few; on a K that is not there.
    """
    if not (isinstance(coupling, DepthResult) and isinstance(effect, WhatIfResult)):
        numbers, effects = np.asarray(coupling), np.asarray(effect)
        return correlated(numbers, effects, edit, k=k, inner=inner, seed=seed)
    require_same_prompt(coupling, effect)
    k = coupling.default_k if k is None else k
    said = coupling.attributes()
    kept = ("measured", "final_norm", "precision", "certificate", "key")
    return correlated(
        score_pairs(coupling, View(k)).corrected[None],
        getattr(effect_maps(effect), edit)[None],
        edit,
        inner=inner,
        seed=seed,
        k=k,
        whose=f"{effect.model_name} over {effect.prompt_text!r}",
        coupled=", ".join((*coupling.unlike_usual, coupling.measured)),
        of={name: said[name] for name in kept} | {"effect_key": effect.key},
    )


def require_same_prompt(depth: DepthResult, effects: WhatIfResult) -> None:
    """Refuse coupling and effects of two models or prompts."""
    if (depth.identity, depth.tokens) != (effects.identity, effects.tokens):
        raise InputError(
            f"coupling of {depth.model_name} on {depth.prompt_text!r} and effects of "
            f"{effects.model_name} on {effects.prompt_text!r} came: expected those of one "
            "model and one prompt"
        )


def correlated(
    coupling: Float[np.ndarray, "prompt block block"],
    effect: Float[np.ndarray, "prompt_of_effect l m"],
    edit: PairEdit,
    *,
    inner: bool,
    seed: int = 0,
    **told: Any,
) -> CouplingEffect:
    """`coupling_effect` of numbers; what else is told of them are fields of what comes."""
    if coupling.shape != effect.shape or coupling.ndim != 3:
        raise InputError(
            f"coupling and effect are of shapes {coupling.shape} and {effect.shape}: expected "
            "those of the same prompts and blocks, (prompt, block, block)"
        )
    n_prompts, L = len(coupling), coupling.shape[1]
    first, last = (1 + INNER, L - INNER) if inner else (1, L)
    if (n_blocks := max(0, last - first + 1)) < LEAST_BLOCKS:
        raise InputError(
            f"pairs of {counted(n_blocks, 'block')} are too few to be correlated: at least "
            f"{LEAST_BLOCKS} are expected"
        )
    kept = slice(first - 1, last)
    c = _both_directions(coupling[:, kept, kept])
    e = _both_directions(-np.log(np.maximum(effect[:, kept, kept], LEAST_EFFECT)))
    row, column = np.nonzero(np.triu(np.isfinite(c).all(0) & np.isfinite(e).all(0), 1))
    pairs = _Pairs(row, column, c[:, row, column], e[:, row, column])
    generator = np.random.default_rng(seed)
    reason = too_few(n_prompts, "prompts", "an interval over prompts needs")
    raw, distance, partial = pairs.estimates(generator, with_intervals=not reason)
    return CouplingEffect(
        pairs=len(row),
        prompts=n_prompts,
        blocks=(first, last),
        raw=raw,
        distance=distance,
        partial=partial,
        mantel_p=pairs.mantel_p(generator, partial=False),
        partial_mantel_p=pairs.mantel_p(generator, partial=True),
        no_interval=reason,
        edit=edit,
        block=row + first,
        other=column + first,
        coupling=pairs.x.mean(0),
        smallness=pairs.y.mean(0),
        **told,
    )


def _both_directions(values: Float[np.ndarray, "prompt block block"]) -> np.ndarray:
    return (values + values.transpose(0, 2, 1)) / 2


@dataclass(frozen=True)
class _Pairs:
    """Pairs l < l', counted from 0: the coupling x and the smallness y of each, by prompt."""

    row: Int[np.ndarray, " pair"]
    column: Int[np.ndarray, " pair"]
    x: Float[np.ndarray, "prompt pair"]
    y: Float[np.ndarray, "prompt pair"]

    @cached_property
    def _basis(self) -> Float[np.ndarray, "pair three"]:
        """An orthonormal basis of 1, |l - l'|, |l - l'|^2."""
        apart = (self.column - self.row).astype(np.float64)
        return np.linalg.qr(np.stack([np.ones_like(apart), apart, apart**2], 1))[0]

    def _residual(self, ranks: Float[np.ndarray, "*sample pair"]) -> np.ndarray:
        """What distance leaves of ranks."""
        return ranks - (ranks @ self._basis) @ self._basis.T

    def estimates(self, generator: np.random.Generator, *, with_intervals: bool) -> list[Estimate]:
        """The three correlations of the means over prompts, and of resampled prompts."""
        from scipy.stats import rankdata

        n = len(self.x)
        weights = np.full((1, n), 1 / n)
        if with_intervals:
            drawn = generator.multinomial(n, weights[0], RESAMPLED) / n
            weights = np.concatenate([weights, drawn])
        a, b = (rankdata(weights @ values, axis=1) for values in (self.x, self.y))
        near = np.broadcast_to(rankdata(self.row - self.column), a.shape)
        left = self._residual(a), self._residual(b)
        return [_estimate(*of) for of in ((a, b), (near, b), left)]

    def mantel_p(self, generator: np.random.Generator, *, partial: bool) -> float:
        """Two-sided p by permuting blocks; a pair moved onto one without a number is average."""
        from scipy.stats import rankdata

        a, b = rankdata(self.x.mean(0)), rankdata(self.y.mean(0))
        if partial:
            a, b = self._residual(a), self._residual(b)
        side = int(max(self.row.max(), self.column.max())) + 1
        square = np.full((side, side), np.nan)
        square[self.row, self.column] = square[self.column, self.row] = b
        orders = generator.permuted(np.tile(np.arange(side), (PERMUTED, 1)), axis=1)
        moved = square[orders[:, self.row], orders[:, self.column]]
        moved = np.where(np.isnan(moved), b.mean(), moved)
        if partial:
            moved = self._residual(moved)
        found = _correlations(np.broadcast_to(a, moved.shape), moved)
        own = float(_correlations(a[None], b[None])[0])
        return (1 + int((np.abs(found) >= abs(own) - 1e-12).sum())) / (1 + PERMUTED)


def _estimate(a: Float[np.ndarray, "sample pair"], b: Float[np.ndarray, "sample pair"]) -> Estimate:
    """The correlation of all prompts, which come first, with that of samples of them, if any."""
    whole, *samples = _correlations(a, b)
    ends = np.quantile(samples, [LEVEL / 2, 1 - LEVEL / 2]) if samples else (np.nan, np.nan)
    return Estimate(float(whole), *map(float, ends))


def _correlations(
    a: Float[np.ndarray, "sample pair"], b: Float[np.ndarray, "sample pair"]
) -> Float[np.ndarray, " sample"]:
    a, b = (values - values.mean(-1, keepdims=True) for values in (a, b))
    with np.errstate(invalid="ignore"):
        return (a * b).sum(-1) / np.sqrt((a**2).sum(-1) * (b**2).sum(-1))
