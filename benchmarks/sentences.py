"""How often a sentence that is formed from numbers is false, as a page to read.

`python -m benchmarks.sentences` draws every world 1,000 times and writes
`benchmarks/results/sentences.md`; `tests/analysis/test_sentences.py` draws fewer.
"""

import sys
from functools import partial
from typing import Any

import numpy as np

from benchmarks import common, drawn, judges, worlds
from benchmarks.judges import Case
from benchmarks.worlds import Course, Models, Runs

DRAWS = 1000
PAGE = common.ROOT / "benchmarks" / "results" / "sentences.md"

NOTHING = Models()
FAMILY = Models(shared=0.8)
TWINS = Models(shared=0.98)
OWN_WAYS = Models(shared=0.3, own_slopes=True)
CURVED = Models(curved=True)
SIZE = Models(slope=1.0)
SIZE_OF_FAMILY = Models(slope=1.0, shared=0.5, size_shared=1.0)
REAL = Models(r=-0.8, shared=0.8)
CATALOGUE = worlds.SCORED
LAYOUTS = {
    "the catalogue's 15 families": CATALOGUE,
    "8 uneven families": worlds.UNEVEN,
    "6 families": worlds.DIFFICULTY,
    "5 families of three": worlds.LEAST,
    "20 models, each its own family": worlds.ALONE,
}
QUIET, SCATTER = {"checkpoints": 1e-6}, {"checkpoints": 0.003, "prompts": 0.02}
UNEQUAL = (0.2, 0.2, 0.2, 1.0)


def _cases(sentence: str, *rows: tuple[Any, ...]) -> list[Case]:
    """Of one sentence, what else a `Case` has: world, judge, and how often, where it is not 5 %."""
    return [Case(sentence, *row) for row in rows]


def over_models() -> list[Case]:
    """On coupling and performance over models."""
    found = []
    for layout, sizes in LAYOUTS.items():
        of = partial(judges.interval, sizes=sizes)
        found += _cases(
            f"interval of a correlation, {layout}",
            ("nothing goes together", of(NOTHING, truth=0)),
            ("families alone differ", of(FAMILY, truth=0)),
            ("families alone differ, by ranks", of(FAMILY, truth=0, of=judges.spearman)),
            ("a correlation of -0.8", of(REAL, truth=-0.8)),
        )
    of = partial(judges.interval, sizes=CATALOGUE)
    found += _cases(
        "interval of a correlation, the catalogue's 15 families",
        ("members of a family are nearly alike", of(TWINS, truth=0)),
        ("size alone moves both", of(SIZE, truth=-0.5)),
        ("each family goes its own way", of(OWN_WAYS, truth=0), 0.1),
        ("loss is the square of coupling", of(CURVED, truth=0), 0.1),
        ("loss is the square, by ranks", of(CURVED, truth=0, of=judges.spearman)),
    )
    of, positive = partial(judges.agreement, sizes=CATALOGUE), Models(r=0.8, shared=0.8)
    found += _cases(
        "“Its sign agrees with the claim”, or “goes against” it",
        ("nothing goes together", of(NOTHING, truth="")),
        ("families alone differ", of(FAMILY, truth="")),
        ("members of a family are nearly alike", of(TWINS, truth="")),
        ("each family goes its own way", of(OWN_WAYS, truth="")),
        ("loss is the square of coupling", of(CURVED, truth="")),
        ("families alone differ, 6 of them", of(FAMILY, sizes=worlds.DIFFICULTY, truth="")),
        ("families alone differ, 3 of them", of(FAMILY, sizes=worlds.FEW, truth=""), 0),
        ("size alone moves both", of(SIZE, truth="agrees with"), 0.05, 0.6),
        ("a correlation of -0.8", of(REAL, truth="agrees with"), 0.05, 0.75),
        ("a correlation of 0.8", of(positive, truth="goes against"), 0.05, 0.75),
    )
    return found


def on_families() -> list[Case]:
    """On lines, on families, and given the sizes."""
    line = partial(judges.interval, sizes=CATALOGUE, of=judges.slope)
    left = partial(judges.interval, sizes=CATALOGUE, of=judges.given_sizes)
    stays = partial(judges.verdict, sizes=CATALOGUE, words="It stays significant")
    may = partial(judges.verdict, sizes=CATALOGUE, words="may be all that it rests on")
    beside = Models(r=-0.8, slope=1.0)
    return [
        *_cases(
            "interval of a line's slope",
            ("nothing goes together", line(NOTHING, truth=0)),
            ("families alone differ", line(FAMILY, truth=0)),
            ("families alone differ, 6 of them", line(FAMILY, sizes=worlds.DIFFICULTY, truth=0)),
            ("a slope of -0.8", line(REAL, truth=-0.8)),
        ),
        *_cases(
            "“It stays significant whichever family is left out”",
            ("families alone differ", stays(FAMILY, is_true=False)),
            ("a correlation of -0.8", stays(REAL, is_true=True), 0.05, 0.6),
        ),
        *_cases(
            "“differences between families may be all that it rests on”",
            ("-0.8 between families, and within them", may(REAL, is_true=False)),
        ),
        *_cases(
            "interval of the correlation given the sizes",
            ("families alone differ", left(FAMILY, truth=0)),
            ("size alone moves both", left(SIZE, truth=0)),
            ("size alone, and only between families", left(SIZE_OF_FAMILY, truth=0)),
            ("size alone moves both, 6 families", left(SIZE, sizes=worlds.DIFFICULTY, truth=0)),
            ("a correlation of -0.8 beside the size", left(beside, truth=-0.8)),
        ),
    ]


