"""Principal components of the paths, for looking at them in two or three dimensions."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from coupling_core.analysis.alignment import side_names
from coupling_core.base.errors import InputError
from coupling_core.base.notebook import Plottable, Table, in_a_line
from coupling_core.base.records import Fit, Part, PathView, view_by
from coupling_core.base.results import TrajectoryResult
from coupling_core.base.units import counted, percent

if TYPE_CHECKING:  # half a second to import, and only arrays need it
    import xarray

RESOLVED = 1e-6
"""Smallest standard deviation along a component, in units of the states' norm, that float32 states
tell from none."""
COMPONENTS = 3
SMALL = 64
"""Up to so many samples or entries a full SVD is the quickest; above, ARPACK is, and as exact."""


class Projection(NamedTuple):
    """Paths in principal components; what its fields are, `ProjectedPaths` says."""

    coordinates: Float[np.ndarray, "state token c"]
    explained: Float[np.ndarray, " c"]
    drawn: Float[np.ndarray, " c"]
    center: Float[np.ndarray, " d"]
    components: Float[np.ndarray, "known d"]


@dataclass(frozen=True, repr=False)
class ProjectedPaths(Plottable[Literal["paths", "paths-3d"]]):
    """A view of a result's paths in the principal components of some of their states.

    Its table has a row a state of a token: token (1..n), text, state (0..L), pc_1, pc_2, pc_3. Its
    figures are "paths" and "paths-3d", of two and three components; their option `token`, 1..n or
    -1 (the last), is highlighted.

    Args:
        coordinates: of every state; NaN past the number of components that there are.
        explained: share of the variance of the states that are fitted (or would be, where the
            components are another result's) along each component; NaN where these do not vary.
        drawn: share of the variance of all states that are drawn, about their own mean.
        center: the state whose coordinates are 0, the mean of those that were fitted.
        components: unit vectors of the residual stream, a row each; as many as there are.
        states: numbers of the states that are drawn, 0..L.
        tokens: numbers of the tokens that are drawn, 1..n.
        result: whose paths they are.
        view: which of its states and tokens, and what the components are fitted to.
        fitted_to: another result, to whose states the components were fitted; None where they are
            its own.
    """

    figures: ClassVar = {"paths": "paths.draw", "paths-3d": "paths.draw_3d"}

    coordinates: Float[np.ndarray, "state token c"]
    explained: Float[np.ndarray, " c"]
    drawn: Float[np.ndarray, " c"]
    center: Float[np.ndarray, " d"]
    components: Float[np.ndarray, "known d"]
    states: Int[np.ndarray, " state"]
    tokens: Int[np.ndarray, " token"]
    result: TrajectoryResult = field(repr=False, compare=False)
    view: PathView = field(repr=False)
    fitted_to: TrajectoryResult | None = field(default=None, repr=False, compare=False)

    def __repr__(self) -> str:
        other = f" of {self.fitted_to.whose}" if self.fitted_to is not None else ""
        shares = [percent(share, 1) for share in self.explained if share == share]
        return in_a_line(
            self,
            self.result.whose,
            f"{counted(len(self.states), 'state')} of {counted(len(self.tokens), 'token')}",
            f"fitted on {self._fitted}{other}",
            f"explained: {', '.join(shares) or 'nothing'}",
        )

    @property
    def why_none(self) -> str:
        """Why there are no components; "" where there are."""
        if len(self.components):
            return ""
        if self.fitted_to is not None:
            return f"The paths of {self._theirs[0]} have no components to see others in."
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
    def _theirs(self) -> tuple[str, str]:
        """Whose the components are, and whose paths are seen in them."""
        return side_names(self.fitted_to or self.result, self.result)

    @property
    def _fitted(self) -> str:
        return f"x^{self.states[-1]}" if self.view.fit == "last" else "all states"

    @property
    def verdict(self) -> str:
        """How much of the variance two components show."""
        if self.why_none:
            return self.why_none
        theirs, ours = (f" of {of}" * (self.fitted_to is not None) for of in self._theirs)
        of_states = {"all states": self.drawn} | {self._fitted: self.explained}
        known = [
            f"{percent(np.nansum(shares[:2]), 1)} at {of}"
            for of, shares in reversed(of_states.items())
            if np.isfinite(shares).any()
        ]
        components = "one component" if len(self.components) == 1 else "two components"
        return (
            f"Of the variance of {counted(len(self.tokens), 'token')}{ours}, {components} fitted "
            f"on {self._fitted}{theirs} explain{'s' * (len(self.components) == 1)} "
            f"{' and '.join(known) or 'nothing, since there is none'}."
        )

    def _table(self) -> Table:
        numbers, points = np.repeat(self.tokens, len(self.states)), self.coordinates.swapaxes(0, 1)
        columns = {
            "token": numbers,
            "text": np.array(self.result.tokens, object)[numbers - 1],
            "state": np.tile(self.states, len(self.tokens)),
        }
        along = {f"pc_{i + 1}": points[..., i].ravel() for i in range(COMPONENTS)}
        return columns | along, self.attributes()

    def to_xarray(self) -> "xarray.Dataset":
        """`coordinates`, `explained` and `drawn` over state, token and component."""
        import xarray

        axes = ("state", "token", "component")
        along = {
            "state": self.states,
            "token": self.tokens,
            "component": np.arange(1, COMPONENTS + 1),
            "text": ("token", [self.result.tokens[token - 1] for token in self.tokens]),
        }
        variables = {
            "coordinates": (axes, self.coordinates),
            "explained": (axes[2:], self.explained),
            "drawn": (axes[2:], self.drawn),
        }
        return xarray.Dataset(variables, along, self.attributes())

    def attributes(self) -> dict[str, str | int | float]:
        """Whose paths they are, and of what the components are, for tables and arrays."""
        told = {"fit": self.view.fit, "part": self.view.part, "first": int(self.view.first)}
        other = self.fitted_to
        onto = {} if other is None else {f"onto_{n}": of for n, of in other.attributes().items()}
        return {**self.result.attributes(), **told, **onto}

    @property
    def _drawn_of(self) -> tuple[TrajectoryResult, PathView]:
        return self.result, self.view


def project_paths(
    result: TrajectoryResult,
    view: PathView | None = None,
    *,
    fit: Fit | None = None,
    part: Part | None = None,
    first: bool | None = None,
    onto: ProjectedPaths | None = None,
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
        onto: paths that are projected already, in whose components and view these are to be seen:
            those of another prompt, or another step of training. Directions of two models that were
            trained apart do not correspond.

    Returns:
        coordinates (state token c), in the units of the states.

    Raises:
        InputError: where fields of a view come beside one or beside `onto`, and onto states of
            another width.
    """
    if onto is None:
        view = view_by(PathView, view, fit=fit, part=part, first=first)
        fitted_to = None
    elif any(one is not None for one in (view, fit, part, first)):
        raise InputError("onto brings its view with it: leave out view, fit, part and first")
    elif result.width != onto.result.width:
        raise InputError(
            f"the states have width {result.width}, and the components {onto.result.width}: "
            "expected the residual stream of one model, or of models of one width"
        )
    else:
        view, fitted_to = onto.view, onto.fitted_to or onto.result
    chosen = result.kept > view.leaves_out_first(len(result.tokens))
    states = part_states(view.part, result.n_blocks)
    return ProjectedPaths(
        *project(result.states[states][:, chosen], view.fit, onto),
        states,
        result.kept[chosen],
        result,
        view,
        fitted_to,
    )


def project_steps(
    results: Mapping[int, TrajectoryResult], view: PathView
) -> dict[int, ProjectedPaths]:
    """The paths over training steps, each in its own components, with signs as a step before."""
    found: dict[int, ProjectedPaths] = {}
    before = np.zeros(())
    for step, result in sorted(results.items()):
        paths = project_paths(result, view)
        points = np.nan_to_num(paths.coordinates)
        agreement = (points * before).sum((0, 1))  # (c)
        signs = np.where(agreement < 0, -1, 1)
        components = paths.components * signs[: len(paths.components), None]
        paths = replace(paths, coordinates=paths.coordinates * signs, components=components)
        found[step], before = paths, np.nan_to_num(paths.coordinates)
    return found


def part_states(part: Part, n_blocks: int) -> Int[np.ndarray, " state"]:
    """Numbers of the states (0..L) of a part of the depth; both halves have that in the middle."""
    middle = n_blocks // 2
    first, last = middle * (part == "deeper"), middle if part == "shallower" else n_blocks
    return np.arange(first, last + 1)


def project(
    states: Float[np.ndarray, "state token d"],
    fit: Fit = "last",
    onto: ProjectedPaths | None = None,
) -> Projection:
    """Project paths on principal components, the largest-magnitude entry of each positive.

    "last" fits them to the last of these states (preprint, Figure 17), one sample a token, so that
    n tokens have n - 1 components at most; "all" to all states. Those of other paths are as these.
    """
    X = np.asarray(states, np.float64)
    flat = X.reshape(-1, X.shape[-1])  # (state * token, d)
    samples = X[-1] if fit == "last" else flat
    if onto is None:
        center, axes, explained = _fit(samples)
    else:
        center, axes = onto.center, onto.components
        explained = _shares((samples - center) @ axes.T, samples)
    along = (flat - center) @ axes.T
    coordinates = _padded(along).reshape(*X.shape[:2], -1)
    return Projection(coordinates, _padded(explained), _padded(_shares(along, flat)), center, axes)


def _shares(
    along: Float[np.ndarray, "point known"], points: Float[np.ndarray, "point d"]
) -> Float[np.ndarray, " known"]:
    """Of the variance of points along each component; NaN where they do not vary."""
    total = points.var(0).sum()
    return along.var(0) / (total if total > 0 else np.nan)


def _fit(
    samples: Float[np.ndarray, "sample d"],
) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, "c d"], Float[np.ndarray, " c"]]:
    """Mean, components and the shares that they explain; fewer where the rank is lower."""
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


def _padded(values: Float[np.ndarray, "*any known"]) -> Float[np.ndarray, "*any c"]:
    padded = np.full((*values.shape[:-1], COMPONENTS), np.nan)
    padded[..., : values.shape[-1]] = values
    return padded
