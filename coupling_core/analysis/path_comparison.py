"""Two results of paths side by side: how straight and how even the paths of each are."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from jaxtyping import Float

from coupling_core.analysis.alignment import attributes_of_both, refuse, sentences, side_names
from coupling_core.base.drawing import Drawing, known_figure
from coupling_core.base.notebook import Plottable
from coupling_core.base.numbers import mean
from coupling_core.base.records import PathView
from coupling_core.base.results import TrajectoryResult
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

_NUMBERS: Mapping[str, tuple[str, Callable[[TrajectoryResult], Float[np.ndarray, " token"]]]] = {
    "line_shape": ("line-shape score (1 of a straight path)", lambda of: of.line_shape),
    "growth": ("norm's growth a block, as a logarithm,", lambda of: of.growth.mean(0)),
    "expodistance": ("expodistance (0 of even growth)", lambda of: of.expodistance),
    "equidistance": ("equidistance (0 of steps of one length)", lambda of: of.equidistance),
}
"""What is known of each token's path, NaN where it is not defined: in words, and the number."""


@dataclass(frozen=True, repr=False)
class PathComparison(Plottable):
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

    def columns(self) -> dict[str, Sequence[Any]]:
        """The columns of `to_pandas`."""
        rows = [self._row(name) for name in _NUMBERS]
        return {name: [row[name] for row in rows] for name in rows[0]}

    def _row(self, name: str) -> dict[str, Any]:
        """The means of a number over the tokens that have it."""
        a, b = (_NUMBERS[name][1](of) for of in (self.a, self.b))
        counts = {"a_above": np.nan, "tokens": np.nan}
        if self.same_tokens:
            both = np.isfinite(a) & np.isfinite(b)
            a, b = a[both], b[both]
            counts = {"a_above": int((a > b).sum()), "tokens": len(a)}
        means = {"a": mean(a), "b": mean(b)}
        return {"number": name, **means, "difference": means["a"] - means["b"], **counts}

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
        return self._table(self.columns())

    def by_token(self) -> "DataFrame":
        """The same numbers of each place in the prompts that both have, whatever stands there.

        Of two prompts in one causal model, the tokens before the first that differs have the same
        paths.

        Returns:
            a row a number and place: `number`, `token` (1..n, of the shorter prompt), the texts
            there, `a_text` and `b_text`, `a`, `b` and their `difference`; NaN where a number is not
            defined.
        """
        n, times = min(len(self.a.tokens), len(self.b.tokens)), len(_NUMBERS)
        a, b = (
            np.concatenate([number(of)[:n] for _, number in _NUMBERS.values()])
            for of in (self.a, self.b)
        )
        return self._table(
            {
                "number": np.repeat(list(_NUMBERS), n),
                "token": np.tile(np.arange(1, n + 1), times),
                "a_text": self.a.tokens[:n] * times,
                "b_text": self.b.tokens[:n] * times,
                **{"a": a, "b": b, "difference": a - b},
            }
        )

    def _table(self, columns: Mapping[str, Any]) -> "DataFrame":
        """A table that says whose A and B are."""
        from pandas import DataFrame

        table = DataFrame(columns)
        table.attrs.update(attributes_of_both(self.a, self.b))
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
        refuse(
            (
                name in BY_TOKEN and not self.same_tokens,
                f"A and B have other tokens, and {name!r} has a place for each token of one "
                f"prompt: choose one by depth, {', '.join(BY_DEPTH)}; by_token() has the numbers",
            )
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
        (a, b), every = side_names(self.a, self.b), len(self.a.tokens)
        tokens = counted(every, "token")
        tokens += "" if self.same_tokens else f" of A and {len(self.b.tokens)} of B"
        means = "; ".join(
            f"the {words} is {_in_words(self._row(name), every)}"
            for name, (words, _) in _NUMBERS.items()
        )
        more = sentences(
            (not self.same_tokens, "The tokens are others, and not compared one by one."),
            (self._normed(), self._normed()),
        )
        return " ".join([f"A is {a}; B is {b}. On average over {tokens}, {means}.", *more])

    def _normed(self) -> str:
        """That the last step is of the final norm too, which rescales every state."""
        sides = [name for name, of in (("A", self.a), ("B", self.b)) if of.ends_in_norm]
        if not sides:
            return ""
        alone = f" of {sides[0]} alone" * (self.a.final_norm_words != self.b.final_norm_words)
        return (
            f"The last step{alone} has the final norm in it, which rescales every state and moves "
            "all of these: final_norm='exclude' measures without it"
            + (", as both should be." if alone else ".")
        )

    def __repr__(self) -> str:
        a, b = (rounded(mean(of.line_shape)) for of in (self.a, self.b))
        names = side_names(self.a, self.b)
        return (
            f"PathComparison(A: {names[0]}, B: {names[1]}, mean line shape A "
            f"{a}, B {b}, {len(self.a.tokens)} and {len(self.b.tokens)} tokens)"
        )


def _in_words(row: Mapping[str, Any], every: int) -> str:
    """The means of a number, where A has `every` tokens."""
    if row["tokens"] == 0:
        return "not to be compared (no token has a finite one in both)"
    a, b = ("of no token" if row[x] != row[x] else rounded(row[x]) for x in ("a", "b"))
    means = f"{a} in A and {b} in B"
    if row["a_above"] != row["a_above"]:  # other tokens
        return means
    without = every - row["tokens"]
    lack = f"; {without} without a finite one in both" * (without > 0)
    return f"{means} (more in A at {row['a_above']} of {row['tokens']} tokens{lack})"
