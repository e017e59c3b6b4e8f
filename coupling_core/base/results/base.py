"""What every stored result has, whatever was measured."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Int

from coupling_core.base.records import Certificate, Request


@dataclass(frozen=True)
class Sizes:
    """How large a result is, known without reading its arrays.

    Args:
        n_blocks: L, the number of blocks.
        k_max: singular triplets stored; 0 where there are none.
        k_view: side of the stored corner of each matrix; 0 where there are none.
    """

    n_blocks: int
    k_max: int = 0
    k_view: int = 0


@dataclass(frozen=True, kw_only=True)
class Result(ABC):
    """A measurement of one prompt.

    NumPy arrays are stored as tensors, and every other field in the JSON header.

    Args:
        key: the store key.
        request: what was asked.
        identity: who the model is (alias and hash, commit, ...), JSON-able.
        tokens: token texts.
        token_ids: token ids.
        width: d, width of the residual stream.
        provenance: library versions, device, seconds, ...; never part of the key.
    """

    finite: ClassVar[tuple[str, ...]] = ()
    """Arrays whose every number is finite."""
    infinite: ClassVar[tuple[str, ...]] = ()
    """Arrays that may hold infinity; of all others, a number is at worst NaN."""

    key: str
    request: Request
    identity: Mapping[str, Any]
    tokens: tuple[str, ...]
    token_ids: Int[np.ndarray, " token"]
    width: int
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    @abstractmethod
    def sizes_of(cls, fields: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]) -> Sizes:
        """How large a result is, from its fields that are no arrays and the shapes of its arrays.

        Both are in a file's header, so that a list of results reads no arrays.
        """

    @property
    @abstractmethod
    def complete(self) -> bool:
        """Whether nothing is left to be measured."""

    @property
    @abstractmethod
    def measured(self) -> str:
        """What of the prompt was measured, as a phrase that follows the model's name."""

    @classmethod
    def typed(cls, header: dict[str, Any]) -> dict[str, Any]:
        """Give the lists and mappings of a JSON header their types back."""
        return header | {"tokens": tuple(header["tokens"])}

    @classmethod
    def each_certificate(cls, fields: Mapping[str, Any]) -> Iterator[Certificate]:
        """The certificates among the fields of a header; none where nothing is decomposed."""
        yield from ()

    @property
    def named_axes(self) -> Mapping[str, tuple[str, ...]]:
        """The names along those axes of its arrays that have some."""
        return {}

    @property
    def is_doubtful(self) -> bool:
        """Whether a number of it may be wrong, as we know today, so that it is measured again."""
        return False

    def consistency(self) -> Mapping[str, bool]:
        """What a result of its kind can contradict itself in, as sentences; whether it does not."""
        return {}

    @property
    def sizes(self) -> Sizes:
        """How large it is."""
        arrays = {n: value for n, value in vars(self).items() if isinstance(value, np.ndarray)}
        return self.sizes_of(vars(self), {name: value.shape for name, value in arrays.items()})

    @property
    def svds(self) -> tuple[Certificate, ...]:
        """The certificate of every SVD."""
        return tuple(self.each_certificate(vars(self)))

    @property
    def certified(self) -> bool:
        """Whether every SVD passed its certificate."""
        return all(certificate.certified for certificate in self.svds)

    @property
    def n_blocks(self) -> int:
        """L, the number of blocks."""
        return self.sizes.n_blocks

    @property
    def k_max(self) -> int:
        """How many triplets are stored."""
        return self.sizes.k_max

    @property
    def k_view(self) -> int:
        """Side of the stored corner of each matrix."""
        return self.sizes.k_view

    @property
    def model_name(self) -> str:
        """What to call the model, with the seed of an untrained twin."""
        name = str(self.identity.get("name", self.request.model))
        seed = self.request.untrained
        return name if seed is None else f"{name}, untrained (seed {seed})"

    @property
    def prompt_text(self) -> str:
        """The prompt as it was given; its tokens' texts where it came as token ids.

        An image in words.
        """
        asked = self.request
        return asked.prompt_words if isinstance(asked.prompt, str) else "".join(self.tokens)

    @property
    def final_norm_words(self) -> str:
        """Whether a final norm belongs to the last block, or that this model has none."""
        if not self.provenance.get("final_norm", True):
            return "no final norm"
        return f"final norm {self.request.final_norm}d"

    def token_words(self, token: int) -> str:
        """Which token (1..n) that is: its number, and its text."""
        return f"{token} of {len(self.tokens)}, {self.tokens[token - 1]!r}"


def within(values: np.ndarray, least: int, most: int) -> bool:
    """Whether all of them lie in least..most."""
    return bool(((values >= least) & (values <= most)).all())
