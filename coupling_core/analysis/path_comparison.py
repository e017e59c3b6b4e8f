"""Two results of paths side by side: how straight and how even the paths of each are."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from coupling_core.analysis.alignment import attributes_of_both, side_names
from coupling_core.base.curves import Curves
from coupling_core.base.drawing import (
    Drawing,
    Figure,
    drawing,
    figures_of,
    known_figure,
    plot,
)
from coupling_core.base.figure_names import TrajectoryFigure
from coupling_core.base.notebook import Plottable, Table, in_a_line, table_of
from coupling_core.base.numbers import columns, in_rows, mean
from coupling_core.base.results import TrajectoryResult
from coupling_core.base.units import counted, rounded
from coupling_core.base.wording import paragraph

if TYPE_CHECKING:  # half a second to import, and only tables need it
    from pandas import DataFrame


APART = "paths-apart"
"""Paths side by side, a figure of two results alone."""


def figures_of_both() -> dict[str, Figure]:
    """The figures of one result that two have together too."""
    every = figures_of("trajectory").items()
    return {name: figure for name, figure in every if name != "linearised"}


@dataclass(frozen=True, repr=False)
class PathComparison(Plottable[TrajectoryFigure | Literal["paths-apart"]]):
    """The paths of tokens in two results, by what is known of each token's.

    Its table has a row a number: `number`, of each token's path, named as in the table of a
    trajectory; `a`, `b` and their `difference`, means over the `tokens` at which both have a finite
    number; and `a_above`, at how many of these A has more. Where the two have other tokens, `a` and
    `b` are each over those of its own that have one, and the counts are NaN.

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

    @property
    def _numbers(self) -> dict[str, str]:
        """What is known of each token's path, NaN where it is not defined, in words."""
        every = in_rows(self.a, "token")
        return {one.name: one.title[0].lower() + one.title[1:] for one in every if one.title}

    @cached_property
    def _both(self) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """These numbers of A and of B."""
        a, b = (columns(of, of.default_view(), "token") for of in (self.a, self.b))
        return a, b

    def _row(self, name: str) -> dict[str, Any]:
        """The means of a number over the tokens that have it."""
        a, b = (of[name] for of in self._both)
        counts = {"a_above": np.nan, "tokens": np.nan}
        if self.same_tokens:
            both = np.isfinite(a) & np.isfinite(b)
            a, b = a[both], b[both]
            counts = {"a_above": int((a > b).sum()), "tokens": len(a)}
        means = {"a": mean(a), "b": mean(b)}
        return {"number": name, **means, "difference": means["a"] - means["b"], **counts}

    def _table(self) -> Table:
        return [self._row(name) for name in self._numbers], attributes_of_both(self.a, self.b)

    def by_token(self) -> "DataFrame":
        """The same numbers of each place in the prompts that both have, whatever stands there.

        Of two prompts in one causal model, the tokens before the first that differs have the same
        paths.

        Returns:
            a row a number and place: `number`, `token` (1..n, of the shorter prompt), the texts
            there, `a_text` and `b_text`, `a`, `b` and their `difference`; NaN where a number is not
            defined.
        """
        n, names = min(len(self.a.tokens), len(self.b.tokens)), list(self._numbers)
        a, b = (np.concatenate([of[name][:n] for name in names]) for of in self._both)
        times = len(names)
        columns = {
            "number": np.repeat(names, n),
            "token": np.tile(np.arange(1, n + 1), times),
            "a_text": self.a.tokens[:n] * times,
            "b_text": self.b.tokens[:n] * times,
            **{"a": a, "b": b, "difference": a - b},
        }
        return table_of(columns, attributes_of_both(self.a, self.b))

    def plot(
        self, figure: TrajectoryFigure | Literal["paths-apart"] = "", **options: Any
    ) -> Drawing:
        """A number of both, as the page Trajectories draws a model and its twin.

        Args:
            figure: one of a trajectory, but `linearised`: a number by depth, as the median over the
                tokens; of the same tokens also one of each token; "paths" or "paths-3d", those of B
                in the components of A; and "paths-apart", side by side, each in its own. "" is the
                first that the two can have.
            options: of the figure by name: `token`, which of A's is in ink, and of paths `fit`,
                `part` and `first`, as `project_paths` has them.

        Raises:
            InputError: on another name or option, on a number of each token where A and B have
                others, and on paths of states of another width.
        """
        able = {
            name: one.draws
            for name, one in figures_of_both().items()
            if self.same_tokens or getattr(one.draws, "x", "") != "token"
        }
        first = next(name for name, draws in able.items() if isinstance(draws, Curves))
        name = known_figure(figure or first, (*able, APART))
        seen = {one: options.pop(one) for one in ("fit", "part", "first") if one in options}
        view = replace(self.a.default_view(), **seen)
        if name == APART:
            both = self.a, self.b, view
            return drawing("paths.paths_apart", *both, result=self.a, view=view, **options)
        return plot(self.a, view, name, twin=self.b, **options)

    @property
    def verdict(self) -> str:
        """The means of both, and at how many tokens they differ which way."""
        (a, b), every = side_names(self.a, self.b), len(self.a.tokens)
        tokens = counted(every, "token")
        tokens += "" if self.same_tokens else f" of A and {len(self.b.tokens)} of B"
        means = "; ".join(
            f"the {words} is {_in_words(self._row(name), every)}"
            for name, words in self._numbers.items()
        )
        normed = [side for side, of in (("A", self.a), ("B", self.b)) if of.ends_in_norm]
        alone, both = (f" of {normed[0]} alone", ", as both should be") if normed else ("", "")
        return paragraph(
            f"A is {a}; B is {b}. On average over {tokens}, {means}.",
            (not self.same_tokens, "The tokens are others, and not compared one by one."),
            (
                normed,
                f"The last step{alone * (len(normed) == 1)} has the final norm in it, which "
                "rescales every state and moves all of these: final_norm='exclude' measures "
                f"without it{both * (len(normed) == 1)}.",
            ),
        )

    def __repr__(self) -> str:
        (a_name, b_name), name = side_names(self.a, self.b), next(iter(self._numbers))
        a, b = (rounded(mean(of[name])) for of in self._both)
        return in_a_line(
            self,
            f"A: {a_name}, B: {b_name}, mean {name.replace('_', ' ')} A {a}, B {b}",
            f"{len(self.a.tokens)} and {len(self.b.tokens)} tokens",
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
