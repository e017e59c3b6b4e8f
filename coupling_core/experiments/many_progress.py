"""How far measure_many is: a bar where somebody watches, and now and then a line elsewhere."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from coupling_core.base.bars import Bar, is_watched
from coupling_core.base.pace import Pace


@contextmanager
def telling(
    total: int, *, shown: bool, of: str = "prompt", starts_slowly: bool = False
) -> Iterator[Callable[..., None]]:
    """Tell on stderr how far it is.

    Args:
        total: how many there are to do.
        shown: False tells nothing.
        of: what one of them is called.
        starts_slowly: as `Pace` has it.

    Yields:
        what is called with what is being measured, and whether one more is done (1 by default).
    """
    pace, ended = Pace(total, of=of, starts_slowly=starts_slowly), 0
    bar = Bar(stays=True) if shown and is_watched() else None

    def advance(what: str, done: int = 1) -> None:
        nonlocal ended
        ended += done
        if bar is not None:
            bar.show(ended, total, what)
        if done:
            pace.step()
        if shown and bar is None and (line := pace.line()):
            sys.stderr.write(f"{line}\n")

    try:
        yield advance
        if bar is not None:
            bar.show(ended, total, "")
    except KeyboardInterrupt:
        stopped = f"stopped: {ended} of {total}, the same call goes on where results are stored"
        raise KeyboardInterrupt(stopped) from None
    finally:
        if bar is not None:
            bar.end()
