"""A request with the model that it names, which is found once and carried from the door to the end.

To find a model is to look for its files, to hash them or to read which commit a branch stands for;
asked twice, the answers may differ.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from coupling_core.base.images import is_image
from coupling_core.base.records import Request
from coupling_core.sources.identity import Source, identity_of, locate
from coupling_core.sources.tokens import CHARACTERS, Tokens, patches, tokenize


@dataclass(frozen=True)
class Resolved:
    """What all that comes after a request needs.

    Args:
        request: what is asked for.
        identity: who the model is.
        source: where its files are; None of a module of somebody's own, which has none, and of a
            model that went away.
    """

    request: Request
    identity: Mapping[str, Any]
    source: Source | None

    @property
    def files(self) -> Source:
        """Where the model's files are."""
        return self.source or locate(self.request)

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """The model's config as its file has it; empty where none is on this disk yet."""
        return self.source.config if self.source else {}

    @cached_property
    def tokens(self) -> Tokens | None:
        """The prompt's tokens; None where they cannot be known yet, or the prompt is no text."""
        text = self.request.prompt
        return tokenize(text, self.source) if self.source and isinstance(text, str) else None

    @property
    def n_tokens(self) -> int:
        """How many the prompt has; a guess where they cannot be counted yet."""
        prompt = self.request.prompt
        if not isinstance(prompt, str):
            return len(prompt)
        if is_image(prompt):
            return patches(self.config)
        return len(self.tokens.ids) if self.tokens else len(prompt) // CHARACTERS + 1


def resolve(request: Request, source: Source | None = None) -> Resolved:
    """Find the model that a request names.

    The source is as `locate` found it for another request to the same model and revision.
    """
    source = source or locate(request)
    return Resolved(request, identity_of(source, request), source)
