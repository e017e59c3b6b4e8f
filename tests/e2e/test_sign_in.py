"""Signing in at a real provider, in a browser: who comes in, and who does not.

That every page has the door, and what else keeps people out, is tested in tests/app/test_door.py.
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from driving import App, Visit, come_to_rest, free_port, serving
from itsdangerous import TimestampSigner, URLSafeTimedSerializer
from oidc_provider_mock import User, run_server_in_thread
from playwright.sync_api import Page, expect

COOKIE = "_streamlit_user"
SECRET = "of-the-tests-and-nothing-else-at-all"
DAY = 86_400
USERS = [
    User(sub="ann", claims={"email": "Ann@uni.example", "email_verified": True}),
    User(sub="unverified", claims={"email": "bob@uni.example", "email_verified": False}),
]


@pytest.fixture(scope="module")
def port() -> int:
    """Where the provider answers, when it runs."""
    return free_port()


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory, port: int) -> Iterator[App]:
    """An app that those of one university may use, and one person of another."""
    folder: Path = tmp_path_factory.mktemp("app")
    secrets = folder / "secrets.toml"
    secrets.write_text(
        f"""[auth]
redirect_uri = "http://127.0.0.1:{{port}}/oauth2callback"
cookie_secret = "{SECRET}"
client_id = "coupling"
client_secret = "known to the provider"
server_metadata_url = "http://localhost:{port}/.well-known/openid-configuration"
"""
    )
    allowed = "*@uni.example, guest@else.example"
    options = folder / "store", folder / "log.txt", f"--secrets.files={secrets}"
    with serving(*options, COUPLING_SIGN_IN=allowed) as served:
        yield served


@contextmanager
def provider(port: int) -> Iterator[None]:
    """A provider of OpenID Connect: forms in the browser, signed tokens, published keys."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AUTHLIB_INSECURE_TRANSPORT", "1")  # it speaks HTTP, on this machine alone
        with run_server_in_thread(port, user_claims=USERS):
            yield


def expect_the_door(page: Page) -> None:
    """Nothing but the button."""
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    come_to_rest(page)
    expect(page.get_by_test_id("stMain")).to_have_text("Sign in")
    expect(page.get_by_test_id("stPageLink")).to_have_count(0)


def sign_in(page: Page, name: str) -> None:
    """Press the button, and be this person at the provider."""
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name=name, exact=True).click()


def test_a_link_leads_through_the_door_and_a_callback_opens_it_once(
    visit: Visit, app: App, port: int
) -> None:
    page, came_by = visit("/Runs?k=20"), []
    expect_the_door(page)
    page.on("request", lambda request: came_by.append(request.url))
    with provider(port):
        sign_in(page, "ann")
        expect(page).to_have_url(f"{app.url}/Runs?k=20")
        expect(page.get_by_role("heading", name="Runs")).to_be_visible()
        expect(page.get_by_text("Ann@uni.example")).to_be_visible()
        (callback,) = [url for url in came_by if "/oauth2callback?" in url]
        # as somebody who has read her history
        expect_the_door(visit(callback.removeprefix(app.url)))
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_test_id("stMain")).not_to_have_text("Sign in")
        page.get_by_role("button", name="Sign out", exact=True).click()  # asked, and meant
        page.get_by_role("button", name="End session").click()
        expect_the_door(page)
        page.goto(callback)
        expect_the_door(page)
        refused = visit("/Runs")
        sign_in(refused, "unverified")
        expect(refused.get_by_role("alert")).to_contain_text("bob@uni.example")
        expect(refused.get_by_test_id("stPageLink")).to_have_count(0)
        expect(refused.get_by_role("heading")).to_have_count(0)
        expect(refused.get_by_role("button", name="Sign out")).to_be_visible()
    page.get_by_role("button", name="Sign in").click()  # at a provider that has gone
    expect(page.get_by_role("alert")).to_contain_text("provider")
    expect(page.get_by_test_id("stPageLink")).to_have_count(0)


def cookie(app: App, secret: str, age: float, **change: Any) -> str:
    """One which says that Ann has signed in."""

    class Signer(TimestampSigner):
        def get_timestamp(self) -> int:
            return int(time.time() - age)

    claims = {"is_logged_in": True, "origin": app.url, "provider": "default"}
    ann = {"iss": "anybody", "sub": "ann", **USERS[0].claims}
    signing = URLSafeTimedSerializer(secret, salt=COOKIE, signer=Signer)
    return signing.dumps(json.dumps(claims | ann | change))


def test_a_cookie_is_enough_if_it_is_ours_and_no_older_than_thirty_days(
    visit: Visit, app: App
) -> None:
    page = visit("/Method")
    for refused in (
        cookie(app, "another-secret-of-somebody-who-guesses", 0),
        cookie(app, SECRET, 40 * DAY),
        cookie(app, SECRET, 0, origin="http://another.example"),
    ):
        page.context.add_cookies([{"name": COOKIE, "value": refused, "url": app.url}])
        page.reload()
        expect_the_door(page)
    ours = cookie(app, SECRET, 29 * DAY)
    page.context.add_cookies([{"name": COOKIE, "value": ours, "url": app.url}])
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
