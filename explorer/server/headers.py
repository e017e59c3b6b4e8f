"""What every answer tells a browser to refuse, and what to fetch, behind a proxy or without."""

from functools import cache
from pathlib import Path

import streamlit
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
                told = MutableHeaders(scope=message)
                told.update(headers())
                if told.get("content-type", "").startswith("text/html") and (link := early()):
                    told["Link"] = link
            await send(message)

        await self._app(scope, receive, send_with_headers)


@cache
def early() -> str:
    """Has the browser fetch what draws figures at once, in place of when it meets the first one.

    It is by far the largest script, and every page has figures.
    """
    scripts = Path(streamlit.__file__).parent / "static" / "static" / "js"
    found = [f"<./static/js/{one.name}>" for one in sorted(scripts.glob("PlotlyChart.*.js"))]
    return ", ".join(f"{one}; rel=modulepreload; crossorigin" for one in found)


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
