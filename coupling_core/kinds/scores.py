"""The three scores of pairs of blocks, or of tokens, as numbers of a kind."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from coupling_core.base.numbers import Column, Number, Seen
from coupling_core.base.records import ROLES, Role
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
}
"""What the JSON says of how scores are looked at."""
