"""The three scores of pairs of blocks, or of tokens, as numbers of a kind."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from coupling_core.base.numbers import Column, Number, Seen
from coupling_core.base.records import PAIRED, ROLES, Role
from coupling_core.base.results.scores import MEASURES


def of_scores(dims: tuple[str, ...], pairs: str) -> Iterable[Number]:
    """Each score over its pairs, and its mean, from the scores that the kind's `derive` gives."""

    def array(name: str) -> Callable[[Seen], Any]:
        return lambda seen: getattr(seen.derived, name)

    def mean(name: str) -> Callable[[Seen], Any]:
        return lambda seen: getattr(seen.derived.mean(), name)

    columns = {
        "coupling": Column(
            "Mean score c",
            ideal="chance",
            most=1.0,
            scored=True,
            by_step=True,
            reading=f"Mean over {pairs} at each checkpoint. Only what lies above the chance floor "
            "(dashed), which moves with the singular values, is coupling.",
        ),
        "chance": Column("Mean chance floor", scored=True, by_step=True),
        "corrected": Column(
            "Mean chance-corrected score",
            ideal=0.0,
            most=1.0,
            scored=True,
            by_step=True,
            reading=f"Mean over {pairs} at each checkpoint: 0 is what an unrelated basis gives, 1 "
            "is coupled.",
        ),
    }
    for name, told in MEASURES.items():
        yield Number(name, told, dims, array(name))
        yield Number(
            name,
            f"mean over {pairs} of {told}",
            (),
            mean(name),
            in_files=False,
            column=columns[name],
        )


def beside(pairs: str, where: Callable[[Seen], bool] = lambda _: True) -> Iterable[Number]:
    """What coupling is made of: means that are of no definition, at the same K and role.

    All but alignment need the matrices of single pairs, and so are only `where` these are.
    """

    def mean(of: str, **how: Any) -> Callable[[Seen], float]:
        def found(seen: Seen) -> float:
            view = replace(seen.view, **how)
            return float(getattr(seen.derive(seen.result, view).mean(), of))

        return found

    def number(name: str, what: str, of: Callable[[Seen], float], **told: Any) -> Number:
        there = told.pop("where", where)
        column = Column(by_step=True, **told)
        what = f"mean over {pairs} of {what}"
        return Number(name, what, (), of, there, in_files=False, column=column)

    at_steps = f"over {pairs} at each checkpoint, at the same K"
    yield number(
        "alignment",
        "tr A over the sum of the singular values",
        mean("coupling", definition="alignment"),
        where=lambda _: True,
        title="Mean alignment",
        ideal=0.0,
        reading=f"Mean of tr A over the sum of the singular values, {at_steps}: 0 by chance, 1 is "
        "coupled.",
    )
    yield number(
        "paired",
        "the paper's score, corrected by that of bases rotated within their subspaces",
        mean("corrected", **PAIRED),
        title="Mean paired score",
        ideal=0.0,
        most=1.0,
        reading=f"Mean of the score corrected by that of bases rotated within their subspaces, "
        f"{at_steps}: 0 where the subspaces may be shared and their vectors are not, 1 is coupled.",
    )
    yield number(
        "overlap",
        "norm(A)^2 over norm(s)^2",
        mean("coupling", definition="overlap"),
        title="Mean overlap",
        ideal="overlap_chance",
        most=1.0,
        reading=f"Mean of norm(A)^2 over norm(s)^2, {at_steps}: 1 where the bases span the same "
        "subspaces, whichever their vectors are. Dashed: random bases.",
    )
    yield number(
        "overlap_chance",
        "the overlap of random bases",
        mean("chance", definition="overlap"),
        title="Mean overlap of random bases",
    )


def corners(
    dims: tuple[str, ...],
    of: Callable[[Seen, np.ndarray], np.ndarray],
    where: Callable[[Seen], bool] = lambda _: True,
) -> Iterable[Number]:
    """The corners of the matrices A and B, of which a view has one."""

    def corner(role: Role) -> Number:
        def cut(seen: Seen) -> np.ndarray:
            kept = seen.result.matrices[ROLES.index(role)]
            side = min(seen.view.k, seen.result.k_view, seen.k_view or seen.result.k_view)
            return of(seen, kept[..., :side, :side].astype(np.float32))

        return Number(
            role,
            f"corner of the matrices {role}, in units of the Jacobian",
            (*dims, "u", "v"),
            cut,
            where=lambda seen: seen.view.role == role and where(seen),
        )

    return map(corner, ROLES)


OF_VIEW = {
    "k_max": "how many triplets are stored",
    "k_view": "side of the stored corner of each matrix",
    "k": "K at which it is looked at",
    "definition": "of the score",
    "p": "of the score",
    "role": "A or B",
    "level": "the chance level: frames or rotations",
}
"""What the JSON says of how scores are looked at."""
