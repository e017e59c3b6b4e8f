"""What a study of removed blocks shows, and what it does not."""

from collections.abc import Sequence

from coupling_core.analysis.pruning.prices import BAND, Point, Price
from coupling_core.analysis.pruning.rankings import NAMES
from coupling_core.analysis.pruning.study import Study
from coupling_core.base.units import counted, percent, ranges, with_difference
from coupling_core.base.wording import paragraph, sentences

FEW_TEXTS = 40
"""Fewer texts than this bear no claim."""
_SIDES = {"better": "better than", "within": "no better than", "worse": "worse than"}


def told(price: Price | None) -> str:
    """A loss with its interval, in nats a token; "" where there is none."""
    return "" if price is None else f"{price.loss:.3f} ({price.low:.3f} to {price.high:.3f})"


def verdict(study: Study) -> str:
    """In two sentences: what the cheapest ranking costs, and whether coupling is one to go by."""
    named = _not_random(study)
    if not named:
        return f"Whole model: {told(study.whole)} nats a token."
    most = max(point.removed for point in named)
    last = [point for point in named if point.removed == most]
    best = min(last, key=lambda point: point.left_out.loss)
    near = [p for p in last if p is not best and p.left_out.low <= best.left_out.high]
    others = f"; its interval overlaps with that of {', '.join(NAMES[p.by] for p in near)}"
    rise = best.left_out.loss - study.whole.loss
    goes, sign = ("rises", "+") if rise >= 0 else ("falls", "")
    end, start, by = with_difference(best.left_out.loss, study.whole.loss, rise)
    return paragraph(
        f"With {counted(most, 'block')} of {study.n_blocks} left out, the loss of texts that took "
        f"no part in the ranking {goes} from {start} to {end} nats a token "
        f"at best ({sign}{by}; blocks {ranges(best.blocks)}, by "
        f"{NAMES[best.by]}{others * bool(near)}).",
        _against_random(study, "coupling", "The ranking by coupling"),
    )


def findings(study: Study) -> tuple[str, ...]:
    """How each ranking does beside random sets, and neighbours' weights beside leaving out."""
    named = _not_random(study)
    cheaper = sum(point.tied.loss < point.left_out.loss for point in named if point.tied)
    return sentences(
        *(_against_random(study, by, f"{NAMES[by][0].upper()}{NAMES[by][1:]}")
          for by in study.rankings),
        (named, f"Neighbours' weights in place of the blocks cost less than leaving them out in "
                f"{cheaper} of {len(named)} cases, for the same megabytes."),
    )  # fmt: skip


def limits(study: Study) -> tuple[str, ...]:
    """What it does not show."""
    n = len(study.judged_on)
    few = f", fewer than the {FEW_TEXTS} that a claim needs" if n < FEW_TEXTS else ""
    return (
        f"One model, {counted(len(study.ranked_on), 'text')} to rank and {n} to judge{few}, and "
        "no training after blocks are gone: after some, the order of the rankings may be another.",
        f"Better and worse than random sets means outside of what {percent(BAND[1] - BAND[0])} of "
        "the random draws cost.",
        "Intervals are over texts, with these sets of blocks; other texts to rank on would choose "
        "other sets. Loss is no measure of what a model can do.",
        "That a ranking by coupling does well or badly says how useful it is for choosing, and not "
        "why blocks can be missed.",
    )


def _not_random(study: Study) -> Sequence[Point]:
    return [point for point in study.curve if point.by != "random"]


def _against_random(study: Study, by: str, name: str) -> str:
    """At which numbers of blocks a ranking leaves what random draws cost, and to which side."""
    parts = []
    for side, words in _SIDES.items():
        at = [point.removed for point in study.curve if (point.by, point.verdict) == (by, side)]
        parts += [f"{words} random sets with {ranges(at)} removed"] * bool(at)
    return f"{name}: {'; '.join(parts)}." if parts else ""
