"""Principal components of the paths, for looking at them in two or three dimensions."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Float, Int

from coupling_core.base.drawing import Drawing
from coupling_core.base.equality import SameContent
from coupling_core.base.keywords import known_keywords
from coupling_core.base.records import Fit, Part, PathView, view_by
from coupling_core.base.results import TrajectoryResult
from coupling_core.base.results.base import require_result
from coupling_core.base.showing import Drawn, in_short
from coupling_core.base.units import counted, percent

if TYPE_CHECKING:  # half a second to import, and only tables need it
    from pandas import DataFrame

RESOLVED = 1e-6
"""Smallest standard deviation along a component, in units of the states' norm, that float32 states
tell from none."""
COMPONENTS = 3
SMALL = 64
"""Up to so many samples or entries a full SVD is the quickest; above, ARPACK is, and as exact."""


@dataclass(frozen=True, repr=False, eq=False)
class Projection(SameContent):
    """Paths in the principal components of some of their states.

    Args:
        coordinates: of every state; NaN past the number of components that there are.
        explained: share of the variance of the fitted states along each component.
        drawn: share of the variance of all states along each component, fitted or not.
    """

    coordinates: Float[np.ndarray, "state token c"]
    explained: Float[np.ndarray, " c"]
    drawn: Float[np.ndarray, " c"]

    __repr__ = in_short


@dataclass(frozen=True, repr=False, eq=False)
class ProjectedPaths(Projection, Drawn):
    """A view of a result's paths.

    Args:
        states: numbers of the states that are drawn, 0..L.
        tokens: numbers of the tokens that are drawn, 1..n.
        result: whose paths they are.
        view: which of its states and tokens, and what the components are fitted to.
    """

    states: Int[np.ndarray, " state"]
    tokens: Int[np.ndarray, " token"]
    result: TrajectoryResult = field(repr=False, compare=False)
    view: PathView = field(repr=False)

    @property
    def why_none(self) -> str:
        """Why there are no components; "" where there are."""
        if not np.isnan(self.explained).all():
            return ""
        remedies = ["give a longer prompt"]
        if self.view.leaves_out_first(len(self.result.tokens)):
            remedies.append("take the first token in (first=True)")
        if self.view.fit == "last":
            remedies.append("fit them to all states")
        return (
            f"What is fitted, {self._fitted} of {counted(len(self.tokens), 'token')}, has no "
            f"variance and so no components: {', or '.join(remedies)}."
        )

    @property
    def _fitted(self) -> str:
        return f"x^{self.states[-1]}" if self.view.fit == "last" else "all states"

    @property
    def verdict(self) -> str:
        """How much of the variance two components show."""
        if self.why_none:
            return self.why_none
        is_one = np.isnan(self.explained[1])
        return (
            f"{'One component' if is_one else 'Two components'}, fitted on {self._fitted} of "
            f"{counted(len(self.tokens), 'token')}, {'explains' if is_one else 'explain'} "
            f"{percent(np.nansum(self.explained[:2]), 1)} of the variance there, and "
            f"{percent(np.nansum(self.drawn[:2]), 1)} of that of all states that are drawn."
        )

    def to_pandas(self) -> "DataFrame":
        """A row a state of a token.

        Returns:
            columns token (1..n), text, state (0..L), pc_1, pc_2, pc_3.
        """
        from pandas import DataFrame

        n = len(self.states)
        points = self.coordinates.swapaxes(0, 1).reshape(-1, self.coordinates.shape[-1])
        table = DataFrame(points, columns=[f"pc_{i + 1}" for i in range(points.shape[1])])
        table.insert(0, "token", np.repeat(self.tokens, n))
        table.insert(1, "text", [self.result.tokens[i - 1] for i in table["token"]])
        table.insert(2, "state", np.tile(self.states, len(self.tokens)))
        return table

    def plot(self, figure: Literal["paths", "paths-3d"] = "paths") -> Drawing:
        """The paths, as the page Trajectories draws them, with the last token on top.

        Args:
            figure: "paths", or "paths-3d" for three components.

        Raises:
            InputError: on another name.
        """
        drawn: Drawing = self.result.part("views").projected(self, figure)
        return drawn


@known_keywords
def project_paths(
    result: TrajectoryResult,
    view: PathView | None = None,
    *,
    fit: Fit | None = None,
    part: Part | None = None,
    first: bool | None = None,
) -> ProjectedPaths:
    """The kept paths of a result through one part of its depth, in principal components.

    Args:
        result: a trajectory.
        view: which states and tokens, and what the components are fitted to; None is all states,
            fitted on the last, without the first token.
        fit: in place of a view: what the components are fitted to, "last" (the last state) or
            "all" states.
        part: in place of a view: "all" blocks, or the "shallower" or "deeper" half of them.
        first: in place of a view: whether the first token belongs.

    Returns:
        coordinates (state token c), in the units of the states.

    Raises:
        InputError: on another kind of result, and where fields of a view come beside one.
    """
    require_result(result, TrajectoryResult, "trajectory")
    view = view_by(PathView, view, fit=fit, part=part, first=first)
    states = part_states(view.part, result.n_blocks)
    chosen = result.kept > view.leaves_out_first(len(result.tokens))
    found = project(result.states[states][:, chosen], view.fit)
    tokens = result.kept[chosen]
    return ProjectedPaths(**vars(found), states=states, tokens=tokens, result=result, view=view)


def project_steps(
    results: Mapping[int, TrajectoryResult], view: PathView
) -> dict[int, ProjectedPaths]:
    """The paths of one prompt over the steps of a training run, each in its own components.

    A component has no sign of its own: at each step it takes the one in which the paths lie as
    they did at the step before, so that nothing flips from step to step.

    Args:
        results: by step.
        view: which states and tokens, and what the components are fitted on.

    Returns:
        projections by step, rising.
    """
    found: dict[int, ProjectedPaths] = {}
    before = np.zeros(())
    for step, result in sorted(results.items()):
        paths = project_paths(result, view)
        points = np.nan_to_num(paths.coordinates)
        agreement = (points * before).sum((0, 1))  # (c)
        paths = replace(paths, coordinates=paths.coordinates * np.where(agreement < 0, -1, 1))
        found[step], before = paths, np.nan_to_num(paths.coordinates)
    return found


def part_states(part: Part, n_blocks: int) -> Int[np.ndarray, " state"]:
    """Numbers of the states (0..L) that belong to a part of the depth.

    Both halves have the state in the middle, so that no step is lost between them.
    """
    middle = n_blocks // 2
    first, last = {
        "all": (0, n_blocks),
        "shallower": (0, middle),
        "deeper": (middle, n_blocks),
    }[part]
    return np.arange(first, last + 1)


def project(states: Float[np.ndarray, "state token d"], fit: Fit = "last") -> Projection:
    """Project paths on principal components, the largest-magnitude entry of each positive.

    Args:
        states: of all tokens, through the depth that is looked at.
        fit: "last" fits the components to the last of these states (preprint, Figure 17), one
            sample a token, so that n tokens have n - 1 components at most; "all" fits them to all
            states.
    """
    X = np.asarray(states, np.float64)
    flat = X.reshape(-1, X.shape[-1])  # (state * token, d)
    samples = X[-1] if fit == "last" else flat
    mean, axes, explained = _fit(samples)
    along = (flat - mean) @ axes.T
    total = flat.var(0).sum()
    coordinates = np.full((len(flat), COMPONENTS), np.nan)
    coordinates[:, : len(axes)] = along
    drawn = along.var(0) / total if total > 0 else explained
    return Projection(coordinates.reshape(*X.shape[:2], -1), _padded(explained), _padded(drawn))


def _fit(
    samples: Float[np.ndarray, "sample d"],
) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, "c d"], Float[np.ndarray, " c"]]:
    """Mean, components and their explained shares; fewer than wanted where the rank is lower."""
    n, d = samples.shape
    count = min(COMPONENTS, n - 1, d)
    mean = samples.mean(0)
    least = RESOLVED * np.sqrt((samples**2).sum(1).mean())
    if count < 1 or np.linalg.norm(samples - mean, axis=1).max() <= least:
        return mean, np.empty((0, d)), np.empty(0)
    from sklearn.decomposition import PCA  # takes more than a second to import

    solver = "full" if min(n, d) <= SMALL else "arpack"
    pca = PCA(count, svd_solver=solver, random_state=0).fit(samples)
    # Its own gauge is that of all singular vectors here: the largest entry of each is positive.
    there = np.sqrt(pca.explained_variance_) > least
    return pca.mean_, pca.components_[there], pca.explained_variance_ratio_[there]


def _padded(values: Float[np.ndarray, " known"]) -> Float[np.ndarray, " c"]:
    return np.pad(values, (0, COMPONENTS - len(values)), constant_values=np.nan)
