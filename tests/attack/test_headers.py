"""What every answer tells a browser to refuse, whoever asks for what, without a proxy."""

import urllib.error
import urllib.request
from email.message import Message

import pytest
from driving import App

ADDRESSES = (
    *("/", "/Runs", "/Depth?prompt=x", "/nowhere", "/favicon.png", "/_stcore/health"),
    *("/_stcore/host-config", "/_stcore/metrics", "/_stcore/stream", "/media/nothing.png"),
    *(
        "/_stcore/upload_file/a/b",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/auth/login",
        "/oauth2callback?x=1",
    ),
)


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None


def answered(url: str, method: str) -> Message:
    try:
        with urllib.request.build_opener(_Stay).open(
            urllib.request.Request(url, method=method), timeout=30
        ) as answer:
            return answer.headers
    except urllib.error.HTTPError as error:
        return error.headers


@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
@pytest.mark.parametrize("address", ADDRESSES)
def test_no_answer_may_be_framed_or_guessed_at(demo: App, address: str, method: str) -> None:
    told = answered(demo.url + address, method)
    assert told.get_all("X-Frame-Options") == ["SAMEORIGIN"]
    (policy,) = told.get_all("Content-Security-Policy")
    assert policy.startswith("frame-ancestors 'self';")
    assert told.get_all("X-Content-Type-Options") == ["nosniff"]
    assert told.get_all("Referrer-Policy") == ["same-origin"]
    assert "microphone=()" in told["Permissions-Policy"]
