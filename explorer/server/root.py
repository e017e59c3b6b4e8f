"""Where the server is, told to Streamlit's front end.

It would else ask for it below the address of the page that is opened first, which is refused.
"""

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_OWN = b"window.prerenderReady = false"
"""In a script of Streamlit's page, before all others."""
_TOLD = _OWN + b"; window.__streamlit = { BACKEND_BASE_URL: new URL('.', location.href).href }"


class Root:
    """Middleware that writes it into that page.

    Args:
        app: which answers with the page.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request as the app does, but for the page."""
        if scope["type"] != "http" or "." in scope["path"].rpartition("/")[2]:  # a file
            return await self._app(scope, receive, send)
        asked = MutableHeaders(raw=list(scope["headers"]))
        for name in ("accept-encoding", "range"):  # it is small, and read here
            del asked[name]
        start: Message | None = None

        async def send_with_root(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                start = message
                return
            if start is not None:
                body = message.get("body", b"")
                message["body"] = body.replace(_OWN, _TOLD)
                told = MutableHeaders(scope=start)
                if longer := len(message["body"]) - len(body):
                    told["content-length"] = str(int(told["content-length"]) + longer)
                await send(start)
                start = None
            await send(message)

        await self._app({**scope, "headers": asked.raw}, receive, send_with_root)
