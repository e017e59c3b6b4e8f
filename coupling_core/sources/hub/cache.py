"""What the local cache of the hub holds, read from its folders.

    models--<owner>--<name>/refs/<revision>             a file that holds a commit
    models--<owner>--<name>/snapshots/<commit>/<file>   a link to a blob, or the file itself
    models--<owner>--<name>/blobs/<etag>                the content

The hub's client is not imported for it, but for where the cache is: a stored answer starts faster.
"""

import contextlib
import json
import re
import tempfile
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from coupling_core.base.errors import ComputeError
from coupling_core.base.folders import SHIPPED, user_cache
from coupling_core.base.images import shown

CONFIG = "config.json"
SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"

OWNER = "coupling-explorer"
"""Owner of the suites that this project trains: laid out like the hub's, and never asked for
there."""

WATCHED = "watched.json"
"""Of a training run whose results were kept while it trained: what it is called."""

NAMED = 3
"""Up to so many prompts of such a run are named."""

_COMMIT = re.compile(r"[0-9a-f]{40}")
_TOKENIZER = ("tokenizer", "vocab", "spiece", "sentencepiece", "tekken")


def is_commit(revision: str) -> bool:
    """Whether a revision is a full commit hash, which stands for itself."""
    return bool(_COMMIT.fullmatch(revision))


def root() -> Path:
    """The cache's folder: HF_HUB_CACHE, or below HF_HOME."""
    from huggingface_hub import constants

    return Path(constants.HF_HUB_CACHE)


def repository(repo: str) -> Path:
    """The folder of a repository: below `root()`, but for the suites that are trained here."""
    if not is_own(repo):
        return root() / _name(repo)
    trained = trained_here(repo)
    return trained if trained.is_dir() else SHIPPED / "suites" / _name(repo)


def is_own(repo: str) -> bool:
    """Whether a repository is one of this project's own suites, which no hub has."""
    return repo.startswith(f"{OWNER}/")


def trained_here(repo: str) -> Path:
    """The folder of a suite that is trained on this machine, whether or not it is there."""
    return user_cache() / "suites" / _name(repo)


def is_watched(repo: str) -> bool:
    """Whether a repository of ours is a training run of somebody's own, by no recipe of ours."""
    return (repository(repo) / WATCHED).is_file()


def whence(repo: str) -> str:
    """How weights of an own suite that are not on this disk come there; a clause in words."""
    if is_watched(repo):
        with_ = " and ".join(map(probe_told, probes(repo)[:NAMED]))
        of = f"; it was watched with {with_}" * bool(with_)
        return f"its weights were not kept while it trained{of}"
    return f"`{made_by(repo)}` makes its weights, in a checkout of the program"


def made_by(repo: str) -> str:
    """The command that trains an own suite, or a run of vision transformers."""
    name = repo.partition("/")[2]
    study = "vision" if name.startswith("vit-") else f"pretraining {name}"
    return f"python -m studies.{study}"


def probes(repo: str) -> tuple[Any, ...]:
    """Prompts that a training run was watched with: texts, or token ids; none of another run."""
    listed = _watched_with(repo, "prompts")
    found = listed if isinstance(listed, list) else []
    return tuple(tuple(one) if isinstance(one, list) else one for one in found)


def probe_told(prompt: Any) -> str:
    """A prompt of a watched run in a message; an image in words, and not its content."""
    return repr(shown(prompt) if isinstance(prompt, str) else prompt)


def watched_k(repo: str) -> int:
    """The K that a training run was watched at; 0 of another run."""
    found = _watched_with(repo, "k")
    return found if isinstance(found, int) else 0


def _watched_with(repo: str, what: str) -> Any:
    """What is said of how a training run was watched; None where nothing is."""
    try:
        return json.loads((repository(repo) / WATCHED).read_text())[what]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def watched() -> list[Path]:
    """What says that a training run was watched here, in the folder of each."""
    return list((user_cache() / "suites").glob(f"{_name(f'{OWNER}/')}*/{WATCHED}"))


def snapshot(repo: str, commit: str) -> Path:
    """The folder of a commit's files, whether or not it is there."""
    return repository(repo) / "snapshots" / commit


