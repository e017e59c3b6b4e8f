"""The kinds of results, as the app takes them on."""

from collections.abc import Mapping
from dataclasses import dataclass

from coupling_core.base.records import Kind


@dataclass(frozen=True)
class KindOfResult:
    """What a measurement of one kind asks for.

    Args:
        grows: with which power of the prompt's length the seconds grow.
        token: what becomes of its one token; empty where all tokens are measured.
        has_k: whether singular triplets are counted.
    """

    grows: int
    token: str = ""
    has_k: bool = True


KINDS: Mapping[Kind, KindOfResult] = {
    "depth": KindOfResult(grows=0, token="measured"),
    "self": KindOfResult(grows=1),
    "fixed-input": KindOfResult(grows=1, token="fixed"),
    "fixed-output": KindOfResult(grows=1, token="fixed"),
    "trajectory": KindOfResult(grows=1, has_k=False),
}
