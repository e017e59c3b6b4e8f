"""A measurement over the steps of a training run, and the numbers that it comes to.

Every mean is over the pairs l != l' that have a score, or over the tokens that have a number.
Locality is one number for how much of the coupling is between neighbours:

    mean score at |l - l'| = 1  -  mean score at |l - l'| > 1        chance-corrected

0 where no two blocks are coupled and where all are coupled alike, whatever their distance.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from coupling_core.analysis import trajectory
from coupling_core.analysis.locality import locality
from coupling_core.analysis.scores import means, score_pairs
from coupling_core.analysis.spectra import spectrum_numbers
from coupling_core.base.drawing import Drawing
from coupling_core.base.errors import InputError, a_type
from coupling_core.base.kinds import kind_of
from coupling_core.base.notebook import Plottable, in_a_line
from coupling_core.base.records import Request, View, require_view, viewed
from coupling_core.base.results import DepthResult, SpectrumResult, TrajectoryResult
from coupling_core.base.results.base import certified_words
from coupling_core.base.units import rounded
from coupling_core.sources.suites import Suite

if TYPE_CHECKING:  # half a second to import
    from pandas import DataFrame

StepCurve = Literal[
    "corrected",
    "coupling",
    "alignment",
    "locality",
    "loss",
    "line-shape",
    "expodistance",
    "departure",
    "u-dot-v",
    "effective-rank",
]
"""The numbers that are drawn by step."""
SPECTRAL: tuple[StepCurve, ...] = ("departure", "u-dot-v", "effective-rank")
"""Those of them that are of spectra."""
OF_SPECTRA = ("departure", "u_dot_v", "effective_rank")
"""The fields of `StepNumbers` that spectra give."""
NAMED = 8
"""Up to so many steps are named one by one."""


@dataclass(frozen=True, repr=False)
class Course(Plottable):
    """What is measured of one prompt over the steps of a training run.

    Args:
        suite: the training run.
        request: what was asked of every step: a depth-wise request, whatever its model.
        steps: those that are looked at, rising.
        depth: the blocks at one token, by step; a step that is not measured is missing.
        paths: the paths of all tokens, by step; the same.
        spectra: of the blocks' linear maps, by step; the same. None where they were not asked for,
            for of wide models they take longer than all the rest.
    """

    suite: Suite
    request: Request
    steps: tuple[int, ...]
    depth: Mapping[int, DepthResult]
    paths: Mapping[int, TrajectoryResult]
    spectra: Mapping[int, SpectrumResult] | None = None

    @property
    def missing(self) -> tuple[int, ...]:
        """Steps of which something is not measured that was asked for."""
        return tuple(step for step in self.steps if self.lacking(step))

    def lacking(self, step: int) -> tuple[Request, ...]:
        """What has still to be measured of a step."""
        asked = self.suite.request(self.request, step)
        parts: list[tuple[Mapping[int, object] | None, Request]] = [
            (self.depth, asked),
            (self.paths, path_request(asked)),
            (self.spectra, spectrum_request(asked)),
        ]
        return tuple(request for of, request in parts if of is not None and step not in of)

    @property
    def alike(self) -> tuple[tuple[int, ...], ...]:
        """Groups of steps that gave the same numbers to the last bit, so of the same weights.

        Their revisions serve one and the same file, whatever their names say.
        """
        groups: dict[bytes, list[int]] = {}
        for step in sorted(self.depth):
            parts = (self.depth[step].singular_values, self.depth[step].diagonal)
            digest = hashlib.sha256(b"".join(part.tobytes() for part in parts)).digest()
            groups.setdefault(digest, []).append(step)
        return tuple(tuple(steps) for steps in groups.values() if len(steps) > 1)

    @property
    def default_k(self) -> int:
        """The K at which it is looked at where nobody says another.

        It is that of its request, else that with which the run was watched, else 8.
        """
        most = (result.k_max for result in self.depth.values())
        return min([self.request.k or self.suite.usual_k, *most])

    def to_pandas(self, view: View | None = None, *, k: int | None = None) -> "DataFrame":
        """Its numbers by step, as `numbers` has them.

        Args:
            view: K, definition, role and blocks.
            k: the K alone, of the paper's score; None is `default_k`.

        Returns:
            a row a step, the fields of `StepNumbers` as columns, those of the spectra only where
            they were asked for. What is not measured is NaN. Its `attrs` say suite, prompt, at
            which token, K, definition (and its p), role, final norm, precision and certificate.

        Raises:
            InputError: where K or a block is not in the results.
        """
        from pandas import DataFrame

        columns = [item.name for item in fields(StepNumbers)]
        if self.spectra is None:
            columns = [name for name in columns if name not in OF_SPECTRA]
        seen = viewed(view, self.default_k, k=k)
        table = DataFrame([asdict(one) for one in numbers(self, seen)], columns=columns)
        table.attrs |= {"suite": self.suite.name, "prompt": self.request.prompt_words}
        table.attrs.update(seen.attributes())
        one = next(iter(self.depth.values()), None)
        told = {} if one is None else one.attributes()
        said = ("measured", "final_norm", "precision")
        table.attrs |= {name: told[name] for name in said if name in told}
        svds = [svd for result in self.depth.values() for svd in result.svds]
        table.attrs |= {"certificate": certified_words(svds)} if svds else {}
        return table

    def plot(
        self, figure: StepCurve = "corrected", view: View | None = None, *, k: int | None = None
    ) -> Drawing:
        """One of its numbers by step, as the page Training draws it.

        Args:
            figure: "corrected", "coupling", "alignment", "locality", "loss", "line-shape" or
                "expodistance"; where spectra were asked for, "departure", "u-dot-v" or
                "effective-rank".
            view: K, definition, role and blocks.
            k: the K alone, of the paper's score; None is `default_k`.

        Raises:
            InputError: where nothing is measured, on a name that no figure has (the message lists
                them), or where K or a block is not in the results.
        """
        seen = viewed(view, self.default_k, k=k)
        drawn: Drawing = kind_of("depth").part("views").course(self, seen, figure)
        return drawn

    @property
    def verdict(self) -> str:
        """How coupling goes through the training, and what is missing or in doubt of that."""
        seen = View(self.default_k)
        return str(kind_of("depth").part("views").course_verdict(self, seen))

    def _shown(self) -> Any:
        return self.plot() if self.depth else self.to_pandas()

    def __repr__(self) -> str:
        span = f"from {self.steps[0]} to {self.steps[-1]}, " if self.steps else ""
        done = f"{len(self.steps) - len(self.missing)} of {len(self.steps)} measured"
        at = f"at K = {self.default_k}, " if self.depth else ""
        prompt = repr(self.request.prompt_words[:60])
        return f"Course({self.suite.name}, {prompt}, {at}steps {span}{done})"


@dataclass(frozen=True, repr=False)
class StepNumbers:
    """The numbers of one step; NaN is not measured, or undefined.

    Args:
        step: of the optimiser.
        loss: held-out, in nats a token.
        coupling: mean score c.
        chance: mean of its chance floors.
        corrected: mean chance-corrected score.
        alignment: mean alignment, at the same K.
        locality: how much more neighbouring blocks are coupled than all others, chance-corrected.
        line_shape: mean line-shape score; 1 is a straight path.
        expodistance: mean expodistance; 0 is even growth.
        departure: median over the blocks of Henrici's departure of M = I + J; 0 is normal.
        u_dot_v: median over the blocks of the mean u_k . v_k of their leading triplets. Medians,
            for the last block, which has the final norm, is of another kind.
        effective_rank: of the product of all M: how many directions come through, 1 to d.
    """

    step: int
    loss: float
    coupling: float
    chance: float
    corrected: float
    alignment: float
    locality: float
    line_shape: float
    expodistance: float
    departure: float = np.nan
    u_dot_v: float = np.nan
    effective_rank: float = np.nan

    def __repr__(self) -> str:
        known = (item for item in asdict(self).items() if item[0] != "step" and item[1] == item[1])
        told = (f"{name}={rounded(value, 4)}" for name, value in known)
        return in_a_line(self, f"step={self.step}", *told)


Runs = Mapping[str, Sequence[StepNumbers]]
"""The numbers of several runs by their titles."""


def path_request(request: Request) -> Request:
    """The request for the paths of the same prompt."""
    return replace(request, kind="trajectory", token=Request.token, k=Request.k, k_view=None)


def spectrum_request(request: Request) -> Request:
    """The request for the spectra of the blocks at the same token."""
    return replace(request, kind="spectrum", k=Request.k, k_view=None)


def doubt(course: Course) -> str:
    """What speaks against the course of a run; "" where nothing does."""
    groups = "; ".join(f"{steps_told(steps)} hold the same weights" for steps in course.alike)
    return groups and f"{groups}, whatever the names of their revisions say"


def steps_told(steps: Sequence[int]) -> str:
    """Steps one by one where they are few, else how many."""
    if len(steps) > NAMED:
        return f"{len(steps)} steps from {steps[0]} to {steps[-1]}"
    return f"step{'s' * (len(steps) > 1)} {', '.join(map(str, steps))}"


def numbers(course: Course, view: View) -> tuple[StepNumbers, ...]:
    """The numbers of every step that is looked at, in the order of the steps.

    Args:
        course: where they come from.
        view: K, definition, role and blocks.

    Raises:
        InputError: where K or a block is not in the results.
    """
    if not isinstance(course, Course):
        raise InputError(
            f"{a_type(course)} came: expected what measure_steps(...) or collect(...) "
            "gives of a training run"
        )
    require_view(view, View)
    losses = course.suite.losses()
    return tuple(
        numbers_at(
            step,
            view,
            loss=losses.get(step, np.nan),
            depth=course.depth.get(step),
            paths=course.paths.get(step),
            spectrum=(course.spectra or {}).get(step),
        )
        for step in course.steps
    )


def numbers_at(
    step: int,
    view: View,
    *,
    loss: float = np.nan,
    depth: DepthResult | None = None,
    paths: TrajectoryResult | None = None,
    spectrum: SpectrumResult | None = None,
) -> StepNumbers:
    """The numbers of one step, from what is measured of it.

    Args:
        step: of the optimiser.
        view: K, definition, role and blocks.
        loss: held-out, in nats a token.
        depth: the blocks at one token.
        paths: of all tokens.
        spectrum: of the blocks' linear maps.

    Raises:
        InputError: where K or a block is not in the results.
    """
    of_blocks, of_paths = _of_blocks(depth, view), _of_paths(paths)
    return StepNumbers(step, loss, *of_blocks, *of_paths, *_of_spectrum(spectrum))


def _of_blocks(result: DepthResult | None, view: View) -> tuple[float, float, float, float, float]:
    """Coupling, chance, corrected, alignment, locality."""
    if result is None:
        return np.nan, np.nan, np.nan, np.nan, np.nan
    found = means(score_pairs(result, view))
    aligned = means(score_pairs(result, replace(view, definition="alignment")))["coupling"]
    local = _near_less_far(result, view)
    return found["coupling"], found["chance"], found["corrected"], aligned, local


def _near_less_far(result: DepthResult, view: View) -> float:
    by_distance = locality(result, view)
    known = ~np.isnan(by_distance.mean)
    near, far = (known & at for at in (by_distance.distance == 1, by_distance.distance > 1))
    if not (near.any() and far.any()):
        return np.nan
    others = np.average(by_distance.mean[far], weights=by_distance.pairs[far])
    return float(by_distance.mean[near][0] - others)


def _of_paths(result: TrajectoryResult | None) -> tuple[float, float]:
    """Line-shape score, expodistance."""
    if result is None:
        return np.nan, np.nan
    mean = trajectory.mean
    return mean(result.line_shape), mean(trajectory.expodistance(result.norms))


def _of_spectrum(result: SpectrumResult | None) -> tuple[float, float, float]:
    """Departure, u . v, effective rank."""
    if result is None:
        return np.nan, np.nan, np.nan
    found = spectrum_numbers(result)
    rank = float(found.effective_rank[-1])
    return float(np.median(found.departure)), float(np.median(found.u_dot_v)), rank
