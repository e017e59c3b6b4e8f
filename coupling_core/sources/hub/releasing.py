"""Taking weights off this disk again.

Only weights go. Config, tokenizer and the names of revisions are small and stay: by them stored
results are found and prompts are read.
"""

from pathlib import Path

from coupling_core.base.errors import ComputeError
from coupling_core.sources.hub import cache


def weights_here(repo: str) -> frozenset[Path]:
    """What there is of a repository's weights: files of snapshots, and all contents."""
    folder = cache.repository(repo)
    return frozenset([*_links(folder, "*"), *folder.glob("blobs/*")])


def weights_since(repo: str, commit: str, before: frozenset[Path]) -> list[Path]:
    """Weights of a commit that are here now and were not before."""
    return sorted(set(_links(cache.repository(repo), commit)) - before)


def remove_weights(repo: str, commit: str, before: frozenset[Path]) -> None:
    """Remove what `weights_since` gives; a content that was here, or that others share, stays."""
    folder = cache.repository(repo)
    try:
        for link in weights_since(repo, commit, before):
            content = _content(link)
            link.unlink()
            if content not in before and content not in map(_content, _links(folder, "*")):
                content.unlink(missing_ok=True)
    except OSError as error:
        raise ComputeError(
            f"{error.filename} cannot be deleted ({error.strerror}): the weights that were fetched "
            "for this measurement stay on the disk"
        ) from error


def _links(folder: Path, commit: str) -> list[Path]:
    return list(folder.glob(f"snapshots/{commit}/*.safetensors"))


def _content(link: Path) -> Path:
    """The blob that a snapshot's file stands for; the file itself where the disk has no links."""
    return link.parents[2] / "blobs" / link.readlink().name if link.is_symlink() else link
