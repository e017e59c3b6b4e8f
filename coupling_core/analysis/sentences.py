"""What numbers over many models say, in sentences; none that the numbers do not bear out.

Every p and interval is over what is independent: whole families, or whole training runs if all are
of one family. If these are too few, the sentence says so.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from coupling_core.analysis.scores import LEVEL
from coupling_core.analysis.statistics import (
    Correlation,
    Fall,
    Fit,
    PartialCorrelation,
    Points,
)
from coupling_core.base.records import Performance
from coupling_core.base.units import counted
from coupling_core.base.wording import sentences

PERFORMANCES: dict[Performance, str] = {"loss": "held-out loss", "score": "leaderboard score"}
_EXPECTED: dict[Performance, tuple[int, str]] = {"loss": (-1, "negative"), "score": (1, "positive")}
"""Sign of the correlation if better models are more coupled."""
NAMED = 2
"""Models that are left out and named."""


def correlate(found: Correlation, measure: str, against: Performance) -> str:
    """How strongly coupling and performance go together, and how sure that is."""
    name = "r" if found.method == "pearson" else "rho"
    return (
        f"Over n = {found.n} models, {measure} and {PERFORMANCES[against]} correlate with "
        f"{name} = {found.estimate:.2f} ({found.over.told})."
    )


def agreement(lines: Correlation, ranks: Correlation, against: Performance) -> str:
    """Whether that is for or against the papers' claim, if r and rho are both beyond chance."""
    expected, sign = _EXPECTED[against]
    claim = f"the claim that better models are more coupled, which predicts a {sign} correlation"
    over = lines.over, ranks.over
    signs = {np.sign(lines.estimate), np.sign(ranks.estimate)}
    is_sure = len(signs) == 1 and all(one.p < LEVEL for one in over)
    return sentences(
        (any(one.reason for one in over), f"Of so few, that is no test of {claim}."),
        (not is_sure, f"That is neither for nor against {claim}."),
        (expected in signs, f"Its sign agrees with {claim}."),
        f"Its sign goes against {claim}.",
    )[0]


def course(falls: Mapping[str, Fall], bends: Mapping[str, float], against: Performance) -> str:
    """What coupling does within training runs, of its fall and of the p of a straight line."""
    falling = [one for one in falls.values() if one.p * len(falls) < LEVEL]
    bent = sum(p * len(bends) < LEVEL for p in bends.values())
    text = []
    if falling:
        first, last = (end(one.step for one in falling) for end in (min, max))
        steps = f"step {first}" if first == last else f"steps {first} to {last}"
        text.append(
            f"In {len(falling)} of {counted(len(falls), 'training run')} coupling falls after its "
            "highest checkpoint, by more than checkpoints and prompts scatter: from "
            f"{np.mean([one.top for one in falling]):.3f} on average, at {steps}, to "
            f"{np.mean([one.end for one in falling]):.3f} at the last."
        )
    if bent:
        text.append(
            f"In {bent} of {counted(len(bends), 'training run')} coupling against "
            f"{PERFORMANCES[against]} is curved by more than checkpoints scatter: no straight line "
            "describes it."
        )
    return " ".join(text)


def fits(found: Sequence[Fit], against: Performance) -> str:
    """How well lines describe the models."""
    each = "; ".join(one.told for one in found if not one.reason)
    return f"Fits, in units of the {PERFORMANCES[against]}: {each}." if each else ""


def given_sizes(found: PartialCorrelation) -> str:
    """What is left of the correlation given the models' sizes."""
    given = ", ".join(found.given).replace("_", " ")
    left = "; ".join(f"{name}: {why}" for name, why in found.left_out.items()).replace("_", " ")
    rest = f" Not accounted for: {left}." if left else ""
    return sentences(
        (not given, "No size of these models is known and varies: none is accounted for."),
        (found.partial.reason, f"Given {given}: {found.partial.reason}."),
        f"Given {given}, the correlation (Pearson's) is {found.partial.estimate:.2f} "
        f"({found.partial.over.told}).{rest}",
    )[0]


def limits(points: Points, against: Performance, without: pd.DataFrame) -> tuple[str, ...]:
    """What must not be concluded from models with these performances, and from those without."""
    one_family = points.rows["family"].nunique() < 2
    checkpoints = points.rows["run"].nunique() < len(points)
    return sentences(
        points.counted,
        (
            not one_family,
            "Families count as independent; those built on one another, or on the same text, are "
            "not.",
        ),
        (one_family, "All are of one family: nothing is said of others."),
        (
            checkpoints,
            "Over checkpoints, coupling and performance both change with training: a correlation "
            "says that they change together, not that one causes the other.",
        ),
        (
            against == "loss",
            "A held-out loss compares only models that read the same text with the same "
            f"vocabulary{_left_out(without)}.",
        ),
        (
            against == "loss" or checkpoints,
            "It is not a reproduction of the papers' Figure 1a, whose points are models trained by "
            "others, of up to 70 billion parameters, with their scores on benchmarks.",
        ),
    )


def _left_out(models: pd.DataFrame) -> str:
    """Which trained models have no loss that compares, and what so few could not tell anyway."""
    if models.empty:
        return ""
    n, few = counted(len(models), "model"), len(models) <= NAMED
    means = zip(models["model"], models["coupling"], strict=True)
    named = " and ".join(f"{name} ({mean:.3f})" for name, mean in sorted(means)) if few else n
    of = f": {n} of {counted(models['family'].nunique(), 'family')} could not tell whether better "
    told = f"{of}ones are coupled more" if few else ""
    return f"; {named}, without one, {'is' if len(models) == 1 else 'are'} left out{told}"
