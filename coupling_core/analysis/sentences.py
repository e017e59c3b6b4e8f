"""What numbers over many models say, in sentences; nothing is said that they do not bear out.

Every p and interval is over what is independent: whole families, or whole training runs where all
are of one family. Where these are too few, that is what is said.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from coupling_core.analysis.statistics import (
    LEVEL,
    Correlation,
    Fall,
    Fit,
    PartialCorrelation,
    Points,
)
from coupling_core.base.records import Performance

_EXPECTED: dict[Performance, int] = {"loss": -1, "score": 1}
"""Sign of the correlation where better models are more coupled."""
PERFORMANCES: dict[Performance, str] = {"loss": "held-out loss", "score": "leaderboard score"}
NO_REPRODUCTION = (
    "It is no reproduction of the papers' Figure 1a, whose points are models that others trained, "
    "of up to 70 billion parameters, with their scores on benchmarks."
)


def correlate(found: Correlation, measure: str, against: Performance) -> str:
    """How strongly coupling and performance go together, and how sure that is."""
    name = "r" if found.method == "pearson" else "rho"
    told = (
        f"Over n = {found.n} models, {measure} and {PERFORMANCES[against]} correlate with "
        f"{name} = {found.estimate:.2f}"
    )
    over = found.over_clusters
    return f"{told}; {over.reason}." if over.reason else f"{told} ({over.told})."


def agreement(lines: Correlation, ranks: Correlation, against: Performance) -> str:
    """Whether that is for or against the papers' claim.

    It is where Pearson's and Spearman's correlation both are beyond chance: one alone is too often
    where a curve or single families make it.

    Args:
        lines: Pearson's.
        ranks: Spearman's.
        against: which performance.
    """
    expected, over = _EXPECTED[against], (lines.over_clusters, ranks.over_clusters)
    sign = "negative" if expected < 0 else "positive"
    claim = f"the claim that better models are more coupled, which asks for a {sign} correlation"
    if any(one.reason for one in over):
        return f"It cannot be said whether that agrees with {claim}."
    signs = {float(np.sign(one.estimate)) for one in (lines, ranks)}
    if len(signs) > 1 or not all(one.p < LEVEL for one in over):
        return f"That is neither for nor against {claim}."
    return f"Its sign {'agrees with' if expected in signs else 'goes against'} {claim}."


def course(falls: Mapping[str, Fall], bends: Mapping[str, float], against: Performance) -> str:
    """What coupling does within training runs.

    Args:
        falls: by run.
        bends: the p of a straight line against performance, by run.
        against: which performance.
    """
    seen = [one for one in falls.values() if one.p * len(falls) < LEVEL]
    bent = [name for name, p in bends.items() if p * len(bends) < LEVEL]
    told = []
    if seen:
        steps = sorted({one.step for one in seen})
        where = f"step {steps[0]}" if len(steps) == 1 else f"steps {steps[0]} to {steps[-1]}"
        top, end = (np.mean([getattr(one, name) for one in seen]) for name in ("top", "end"))
        told.append(
            f"In {len(seen)} of {_runs(falls)} coupling falls after its highest checkpoint, by "
            f"more than checkpoints and prompts scatter: from {top:.3f} on average, at {where}, "
            f"to {end:.3f} at the last."
        )
    if bent:
        told.append(
            f"In {len(bent)} of {_runs(bends)} coupling against {PERFORMANCES[against]} is curved "
            "by more than checkpoints scatter: no straight line describes it."
        )
    return " ".join(told)


def fits(found: Sequence[Fit], against: Performance) -> str:
    """How well lines describe the models."""
    told = [
        f"{one.form} R² = {one.r_squared_y:.2f}" + _in_brackets(one)
        for one in found
        if not one.reason
    ]
    return f"Fits, in units of the {PERFORMANCES[against]}: {', '.join(told)}." if told else ""


def given_sizes(found: PartialCorrelation) -> str:
    """What is left of the correlation given the models' sizes."""
    given = _spaced(", ".join(found.given))
    if not given:
        return "No size of these models is known and varies, so that none is accounted for."
    if found.partial.reason:
        return f"Given {given}: {found.partial.reason}."
    left = "; ".join(_spaced(f"{name}: {why}") for name, why in found.left_out.items())
    return (
        f"Given {given}, the correlation (Pearson's) is {found.partial.estimate:.2f} "
        f"({found.over_clusters.told})." + f" Not accounted for: {left}." * bool(left)
    )


def limits(points: Points, against: Performance) -> tuple[str, ...]:
    """What must not be concluded from models with these performances."""
    families, runs = len(set(points.family)), len(set(points.run))
    told = [points.counted]
    if families > 1:
        told.append(
            "Families are taken for independent of each other; those that are built on one "
            "another, or on the same text, are not."
        )
    else:
        told.append("All are of one family: of others nothing is said.")
    of_checkpoints = runs < len(points)
    if of_checkpoints:
        told.append(
            "Over checkpoints, coupling and performance both change with training: a correlation "
            "says that they change together, not that one makes the other."
        )
    if against == "loss":
        told.append(
            "A held-out loss can be compared only between models that read the same text with the "
            "same vocabulary; models without such a loss are left out."
        )
    if against == "loss" or of_checkpoints:
        told.append(NO_REPRODUCTION)
    return tuple(told)


def _runs(of: Mapping[str, object]) -> str:
    return f"{len(of)} training run{'s' * (len(of) > 1)}"


def _in_brackets(one: Fit) -> str:
    return "" if one.over_clusters.reason else f" ({one.over_clusters.p_told})"


def _spaced(text: str) -> str:
    return text.replace("_", " ")
