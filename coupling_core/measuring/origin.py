"""What only this process knows of a result: with which K it was asked for, and of which module."""

from collections.abc import Callable
from copy import copy
from typing import Any, TypeVar
from weakref import ref

from coupling_core.base.results import Result

AnyResult = TypeVar("AnyResult", bound=Result)


class Origin:
    """The module of somebody's own that a result was measured of, as long as it lives."""

    def __init__(self, module: Any, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        try:
            self._module: Callable[[], Any] = ref(module)
        except TypeError:  # of some class that nothing may refer to so; it is then handed over
            self._module = lambda: None

    @property
    def module(self) -> Any:
        """The module; None where it is gone."""
        return self._module()

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        return type(None), ()  # a copy in another process knows none


def seen_at(result: AnyResult, k: int | None, origin: Origin | None = None) -> AnyResult:
    """The same result, looked at with this K where nobody says another; no file says it.

    To whoever asked for another K, the same numbers are stored.
    """
    asked_k = k if k is not None and k <= result.k_max else None
    if asked_k is None and origin is None:
        return result
    found = copy(result)
    vars(found).update(_asked_k=asked_k or found._asked_k, _origin=origin or found._origin)
    return found
