"""What a shell completes beside options: models, training runs, keys of stored results.

Typer keeps those that begin so; where nothing is offered, the shell offers its files. Nothing is
asked of the hub, and no model is looked into.
"""

from contextlib import suppress

from coupling_core.base.errors import CouplingError
from coupling_core.sources import hub
from coupling_core.sources.aliases import ALIASES
from coupling_core.sources.suites import suites
from coupling_core.store.disk import Store


def models() -> list[str]:
    """The aliases, the training runs' models, and those of the hub's cache."""
    found = [*ALIASES]
    with suppress(CouplingError, OSError):
        found += [suite.repo for suite in suites().values() if suite.is_own]
        cached = sorted(place.name for place in hub.cache.root().glob("models--*"))
        found += [name.removeprefix("models--").replace("--", "/", 1) for name in cached]
    return found


def runs() -> list[str]:
    """The names of the training runs."""
    with suppress(CouplingError, OSError):
        return list(suites())
    return []


def keys() -> list[str]:
    """The keys of the usual store's results."""
    with suppress(CouplingError, OSError):
        return list(Store().keys())
    return []
