"""Where this program keeps things on a disk."""

import os
from pathlib import Path

SHIPPED = Path(__file__).resolve().parent.parent / "cache"
"""What comes with a checkout: the gallery of results, the suites of checkpoints."""


def user_cache() -> Path:
    """Converted weights, remembered hashes, trained suites: COUPLING_HOME, or the user's cache."""
    if home := os.environ.get("COUPLING_HOME"):
        return Path(home)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "coupling-explorer"
