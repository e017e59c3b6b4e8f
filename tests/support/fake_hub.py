"""A hub of one's own: HTTP servers that answer for one repository as the real one does."""

import hashlib
import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from coupling_core.sources.hub import cache

REPO = "someone/tiny"
"""What the hub has where nothing else is said."""
LARGE = (".safetensors", ".bin")
PIECE, PAUSE = 4096, 0.02
"""Bytes sent at a time where a file is sent slowly, and seconds between them."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        return

    def do_GET(self) -> None:
        self.server.hub.answer(self, unquote(urlsplit(self.path).path))

    do_HEAD = do_GET

    def say(
        self, status: int, content: bytes = b"", headers: Any = (), *, slowly: bool = False
    ) -> None:
        self.send_response(status)
        for name, value in {**dict(headers), "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self._send(content, slowly)

    def refuse(self, code: str, status: int = 404) -> None:
        self.say(status, b"", {"X-Error-Code": code} if code else ())

    def say_json(self, payload: Any) -> None:
        self.say(200, json.dumps(payload).encode(), {"Content-Type": "application/json"})

    def _send(self, content: bytes, slowly: bool) -> None:
        hub, piece = self.server.hub, PIECE if slowly else max(1, len(content))
        try:
            for start in range(0, len(content), piece):
                if slowly and hub.breaks and start > len(content) // 2:
                    hub.breaks -= 1
                    self.close_connection = True
                    return
                self.wfile.write(content[start : start + piece])
                time.sleep(PAUSE if slowly else 0)
        except OSError:
            hub.hung_up.set()
            self.close_connection = True


class _Hub:
    breaks = 0  # how many times the connection breaks in the middle of what is sent slowly

    def __init__(self) -> None:
        self.hung_up = threading.Event()  # a client left in the middle of a file
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.daemon_threads, self._server.hub = True, self
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class DatasetHub(_Hub):
    """One data set, of the files in a folder: a README.md there lists its configurations."""

    commit = "c0ffee" + 34 * "0"

    def __init__(self, repo: str, root: Path) -> None:
        self.repo, self.root = repo, root
        super().__init__()

    def answer(self, to: _Handler, path: str) -> None:
        files, api = f"/datasets/{self.repo}/resolve/", f"/api/datasets/{self.repo}"
        file, folder = (
            self.root / path.removeprefix(start).partition("/")[2]
            for start in (files, f"{api}/tree/")
        )
        if path.startswith(files) and file.is_file():
            tags = {"ETag": f'"{_etag(file)}"', "X-Repo-Commit": self.commit}
            to.say(200, file.read_bytes(), tags)
        elif path.startswith(f"{api}/tree/") and folder.is_dir():
            to.say_json([_described(one, "path", self.root) for one in sorted(folder.iterdir())])
        elif path.startswith((files, f"{api}/tree/")):
            to.refuse("EntryNotFound")
        elif path.startswith(api):
            to.say_json({"id": self.repo, "sha": self.commit, "siblings": []})
        else:
            to.refuse("RepoNotFound")


class FakeHub(_Hub):
    """One model, with the files of each revision, and what it was asked."""

    def __init__(self, folders: dict[str, Path], repo: str = REPO) -> None:
        self.folders, self.repo = folders, repo
        self.commits = {name: hashlib.sha1(name.encode()).hexdigest() for name in folders}
        # Method and path of each request; of a file, its name, or `range/<first byte>/<name>`.
        self.asked: list[tuple[str, str]] = []
        self.former = ""  # a name that the repository had before, which leads to it
        self.gated = False  # files are refused
        self.refusal = 0  # the status with which everything is refused
        self.slow = ""  # the name of a file that is sent in small pieces
        self.damages = ""  # the name of a file that is sent with other content
        super().__init__()

    def fetched(self) -> set[str]:
        """Names of the files of which any content was asked for."""
        return {
            name.rpartition("/")[2]
            for method, name in self.asked
            if method == "GET" and not name.startswith("/")
        }

    def files(self, revision: str) -> Path | None:
        named = {self.commits[name]: folder for name, folder in self.folders.items()}
        return (named | self.folders).get(revision)

    def answer(self, to: _Handler, path: str) -> None:
        repo, former = self.repo, self.former
        if self.refusal:
            to.refuse("", self.refusal)
        elif former and path.startswith((f"/api/models/{former}", f"/{former}/resolve/")):
            to.say(307, b"", {"Location": to.path.replace(former, repo, 1)})
        elif found := re.fullmatch(rf"/{repo}/resolve/([^/]+)/(.+)", path):
            self._file(to, *found.groups())
        else:
            self.asked.append((to.command, path))
            if path.startswith((f"/api/models/{repo}", f"/{repo}/resolve/")):
                self._api(to, path.removeprefix(f"/api/models/{repo}"))
            else:
                to.refuse("RepoNotFound")

    def _api(self, to: _Handler, path: str) -> None:
        kind, _, revision = path.removeprefix("/").partition("/")
        folder = self.files(revision or "main")
        if path == "/refs":
            refs = [
                {"name": name, "ref": f"refs/heads/{name}", "targetCommit": commit}
                for name, commit in self.commits.items()
            ]
            to.say_json({"branches": refs, "tags": [], "converts": []})
        elif folder is None:
            to.refuse("RevisionNotFound")
        elif kind == "tree":
            to.say_json([_described(file, "path") for file in sorted(folder.iterdir())])
        else:
            siblings = [_described(file, "rfilename") for file in sorted(folder.iterdir())]
            commit = self.commits.get(revision or "main", revision)
            to.say_json({"id": self.repo, "sha": commit, "siblings": siblings})

    def _file(self, to: _Handler, revision: str, name: str) -> None:
        folder = self.files(revision)
        if self.gated:
            return to.refuse("GatedRepo", 403)
        if folder is None:
            return to.refuse("RevisionNotFound")
        if not (folder / name).is_file():
            return to.refuse("EntryNotFound")
        content = (folder / name).read_bytes()
        if name == self.damages:
            content = content[:-1] + bytes([content[-1] ^ 1])
        tags = {"ETag": f'"{_etag(folder / name)}"', "Accept-Ranges": "bytes"}
        tags["X-Repo-Commit"] = self.commits.get(revision, revision)
        size, start, stop = len(content), 0, len(content)
        if asked := re.fullmatch(r"bytes=(\d+)-(\d*)", to.headers.get("Range", "")):
            start = int(asked[1])
            stop = min(size, int(asked[2]) + 1) if asked[2] else size
            tags["Content-Range"] = f"bytes {start}-{stop - 1}/{size}"
        self.asked.append((to.command, f"range/{start}/{name}" if asked else name))
        slowly = name == self.slow and stop == size
        to.say(206 if asked else 200, content[start:stop], tags, slowly=slowly)


def client(monkeypatch: pytest.MonkeyPatch, folder: Path, hub: FakeHub | None = None) -> Any:
    """Give the hub's client a cache of the test's own, and this hub or none; its constants.

    No model is in memory then.
    """
    from huggingface_hub import constants

    from coupling_core.engine.loading import forget
    from coupling_core.sources.hub import blobs, naming

    forget()

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(folder / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", hub is None)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(folder / "token"))
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(naming, "_asked", {})
    monkeypatch.setattr(blobs, "_WAIT", 0.05)
    if hub is not None:
        url = hub.url + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "ENDPOINT", hub.url)
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", url)
    return constants


def lay_out(root: Path, folders: dict[str, Path], repo: str = REPO) -> dict[str, str]:
    """Make a cache as the hub's client does: blobs, links to them, refs; give the commits."""
    repository = root / f"models--{repo.replace('/', '--')}"
    commits = {name: f"{index:040x}" for index, name in enumerate(folders, 1)}
    if cache.is_own(repo):  # a suite that is trained here: hashes of weights and tokenizer
        commits = {name: _commit(folder) for name, folder in folders.items()}
    for name, folder in folders.items():
        snapshot = repository / "snapshots" / commits[name]
        snapshot.mkdir(parents=True, exist_ok=True)
        (repository / "blobs").mkdir(exist_ok=True)
        for file in folder.iterdir():
            blob = repository / "blobs" / _etag(file)
            blob.write_bytes(file.read_bytes())
            if not (snapshot / file.name).is_symlink():  # two names may stand for one commit
                (snapshot / file.name).symlink_to(blob)
        (repository / "refs").mkdir(exist_ok=True)
        (repository / "refs" / name).write_text(commits[name])
    return commits


def _commit(folder: Path) -> str:
    content = [(folder / name).read_bytes() for name in (cache.SINGLE, "tokenizer.json")]
    return hashlib.sha1(b"".join(content)).hexdigest()


def _etag(file: Path) -> str:
    """What the hub names a file by: its sha256 where it is large, else git's hash."""
    content = file.read_bytes()
    if file.suffix in LARGE:
        return hashlib.sha256(content).hexdigest()
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def _described(file: Path, name: str, root: Path | None = None) -> dict[str, Any]:
    """An entry of a list of files; `root` is what a path in it begins below."""
    place = file.relative_to(root or file.parent).as_posix()
    if file.is_dir():
        return {"type": "directory", "path": place, "oid": 40 * "0", "size": 0}
    size, etag = file.stat().st_size, _etag(file)
    large = {"size": size, "sha256": etag, "oid": etag, "pointerSize": 134}
    lfs = {"lfs": large} if file.suffix in LARGE else {}
    if name == "path":
        return {"type": "file", "path": place, "size": size, "oid": etag[:40]} | lfs
    return {"rfilename": place, "size": size, "blobId": etag[:40]} | lfs
