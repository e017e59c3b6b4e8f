"""What every answer tells a browser to refuse, with a proxy in front of the app or without."""

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from coupling_core.base.errors import InputError
from coupling_core.base.settings import settings

_ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "camera=(), display-capture=(), geolocation=(), microphone=(), "
    "payment=(), usb=()",
}


class Headers:
    """Middleware that adds them.

    Args:
        app: whose answers they are added to.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request as the app does, with the headers."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(headers())
            await send(message)

        await self._app(scope, receive, send_with_headers)


def headers() -> dict[str, str]:
    """The headers, by their names."""
    try:
        framed_by = settings().framed_by or ()
    except InputError:  # every page tells of it
        framed_by = ()
    ancestors = " ".join(("'self'", *framed_by))
    policy = f"frame-ancestors {ancestors}; base-uri 'self'; object-src 'none'"
    old = {} if framed_by else {"X-Frame-Options": "SAMEORIGIN"}  # which can name no other site
    return {**_ALWAYS, "Content-Security-Policy": policy, **old}
