"""The hub's refusals in plain words, each with its remedy."""

import errno
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from coupling_core.base.errors import ComputeError, InputError
from coupling_core.sources.hub import cache
from coupling_core.sources.hub.nearest import nearest, told

TIMEOUT = 10.0
"""Seconds to wait for the hub to answer."""

_DISK_FULL = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def asking(repo: str, revision: str | None = None) -> Iterator[None]:
    """Say in plain words why the hub does not give what is asked for."""
    from huggingface_hub.errors import HFValidationError

    try:
        yield
    except ComputeError:
        raise
    except HFValidationError as error:
        raise InputError(f"{repo!r} is no hub id: {error}") from error
    except Exception as error:  # the client's network errors share no base class
        words = _words(error, repo, revision)
        if words is None:
            raise
        raise ComputeError(words) from error


def _words(error: BaseException, repo: str, revision: str | None) -> str | None:
    """Why, in plain words; None for what is no failure of hub, network or disk."""
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    shown = f"{repo}@{revision}" if revision else repo
    for cause in _chain(error):  # the client wraps what happened into what it tried last
        match cause:
            case GatedRepoError():
                return (
                    f"hub model {shown} is gated: accept its terms on {_page(repo)}, "
                    "then run `hf auth login`"
                )
            case RepositoryNotFoundError():
                return (
                    f"hub model {shown} does not exist or is private: check the id, "
                    "or run `hf auth login`"
                )
            case RevisionNotFoundError():
                return str(no_revision(repo, revision, ()))
            case OfflineModeIsEnabled():
                return (
                    f"{_lacking(shown, repo, revision)}, and HF_HUB_OFFLINE keeps the hub out of "
                    "reach: unset it, or name a revision that is here"
                )
            case HfHubHTTPError() if getattr(cause, "response", None) is not None:
                return _refused(cause.response.status_code, cause.server_message, shown)
            case OSError() if cause.errno in _DISK_FULL:
                return f"the disk of {cache.root()} is full: {_ROOM}"
            case OSError() if cause.filename and cause.errno:
                return f"{cause.filename} cannot be used ({cause.strerror}): {_ROOM}"
    if isinstance(error, OSError) or type(error).__module__.startswith("httpx"):
        return (
            f"{_lacking(shown, repo, revision)}, and the hub is out of reach: check the network, "
            "or download it elsewhere and give its folder (there is no folder of that name here)"
        )
    return None


_ROOM = "make room, or set HF_HUB_CACHE to a folder of another disk"


def too_little_room(shown: str, wanted: str, free: str) -> ComputeError:
    """What is said where a download would fill the disk."""
    return ComputeError(
        f"hub model {shown} needs {wanted} more on the disk of {cache.root()}, which has {free} "
        f"free: {_ROOM}"
    )


def no_revision(repo: str, revision: str | None, names: Collection[str]) -> ComputeError:
    """What is said of a branch or tag that a repository does not have, but those of these names."""
    what = "model" if cache.is_own(repo) else "hub model"
    near = nearest(names, revision or "")
    return ComputeError(
        f"{what} {repo} has no revision {revision!r}"
        + f", the nearest are {near}" * bool(near)
        + f": `coupling models --revisions {repo}` lists those it has"
    )


def not_made(repo: str, revision: str) -> ComputeError:
    """What is said of a checkpoint of this project's own that is not on this disk."""
    names = [name for name, commit in cache.refs(repo).items() if revision in (name, commit)]
    shown = f"{repo}@{min(names, default=revision)}"
    return ComputeError(f"the weights of {shown} are not on this disk: {cache.whence(repo)}")


def _refused(status: int, said: str | None, shown: str) -> str:
    match status:
        case 401:
            why = "does not accept your token: run `hf auth login`"
        case 403:
            why = "forbids it to your token: give it the permission, and run `hf auth login`"
        case 429:
            why = "was asked too often: wait a few minutes, or run `hf auth login` for more"
        case _:
            why = f"failed (status {status}): try again later"
    return f"hub model {shown}: the hub {why}" + f" (it says: {said})" * bool(said)


def _lacking(shown: str, repo: str, revision: str | None) -> str:
    """What the cache has of a repository that does not answer the request."""
    here = cache.names(repo)
    return f"hub model {shown} is not in the local cache" + (
        f", which has {told(here, revision)} of it" if here else ""
    )


def _page(repo: str) -> str:
    from huggingface_hub import constants

    return f"{constants.ENDPOINT}/{repo}"


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
