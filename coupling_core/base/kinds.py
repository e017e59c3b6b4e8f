"""Which kinds of results there are, and what is known of one before anything is measured.

A kind is a folder. This registry has the folders by name; their records are read when a request is
made, and the parts of a folder (`compose`, `cost`, `numbers`, `views`, ...) are imported when they
are needed. So no room imports a kind, and a stored result is read without torch.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal

from coupling_core.base.choosing import require_one_of

FOLDERS = (
    "coupling_core.kinds.depth",
    "coupling_core.kinds.tokens",
    "coupling_core.kinds.trajectory",
    "coupling_core.kinds.whatif",
    "coupling_core.kinds.spectrum",
    "coupling_core.kinds.perturbation",
    "coupling_core.kinds.directions",
)
"""The packages that have the kinds, each in its `KINDS`; this order is that of messages."""

PLAIN = "coupling_core.kinds.plain"
"""Has the command of kinds that have none of their own."""
DEFAULT_K_VIEW = 32


@dataclass(frozen=True)
class KindOfResult:
    """A kind of result.

    Args:
        name: what requests, links, sweeps and files call it.
        folder: the package that has its parts.
        result: the class of its results.
        view: how they are looked at, a class of which every field has a default.
        token: what becomes of the request's one token; empty where all tokens are taken.
        means: the class of its mean over all pairs of blocks, where a request may choose one pair;
            None where every block is measured in any case.
        k_view: largest side of the corner of each matrix that is kept, unless told.
    """

    name: str
    folder: str
    result: type[Any]
    view: type[Any]
    token: Literal["", "measured", "fixed"] = ""
    means: type[Any] | None = None
    k_view: int = DEFAULT_K_VIEW

    @property
    def command(self) -> str:
        """What its command is called: as its folder is."""
        return self.folder.rpartition(".")[2]

    @property
    def has_k(self) -> bool:
        """Whether singular triplets are counted and scored: the view is then `View`."""
        return hasattr(self.view, "definition")

    def part(self, name: str) -> Any:
        """A module of its folder, or where that has none the one that plain kinds share."""
        own = f"{self.folder}.{name}"
        return import_module(own if find_spec(own) else f"{PLAIN}.{name}")


def kinds() -> Mapping[str, KindOfResult]:
    """All of them by name."""
    return _of(FOLDERS)


def kind_of(name: str) -> KindOfResult:
    """The kind of this name; raises `InputError` where there is none."""
    require_one_of("the kind", name, kinds())
    return kinds()[name]


@cache
def _of(folders: tuple[str, ...]) -> Mapping[str, KindOfResult]:
    return {kind.name: kind for folder in folders for kind in import_module(folder).KINDS}
