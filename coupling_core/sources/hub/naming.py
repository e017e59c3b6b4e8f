"""From a branch or tag to its commit, and which branches and tags there are."""

import time
from dataclasses import dataclass

from coupling_core.base.errors import ComputeError
from coupling_core.sources.hub import cache
from coupling_core.sources.hub.asking import TIMEOUT, asking, no_revision, not_made

REMEMBERED = 15.0
"""Seconds for which the hub's answer stands: a page asks several times as it is drawn."""

_asked: dict[tuple[str, str | None], tuple[float, str, str]] = {}  # until, commit, refusal


@dataclass(frozen=True)
class Revision:
    """A branch, a tag, or a commit that no name here leads to.

    Args:
        name: of the branch or tag, or the commit itself.
        commit: what it stands for: by the cache where that knows it, else by the hub.
        cached: whether config and weights of that commit are on this disk.
        upstream: its commit on the hub, another one where the branch has moved on; empty where the
            hub was out of reach or does not list it.
    """

    name: str
    commit: str
    cached: bool
    upstream: str = ""


def commit(repo: str, revision: str | None) -> str:
    """The commit of a revision: from the local cache, which works offline, else from the hub.

    A branch that the cache knows stays at the commit that was downloaded, so that a result does not
    change under one's hands; a full commit hash stands for itself. A revision of None is the branch
    main.
    """
    if revision and cache.is_commit(revision):
        return revision
    if found := cache.refs(repo).get(revision or "main"):
        return found
    if cache.is_own(repo):
        names = cache.refs(repo)
        raise no_revision(repo, revision, names) if names else not_made(repo, revision or "main")
    until, found, refusal = _asked.get((repo, revision), (0.0, "", ""))
    if time.monotonic() > until:
        found, refusal = _ask(repo, revision)
        _asked[repo, revision] = (time.monotonic() + REMEMBERED, found, refusal)
    if refusal:
        raise ComputeError(refusal)
    return found


def revisions(repo: str) -> list[Revision]:
    """The revisions of a repository: those of the cache, and the hub's where it is in reach."""
    here, local = cache.commits(repo), cache.refs(repo)
    try:
        remote = {} if cache.is_own(repo) else _listed(repo)
    except ComputeError:
        if not here:
            raise
        remote = {}
    named = remote | local
    nameless = {commit: commit for commit in here if commit not in named.values()}
    return [
        Revision(name, commit, commit in here, remote.get(name, ""))
        for name, commit in sorted(
            (named | nameless).items(), key=lambda pair: cache.order(pair[0])
        )
    ]


def _ask(repo: str, revision: str | None) -> tuple[str, str]:
    """The commit by the hub, or why there is none."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import RevisionNotFoundError

    try:
        with asking(repo, revision):
            try:
                found = HfApi().model_info(repo, revision=revision, timeout=TIMEOUT).sha
            except RevisionNotFoundError as error:
                raise no_revision(repo, revision, _listed(repo)) from error
    except ComputeError as error:
        return "", str(error)
    shown = f"{repo}@{revision}" if revision else repo
    return (found, "") if found else ("", f"the hub names no commit for {shown}: give a full hash")


def _listed(repo: str) -> dict[str, str]:
    from huggingface_hub import HfApi

    with asking(repo):
        # The list itself would wait for ever where nothing answers.
        HfApi().model_info(repo, timeout=TIMEOUT)
        found = HfApi().list_repo_refs(repo)
    named = {ref.name: ref.target_commit for ref in (*found.tags, *found.branches)}
    until = time.monotonic() + REMEMBERED
    _asked.update({(repo, name): (until, commit, "") for name, commit in named.items()})
    return named
