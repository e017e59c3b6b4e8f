"""Two results of paths side by side: how straight and how even the paths of each are."""

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from jaxtyping import Float

from coupling_core.analysis import trajectory
from coupling_core.analysis.sides import told_sides
from coupling_core.base.drawing import Drawing, known_figure
from coupling_core.base.errors import InputError
from coupling_core.base.records import PathView
from coupling_core.base.results import TrajectoryResult
from coupling_core.base.showing import Drawn
from coupling_core.base.units import counted, rounded

if TYPE_CHECKING:  # half a second to import, and only tables need it
    from pandas import DataFrame


OfTokens = Literal["line-shape", "expodistance", "equidistance"]
OfDepth = Literal["line-shape-by-depth", "norms", "growth", "steps", "entropy"]
InSpace = Literal["paths", "paths-3d", "paths-apart"]
BothFigure = Literal[""] | OfTokens | OfDepth | InSpace
"""Figures that two results have together; "" is the first that they can have."""
BY_TOKEN: tuple[str, ...] = get_args(OfTokens)
BY_DEPTH: tuple[str, ...] = get_args(OfDepth)
IN_SPACE: tuple[str, ...] = get_args(InSpace)


@dataclass(frozen=True, repr=False)
class PathComparison(Drawn):
    """The paths of tokens in two results, by what is known of each token's.

    Args:
        a: the result A.
        b: the result B.
    """

    a: TrajectoryResult
    b: TrajectoryResult

    @property
    def same_tokens(self) -> bool:
        """Whether each token of A is one of B, so that they are compared one by one."""
        return self.a.tokens == self.b.tokens

    def to_pandas(self) -> "DataFrame":
        """A row a number.

        Returns:
            columns `number`: `line_shape` (1 is a straight path), `growth` (mean over the blocks of
            the logarithm of the norm's growth, per block), `expodistance` (0 is even growth) and
            `equidistance` (0 is steps of one length); `a`, `b` and their `difference`, means over
            the `tokens` at which both have a finite number; and `a_above`, at how many of these A
            has more. Where the two have other tokens, `a` and `b` are each over those of its own
            that have one, and the counts are NaN.
        """
        from pandas import DataFrame

        rows, of_b = [], _numbers(self.b)
        for name, a in _numbers(self.a).items():
            b, above, both = of_b[name], np.nan, np.nan
            if self.same_tokens:
                common = np.isfinite(a) & np.isfinite(b)
                a, b = a[common], b[common]
                above, both = int((a > b).sum()), len(a)
            means = trajectory.mean(a), trajectory.mean(b)
            rows.append((name, *means, means[0] - means[1], above, both))
        columns = ["number", "a", "b", "difference", "a_above", "tokens"]
        return self._attributed(DataFrame(rows, columns=columns))

    def by_token(self) -> "DataFrame":
        """The same numbers of each place in the prompts that both have, whatever stands there.

        Of two prompts in one causal model, the tokens before the first that differs have the same
        paths.

        Returns:
            a row a number and place: `number`, `token` (1..n, of the shorter prompt), the texts
            there, `a_text` and `b_text`, `a`, `b` and their `difference`; NaN where a number is not
            defined.
        """
        from pandas import DataFrame, concat

        of_b, n = _numbers(self.b), min(len(self.a.tokens), len(self.b.tokens))
        texts = {"a_text": list(self.a.tokens[:n]), "b_text": list(self.b.tokens[:n])}
        said = {"token": range(1, n + 1), **texts}
        table = concat(
            [
                DataFrame({"number": name, **said, "a": a[:n], "b": of_b[name][:n]})
                for name, a in _numbers(self.a).items()
            ],
            ignore_index=True,
        )
        table["difference"] = table["a"] - table["b"]
        return self._attributed(table)

    def _attributed(self, table: "DataFrame") -> "DataFrame":
        """A table that says whose A and B are."""
        for side, of in (("a", self.a), ("b", self.b)):
            table.attrs |= {f"{side}_{name}": it for name, it in of.attributes().items()}
        return table

    def plot(self, figure: BothFigure = "", **options: Any) -> Drawing:
        """A number of both, as the page Trajectories draws a model and its twin.

        Args:
            figure: "line-shape-by-depth", "norms", "growth", "steps" or "entropy": the median over
                the tokens, by depth. Of the same tokens also "line-shape", "expodistance" or
                "equidistance" of each. "paths" or "paths-3d": those of B in the components of A;
                "paths-apart": side by side, each in its own. "" is "line-shape", and of other
                tokens "norms".
            options: of the figure by name: `token`, which of A's is in ink, and of paths `fit`,
                `part` and `first`, as `project_paths` has them.

        Raises:
            InputError: on another name or option, on a number of each token where A and B have
                others, and on paths of states of another width.
        """
        name = figure or ("line-shape" if self.same_tokens else "norms")
        if name in BY_TOKEN and not self.same_tokens:
            raise InputError(
                f"A and B have other tokens, and {name!r} has a place for each token of one "
                f"prompt: choose one by depth, {', '.join(BY_DEPTH)}; by_token() has the numbers"
            )
        known_figure(name, BY_TOKEN + BY_DEPTH + IN_SPACE)
        of_paths = [one.name for one in fields(PathView)] if name in IN_SPACE else []
        seen = {one: options.pop(one) for one in of_paths if one in options}
        view = replace(self.a.default_view(), **seen)
        views = self.a.part("views")
        if name == "paths-apart":
            apart: Drawing = views.apart(self.a, self.b, view, **options)
            return apart
        drawn: Drawing = views.plot(self.a, view, name, twin=self.b, **options)
        return drawn

    @property
    def verdict(self) -> str:
        """The means of both, and at how many tokens they differ which way."""
        rows = self.to_pandas().set_index("number")
        every = len(self.a.tokens)
        told = {name: _words(rows.loc[name], every) for name in rows.index}
        sides, n = told_sides(self.a, self.b), counted(every, "token")
        n += "" if self.same_tokens else f" of A and {len(self.b.tokens)} of B"
        apart = "" if self.same_tokens else " The tokens are others, and not compared one by one."
        return (
            f"A is {sides[0]}; B is {sides[1]}. On average over {n}, the line-shape "
            f"score, 1 of a straight path, is {told['line_shape']}; the norm's growth a "
            f"block, as a logarithm, {told['growth']}; the expodistance, "
            f"0 of even growth, {told['expodistance']}; the equidistance, 0 of "
            f"steps of one length, {told['equidistance']}.{apart}{self._normed()}"
        )

    def _normed(self) -> str:
        """That the last step is of the final norm too, which rescales every state."""
        words = self.a.final_norm_words, self.b.final_norm_words
        with_norm = [side for side, told in zip("AB", words, strict=True) if "included" in told]
        if not with_norm:
            return ""
        alone = f" of {with_norm[0]} alone" * (words[0] != words[1])
        apart = " The two are not alike in this: measure both with, or both without it."
        return (
            f" The last step{alone} has the final norm in it, which rescales every state: how "
            "straight the paths are, how the norm grows, and how evenly, can be another matter "
            f"with final_norm='exclude'.{apart * bool(alone)}"
        )

    def __repr__(self) -> str:
        a, b = (rounded(trajectory.mean(of.line_shape)) for of in (self.a, self.b))
        sides = told_sides(self.a, self.b)
        return (
            f"PathComparison(A: {sides[0]}, B: {sides[1]}, mean line shape A "
            f"{a}, B {b}, {len(self.a.tokens)} and {len(self.b.tokens)} tokens)"
        )


def _numbers(of: TrajectoryResult) -> dict[str, Float[np.ndarray, " token"]]:
    """What is known of each token's path; NaN where it is not defined."""
    return {
        "line_shape": of.line_shape,
        "growth": of.growth.mean(0),
        "expodistance": of.expodistance,
        "equidistance": of.equidistance,
    }


def _words(row: Any, every: int) -> str:
    """The means of a number.

    Args:
        row: of the table.
        every: how many tokens A has.
    """
    if row.tokens == 0:
        return "not to be compared (no token has a finite one in both)"
    told = f"{_mean_told(row.a)} in A and {_mean_told(row.b)} in B"
    if np.isnan(row.a_above):
        return told
    if row.difference == row.a_above == 0:
        return f"{told} (the same at each of {counted(int(row.tokens), 'token')})"
    others = every - int(row.tokens)
    rest = "the other has" if others == 1 else f"the {others} others have"
    only = f"; {rest} none in both" * (others > 0)
    return f"{told} (more in A at {row.a_above:.0f} of {row.tokens:.0f} tokens{only})"


def _mean_told(mean: float) -> str:
    return "of no token" if np.isnan(mean) else rounded(float(mean))