def part(repo: str, etag: str) -> Path:
    """Where the content of a file is kept that has not wholly arrived."""
    return repository(repo) / "blobs" / f"{etag}.incomplete"


def here(repo: str, commit: str, name: str, etag: str, size: int) -> int:
    """How many bytes of a file are on this disk, of this commit or of another that shares it."""
    blob = repository(repo) / "blobs" / etag
    if (snapshot(repo, commit) / name).is_file() or (etag and blob.is_file()):
        return size
    half = part(repo, etag)
    return min(size, half.stat().st_size) if half.is_file() else 0


def refs(repo: str) -> dict[str, str]:
    """Commits by the names of the branches and tags that were used here."""
    folder = repository(repo) / "refs"
    found: dict[str, str] = {}
    with contextlib.suppress(PermissionError):  # another user laid the cache out
        for path in filter(Path.is_file, folder.rglob("*")):
            found[path.relative_to(folder).as_posix()] = _read(path)
    return {name: commit for name, commit in found.items() if is_commit(commit)}


def commits(repo: str) -> list[str]:
    """Commits whose config and weights are all here."""
    folder = repository(repo) / "snapshots"
    found: list[str] = []
    with contextlib.suppress(PermissionError):
        found = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    return [commit for commit in found if has_weights(snapshot(repo, commit))]


def names(repo: str) -> list[str]:
    """Revisions whose config and weights are all here; commits that have no name by themselves."""
    here, named = commits(repo), refs(repo)
    nameless = [commit for commit in here if commit not in named.values()]
    return sorted([name for name in named if named[name] in here] + nameless, key=order)


def order(name: str) -> tuple[bool, list[tuple[str, int]]]:
    """Sorts the branch main first, and step8 before step16."""
    return name != "main", [(text, int(n or 0)) for text, n in re.findall(r"(\D*)(\d*)", name)]


def size(repo: str) -> int:
    """Bytes that a repository takes on this disk."""
    files = (path for path in repository(repo).rglob("*") if not path.is_symlink())
    return sum(path.stat().st_size for path in files if path.is_file())


def has_weights(folder: Path) -> bool:
    """Whether a snapshot has its config and all of its weights."""
    if not (folder / CONFIG).is_file():
        return False
    names = {path.name for path in folder.iterdir()}
    try:
        wanted = weights(names, lambda: _read(folder / INDEX))
    except ComputeError:
        return False
    return bool(wanted) and all((folder / name).is_file() for name in wanted)


def has_tokenizer(folder: Path) -> bool:
    """Whether a snapshot has a file that only tokenizers have, and no link that leads nowhere."""
    files = list(folder.iterdir())
    named = any(path.name.startswith(_TOKENIZER) for path in files)
    return named and all(path.exists() for path in files)


def weights(names: Collection[str], read_index: Callable[[], str]) -> list[str]:
    """The safetensors that hold the model, of a repository that may hold it more than once.

    The index is read where the weights come in several files. There are none where the repository
    has no weights in safetensors.
    """
    if SINGLE in names:
        return [SINGLE]
    if INDEX not in names:
        return []
    try:
        listed = sorted({str(name) for name in json.loads(read_index())["weight_map"].values()})
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ComputeError(f"{INDEX} cannot be read: {error!r}") from error
    for name in listed:
        if name not in names or not name.endswith(".safetensors"):
            raise ComputeError(
                f"{INDEX} names {name!r}, which is no safetensors file of the same folder"
            )
    return listed


def remember(repo: str, revision: str | None, commit: str) -> None:
    """Note a branch's or tag's commit, once its files are here, so that it is found offline."""
    name = revision or "main"
    if is_commit(name) or refs(repo).get(name) == commit:
        return
    path = repository(repo) / "refs" / name
    # A cache that cannot be written to still has the files.
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=repository(repo)) as folder:
            (Path(folder) / "ref").write_text(commit)
            (Path(folder) / "ref").replace(path)


def _name(repo: str) -> str:
    return f"models--{repo.replace('/', '--')}"


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return ""
