"""A hub of one's own: an HTTP server that answers for one repository as the real one does."""

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


class FakeHub:
    """The server of one repository, with the files of each revision, and what it was asked."""

    def __init__(self, folders: dict[str, Path], repo: str = REPO) -> None:
        self.folders, self.repo = folders, repo
        self.commits = {name: hashlib.sha1(name.encode()).hexdigest() for name in folders}
        # Method and path of each request; of a file, its name, or `range/<first byte>/<name>`.
        self.asked: list[tuple[str, str]] = []
        self.former = ""  # a name that the repository had before, which leads to it
        self.gated = False  # files are refused
        self.refusal: int = 0  # the status with which everything is refused
        self.slow = ""  # the name of a file that is sent in small pieces
        self.breaks = 0  # how many times the connection breaks in the middle of that file
        self.damages = ""  # the name of a file that is sent with other content
        self.hung_up = threading.Event()  # a client left in the middle of a file
        owner = self

        class Handler(_Handler):
            hub = owner

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

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


def client(monkeypatch: pytest.MonkeyPatch, folder: Path, hub: FakeHub | None = None) -> Any:
    """Give the hub's client a cache of the test's own, and this hub or none; its constants."""
    from huggingface_hub import constants

    from coupling_core.sources.hub import blobs, naming

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


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: FakeHub

    def log_message(self, *_: Any) -> None:
        return

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        path, repo = unquote(urlsplit(self.path).path), self.hub.repo
        former = self.hub.former
        if self.hub.refusal:
            self._refuse(self.hub.refusal, "")
        elif former and path.startswith((f"/api/models/{former}", f"/{former}/resolve/")):
            self.send_response(307)
            self.send_header("Location", self.path.replace(former, repo, 1))
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif not path.startswith((f"/api/models/{repo}", f"/{repo}/resolve/")):
            self.hub.asked.append((self.command, path))
            self._refuse(404, "RepoNotFound")
        elif found := re.fullmatch(rf"/{repo}/resolve/([^/]+)/(.+)", path):
            self._file(*found.groups())
        else:
            self.hub.asked.append((self.command, path))
            self._api(path.removeprefix(f"/api/models/{repo}"))

    def _api(self, path: str) -> None:
        if path == "/refs":
            refs = [
                {"name": name, "ref": f"refs/heads/{name}", "targetCommit": commit}
                for name, commit in self.hub.commits.items()
            ]
            return self._json({"branches": refs, "tags": [], "converts": []})
        kind, _, revision = path.removeprefix("/").partition("/")
        folder = self.hub.files(revision or "main")
        if folder is None:
            return self._refuse(404, "RevisionNotFound")
        if kind == "tree":
            return self._json([_described(file, "path") for file in sorted(folder.iterdir())])
        commit = self.hub.commits.get(revision or "main", revision)
        siblings = [_described(file, "rfilename") for file in sorted(folder.iterdir())]
        self._json({"id": self.hub.repo, "sha": commit, "siblings": siblings})

    def _file(self, revision: str, name: str) -> None:
        folder = self.hub.files(revision)
        if self.hub.gated:
            return self._refuse(403, "GatedRepo")
        if folder is None:
            return self._refuse(404, "RevisionNotFound")
        if not (folder / name).is_file():
            return self._refuse(404, "EntryNotFound")
        content = (folder / name).read_bytes()
        if name == self.hub.damages:
            content = content[:-1] + bytes([content[-1] ^ 1])
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        start = int(asked[1]) if asked else 0
        stop = min(len(content), int(asked[2]) + 1) if asked and asked[2] else len(content)
        self.hub.asked.append((self.command, f"range/{start}/{name}" if asked else name))
        self.send_response(206 if asked else 200)
        if asked:
            self.send_header("Content-Range", f"bytes {start}-{stop - 1}/{len(content)}")
        self.send_header("ETag", f'"{_etag(folder / name)}"')
        self.send_header("X-Repo-Commit", self.hub.commits.get(revision, revision))
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(stop - start))
        self.end_headers()
        if self.command == "GET":
            self._send(content[start:stop], slowly=name == self.hub.slow and stop == len(content))

    def _send(self, content: bytes, *, slowly: bool) -> None:
        try:
            for start in range(0, len(content), PIECE if slowly else len(content)):
                if slowly and self.hub.breaks and start > len(content) // 2:
                    self.hub.breaks -= 1
                    self.close_connection = True
                    return
                self.wfile.write(content[start:][: PIECE if slowly else None])
                time.sleep(PAUSE if slowly else 0)
        except OSError:
            self.hub.hung_up.set()
            self.close_connection = True

    def _json(self, payload: Any) -> None:
        content = json.dumps(payload).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _refuse(self, status: int, code: str) -> None:
        self.send_response(status)
        if code:
            self.send_header("X-Error-Code", code)
        self.send_header("Content-Length", "0")
        self.end_headers()


def _commit(folder: Path) -> str:
    content = [(folder / name).read_bytes() for name in (cache.SINGLE, "tokenizer.json")]
    return hashlib.sha1(b"".join(content)).hexdigest()


def _etag(file: Path) -> str:
    """What the hub names a file by: its sha256 where it is large, else git's hash."""
    content = file.read_bytes()
    if file.suffix in LARGE:
        return hashlib.sha256(content).hexdigest()
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def _described(file: Path, name: str) -> dict[str, Any]:
    size, etag = file.stat().st_size, _etag(file)
    large = {"size": size, "sha256": etag, "oid": etag, "pointerSize": 134}
    lfs = {"lfs": large} if file.suffix in LARGE else {}
    if name == "path":
        return {"type": "file", "path": file.name, "size": size, "oid": etag[:40]} | lfs
    return {"rfilename": file.name, "size": size, "blobId": etag[:40]} | lfs
