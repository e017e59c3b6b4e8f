"""A site for tests, which says what it is told to."""

import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer


@contextmanager
def saying(said: bytes, paths: Collection[str] = ()) -> Iterator[tuple[str, type]]:
    """Serve a text at these paths, or at all; its address, and a class whose `said` may change."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if not paths or self.path in paths else 404)
            self.end_headers()
            self.wfile.write(Handler.said)

        def log_message(self, *_: object) -> None:
            pass

    Handler.said = said
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", Handler
        server.shutdown()
