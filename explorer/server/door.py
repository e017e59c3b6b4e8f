"""What a client may send before any page has looked at it: the first that every request meets.

A websocket takes a session's messages from whoever holds it, signed in or not. Where the app is
hosted, those pass that a reader's browser sends, and none by which developers steer a server of
their own, such as the one that empties all caches.
"""

import asyncio
from collections import Counter
from contextlib import suppress

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.runtime import get_instance
from streamlit.runtime.runtime_util import get_max_widget_state_size_bytes
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from coupling_core.base.errors import InputError
from coupling_core.base.settings import settings
from coupling_core.base.units import size as in_words
from explorer.server.admission import is_hosted
from explorer.server.uploads import largest, uploads
from explorer.server.visitors import household

READERS = (
    "rerun_script",
    "stop_script",
    "app_heartbeat",
    "file_urls_request",
    "backend_operation_request",
)
"""Messages that a reader's browser sends."""

SLOWEST = 300.0
"""Seconds in which a file has to arrive, since it holds a place."""

TABS = 300
"""That one address may have open where the app is hosted: a few classrooms."""

DIGITS = 16
"""Of the size of a file, beyond which it is none."""

_UPLOAD = "/_stcore/upload_file/"
_SIGN_OUT = "/auth/logout"


class Door:
    """A layer of the server round Streamlit's own.

    Args:
        app: all within.
    """

    def __init__(self, app: ASGIApp) -> None:
        trusted: list[str] = []
        self._app, self._hosted = app, True
        self._tabs: Counter[str] = Counter()
        with suppress(InputError):  # every page tells of settings that cannot be used
            trusted += settings().trusted_proxies
            self._hosted = is_hosted()
        self._by_proxy = ProxyHeadersMiddleware(self._pass, trusted)  # type: ignore[arg-type]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request or a connection pass, with the address of whoever sent it."""
        await self._by_proxy(scope, receive, send)  # type: ignore[arg-type]

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket" and self._hosted:
            await self._admit(scope, receive, send)
        elif scope["type"] == "http" and _is_led_to_sign_out(scope):
            await RedirectResponse("../", 303)(scope, receive, send)
        elif scope["type"] == "http" and scope["method"] == "PUT" and _UPLOAD in scope["path"]:
            await self._take(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a reader's tab connect where its address has not too many."""
        address = _address(scope)
        if self._tabs[address] >= TABS:
            await receive()  # it asks to be let in
            await send({"type": "websocket.close", "code": 1013, "reason": "too many tabs"})
            return
        self._tabs[address] += 1
        try:
            await self._app(scope, _readers_alone(receive), send)
        finally:
            self._tabs[address] -= 1
            self._tabs += Counter()  # without those that have none left

    async def _take(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a file pass that a page asked for, and for which there is a place."""
        session = scope["path"].partition(_UPLOAD)[2].partition("/")[0]
        told = dict(scope["headers"]).get(b"content-length", b"").decode("latin-1")
        if not uploads.is_asked(session):
            refusal = PlainTextResponse("no page of this session asks for a file", 403)
        elif not (told.isdecimal() and len(told) < DIGITS):
            refusal = PlainTextResponse("the size of the file must be given", 411)
        elif int(told) > largest():
            most = in_words(settings().upload_bytes)
            refusal = PlainTextResponse(f"at most {most} are taken here", 413)
        else:
            kept = get_instance().uploaded_file_mgr
            ticket = uploads.begin(session, _address(scope), int(told), kept)  # type: ignore[arg-type]
            if ticket is None:
                refusal = PlainTextResponse("too many files are arriving: try again soon", 429)
            else:
                try:
                    async with asyncio.timeout(SLOWEST):
                        return await self._app(scope, receive, send)
                except TimeoutError:
                    refusal = PlainTextResponse("the file took too long to arrive", 408)
                finally:
                    uploads.end(ticket)
        await refusal(scope, receive, send)


def _address(scope: Scope) -> str:
    return household(scope["client"][0]) if scope["client"] else ""


def _is_led_to_sign_out(scope: Scope) -> bool:
    """Whether another site's link would sign a reader out: only a page of this app may."""
    if not scope["path"].endswith(_SIGN_OUT):
        return False
    return Headers(scope=scope).get("sec-fetch-site", "same-origin") != "same-origin"


def _readers_alone(receive: Receive) -> Receive:
    """Of what comes, what a reader's browser sends."""

    async def next_one() -> Message:
        while True:
            message = await receive()
            if message["type"] != "websocket.receive" or _is_readers(message):
                return message

    return next_one


def _is_readers(message: Message) -> bool:
    sent, data = BackMsg(), message.get("bytes") or b""
    if len(data) > get_max_widget_state_size_bytes():  # Streamlit ends the connection
        return True
    try:
        sent.ParseFromString(data)
    except Exception:  # whatever is wrong with it, Streamlit ends the connection
        return True
    return sent.WhichOneof("type") in READERS