def of_runs() -> list[Case]:
    """On the courses of four training runs of 15 checkpoints and 12 prompts."""
    falls, bends = judges.falls, judges.bends
    flat, straight = Course(worlds.FLAT, **QUIET), Course(worlds.STRAIGHT, **QUIET)
    plateau, peak = Course(worlds.PLATEAU, **SCATTER), Course(worlds.PEAK, **SCATTER)
    rises, noisy = Course(worlds.STRAIGHT, **SCATTER), Course(worlds.FLAT, **SCATTER)
    return [
        *_cases(
            "“coupling falls after its highest checkpoint”",
            ("flat, but for 1e-6", falls(flat, is_true=False)),
            ("flat, with scatter", falls(noisy, is_true=False)),
            ("flat, and each prompt goes its own way",
             falls(Course(worlds.FLAT, drift=0.1), is_true=False)),
            ("a plateau, but for 1e-6", falls(Course(worlds.PLATEAU, **QUIET), is_true=False)),
            ("a plateau, with scatter", falls(plateau, is_true=False)),
            ("it rises, with scatter", falls(rises, is_true=False)),
            ("it peaks and falls, with scatter", falls(peak, is_true=True), 0.05, 0.8),
        ),
        *_cases(
            "“no straight line describes it”",
            ("flat, but for 1e-6", bends(flat, is_true=False)),
            ("flat, with scatter", bends(noisy, is_true=False)),
            ("a line, but for 1e-6", bends(straight, is_true=False)),
            ("a line, with scatter", bends(rises, is_true=False)),
            ("a plateau, with scatter", bends(plateau, is_true=True), 0.05, 0.8),
            ("it peaks and falls, with scatter", bends(peak, is_true=True), 0.05, 0.8),
        ),
    ]  # fmt: skip


def of_rates() -> list[Case]:
    """On stochastic depth: four rates, of three seeds each unless told."""
    of, nothing = judges.rates, partial(Runs, worlds.no_effect)
    line, middle = Runs(worlds.line, seed=5), Runs(worlds.middle, seed=5)
    ever_less = Runs(worlds.saturating, seed=5)
    return [
        *_cases(
            "what the rate of stochastic depth does",
            ("nothing", of(nothing(seed=0))),
            ("nothing, and seeds do much at every rate", of(nothing(seed=5))),
            ("nothing, and runs of the last rate scatter more",
             of(nothing(scatter=UNEQUAL)), 0.06),
            ("nothing, and runs of the first rate scatter more",
             of(nothing(scatter=UNEQUAL[::-1])), 0.06),
            ("a line, and seeds do much", of(line, "rises"), 0.05, 0.6),
            ("highest in the middle, and seeds do much",
             of(middle, "goes .* curve", (0.1, 0.2)), 0.05, 0.9),
            ("it rises, and ever less",
             of(ever_less, "rises|goes .* curve", (0.2, 0.4)), 0.05, 0.6),
        ),
        *_cases(
            "interval of accuracy with coupling among runs of one rate",
            *(
                (f"seeds move both, each its own way; {n} seeds", judges.within_rates(n))
                for n in (3, 5, 10)
            ),
        ),
    ]  # fmt: skip


def over_prompts() -> list[Case]:
    """On prompts, and on means."""
    normal = partial(judges.mean_of, draw=lambda rng, n: rng.normal(size=n), truth=0)
    skewed = partial(judges.mean_of, draw=lambda rng, n: rng.exponential(size=n), truth=1)
    of, sizes = judges.over_prompts, (5, 12, 60)
    return [
        *_cases(
            "interval of a correlation over prompts, of one model",
            *((f"nothing; {n} prompts", of(n, 0, is_mean=False)) for n in sizes),
            *((f"0.6; {n} prompts", of(n, 0.6, is_mean=False)) for n in sizes[1:]),
        ),
        *_cases(
            "interval of the mean of three models' correlations over prompts",
            *((f"nothing; {n} prompts", of(n, 0, is_mean=True)) for n in sizes),
        ),
        *_cases(
            "interval of a mean over prompts, or seeds",
            *((f"a normal number; {n}", normal(n)) for n in (3, 5, 12, 40)),
            ("as skewed as an exponential; 5", skewed(5), 0.13),
            ("as skewed as an exponential; 40", skewed(40), 0.07),
        ),
    ]


CASES = (*over_models(), *on_families(), *of_runs(), *of_rates(), *over_prompts())


def parts(draws: int) -> tuple[str, str]:
    """The summary and the table; each line is told as it is counted."""
    rows, missed = [], 0
    error = 3 * np.sqrt(0.05 * 0.95 / draws)
    for case in CASES:
        said, false = case.count(draws)
        missed += false / draws > case.allowed + error
        cells = (case.sentence, case.world, f"{said / draws:.1%}", f"{false / draws:.1%}")
        rows.append((*cells, f"{case.allowed:.0%}"))
        sys.stdout.write(f"{', '.join(rows[-1])}\n")
    summary = (
        f"**{missed or 'None'} of {len(CASES)} is false more often than it may be.** Each world is "
        f"drawn {draws:,} times, which tells 5 % to within {error:.1%}."
    )
    columns = ("sentence", "what is so", "said", "false", "may be false")
    return summary, drawn.table(columns, rows)


if __name__ == "__main__":
    drawn.redraw(PAGE, *parts(DRAWS))
