"""A hub of one's own that has one data set: what `datasets` asks while rows are fetched."""

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

COMMIT = "c0ffee" + 34 * "0"


class DatasetHub:
    """The server.

    Args:
        repo: the data set's id.
        root: its files, with a README.md whose head lists its configurations.
    """

    def __init__(self, repo: str, root: Path) -> None:
        class Handler(_Handler):
            pass

        Handler.repo, Handler.root = repo, root
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    repo: str
    root: Path

    def log_message(self, *_: Any) -> None:
        return

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        files, api = f"/datasets/{self.repo}/resolve/", f"/api/datasets/{self.repo}"
        if path.startswith(files):
            self._file(self.root / path.removeprefix(files).partition("/")[2])
        elif path.startswith(f"{api}/tree/"):
            self._tree(self.root / path.removeprefix(f"{api}/tree/").partition("/")[2])
        elif path.startswith(api):
            self._json({"id": self.repo, "sha": COMMIT, "siblings": []})
        else:
            self._answer(404, b"", {"X-Error-Code": "RepoNotFound"})

    def _file(self, path: Path) -> None:
        if not path.is_file():
            return self._answer(404, b"", {"X-Error-Code": "EntryNotFound"})
        tags = {"ETag": f'"{self._describe(path)["oid"]}"', "X-Repo-Commit": COMMIT}
        self._answer(200, path.read_bytes(), tags)

    def _tree(self, folder: Path) -> None:
        if not folder.is_dir():
            return self._answer(404, b"", {"X-Error-Code": "EntryNotFound"})
        self._json([self._describe(path) for path in sorted(folder.iterdir())])

    def _describe(self, path: Path) -> dict[str, Any]:
        name = path.relative_to(self.root).as_posix()
        if path.is_dir():
            return {"type": "directory", "path": name, "oid": 40 * "0", "size": 0}
        content = path.read_bytes()
        oid = hashlib.sha1(content).hexdigest()
        return {"type": "file", "path": name, "oid": oid, "size": len(content)}

    def _json(self, payload: Any) -> None:
        self._answer(200, json.dumps(payload).encode(), {"Content-Type": "application/json"})

    def _answer(self, status: int, content: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)
