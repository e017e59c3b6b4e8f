"""What is made of stored results, made once: figures above all, which cost more than all else.

Every click runs a page anew, for every visitor, and most of what it draws is what it drew before.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, TypeVar

from coupling_core.base.results import Result
from coupling_core.store.archive import seal

MOST = 200
"""How much is kept, the last looked at: a figure is some hundred kilobytes."""

T = TypeVar("T")

_kept: OrderedDict[Hashable, Any] = OrderedDict()
_lock = Lock()


def kept(make: Callable[..., T], *args: Any, of: object = None, **options: Any) -> T:
    """What a function makes of its arguments, which nobody may change; made once for the same.

    Args:
        make: the function; nothing but its arguments may determine what it makes.
        *args: stored results, mappings of them, and whatever can be hashed. What is none of them
            has it made each time, unless `of` is given.
        of: what determines the arguments that cannot be hashed: results, and what can be.
        **options: further arguments.
    """
    try:
        key = tuple(_name(one, of) for one in (make, *args, tuple(options.items())))
        key = (*key, _name(of, None))
    except LookupError:
        return make(*args, **options)
    with _lock:
        if key in _kept:
            _kept.move_to_end(key)
            return _kept[key]  # type: ignore[no-any-return]
    made = make(*args, **options)
    with _lock:
        _kept[key] = made
        while len(_kept) > MOST:
            _kept.popitem(last=False)
    return made


def _name(one: Any, of: object) -> Hashable:
    """What stands for an argument in a key, and holds no result in memory."""
    match one:
        case Result():
            if not (name := seal(one)):  # not all of it is measured, or it was never stored
                raise LookupError
            return name
        case dict():
            return tuple((name, _name(value, of)) for name, value in one.items())
        case tuple() if type(one) is tuple:
            return tuple(_name(value, of) for value in one)
    try:
        hash(one)
    except TypeError:
        if of is None:
            raise LookupError from None
        return type(one)
    return one  # type: ignore[no-any-return]
