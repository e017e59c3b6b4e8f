"""What a shell completes beside options: models, training runs, keys of stored results.

Where nothing is offered, the shell offers its files. Nothing is asked of the hub, and no model is
looked into.
"""

from contextlib import suppress

from coupling_core.base.errors import CouplingError


def models(incomplete: str) -> list[str]:
    """The aliases and the training runs' models that begin so, and those of the hub's cache."""
    from coupling_core.sources import hub
    from coupling_core.sources.identity import ALIASES
    from coupling_core.sources.suites import suites

    found = [*ALIASES]
    with suppress(CouplingError, OSError):
        found += [suite.repo for suite in suites().values() if suite.is_own]
        cached = (place.name for place in hub.cache.root().glob("models--*--*"))
        found += [name.removeprefix("models--").replace("--", "/", 1) for name in cached]
    return _beginning(found, incomplete)


def runs(incomplete: str) -> list[str]:
    """The names of the training runs that begin so."""
    from coupling_core.sources.suites import suites

    with suppress(CouplingError, OSError):
        return _beginning(list(suites()), incomplete)
    return []


def keys(incomplete: str) -> list[str]:
    """The keys of the usual store's results that begin so."""
    from coupling_core.store.disk import Store

    with suppress(CouplingError, OSError):
        return _beginning(list(Store().keys()), incomplete)
    return []


def _beginning(names: list[str], incomplete: str) -> list[str]:
    return sorted({name for name in names if name.startswith(incomplete)})
