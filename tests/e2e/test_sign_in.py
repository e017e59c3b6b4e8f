"""Signing in at a real provider, in a browser: who comes in, and who does not."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from driving import ROOT, App, Visit, free_port, serving
from itsdangerous import TimestampSigner, URLSafeTimedSerializer
from oidc_provider_mock import User, run_server_in_thread
from playwright.sync_api import Browser, Page, expect

COOKIE = "_streamlit_user"
SECRET = "of-the-tests-and-nothing-else-at-all"
DAY = 86_400
ADDRESSES = ["/", *(f"/{path.stem.partition('_')[2]}" for path in ROOT.glob("pages/*.py"))]
USERS = [
    User(sub="ann", claims={"email": "Ann@uni.example", "email_verified": True}),
    User(sub="eve", claims={"email": "eve@elsewhere.example", "email_verified": True}),
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
    with serving(
        folder / "store",
        folder / "log.txt",
        f"--secrets.files={secrets}",
        COUPLING_SIGN_IN="*@uni.example, guest@else.example",
    ) as served:
        yield served


@pytest.fixture
def provider(port: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A provider of OpenID Connect: forms in the browser, signed tokens, published keys."""
    monkeypatch.setenv("AUTHLIB_INSECURE_TRANSPORT", "1")  # it speaks HTTP, on this machine alone
    with run_server_in_thread(port, user_claims=USERS):
        yield


def expect_the_door(page: Page) -> None:
    """Nothing but the button."""
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    expect(page.get_by_test_id("stStatusWidget")).to_have_count(0)
    expect(page.get_by_test_id("stMain")).to_have_text("Sign in")
    expect(page.get_by_test_id("stPageLink")).to_have_count(0)


def sign_in(page: Page, name: str) -> None:
    """Press the button, and be this person at the provider."""
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name=name, exact=True).click()


def sign_out(page: Page) -> None:
    """Be asked, and mean it, here and at the provider."""
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_test_id("stMain")).not_to_have_text("Sign in")
    page.get_by_role("button", name="Sign out", exact=True).click()
    page.get_by_role("button", name="End session").click()


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[Page]:
    """A tab of somebody who goes from page to page without signing in."""
    context = browser.new_context()
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_page_shows_nothing_but_the_door(tab: Page, app: App, address: str) -> None:
    tab.goto(f"{app.url}{address}?k=20&block=3")
    expect_the_door(tab)


@pytest.mark.usefixtures("provider")
def test_a_link_leads_through_the_door_and_out_again(visit: Visit, app: App) -> None:
    page = visit("/Runs?k=20")
    sign_in(page, "ann")
    expect(page).to_have_url(f"{app.url}/Runs?k=20")
    expect(page.get_by_role("heading", name="Runs")).to_be_visible()
    expect(page.get_by_text("Ann@uni.example")).to_be_visible()
    sign_out(page)
    expect_the_door(page)
    page.goto(f"{app.url}/Runs?k=20")
    expect_the_door(page)


@pytest.mark.usefixtures("provider")
def test_a_callback_opens_the_door_once_and_for_nobody_else(visit: Visit, app: App) -> None:
    page, came_by = visit(), []
    page.on("request", lambda request: came_by.append(request.url))
    sign_in(page, "ann")
    expect(page.get_by_text("Ann@uni.example")).to_be_visible()
    (callback,) = [url for url in came_by if "/oauth2callback?" in url]
    other = visit("/Runs")
    other.goto(callback)
    expect_the_door(other)
    sign_out(page)
    expect_the_door(page)
    page.goto(callback)
    expect_the_door(page)


@pytest.mark.usefixtures("provider")
@pytest.mark.slow
def test_a_tab_that_stayed_open_is_asked_again_after_thirty_days(visit: Visit, app: App) -> None:
    page = visit_with_cookie(visit, app, SECRET, 0, iat=time.time() - 30 * DAY + 15)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.wait_for_timeout(16_000)
    page.get_by_role("link", name="Runs").click()
    expect_the_door(page)


@pytest.mark.usefixtures("provider")
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("eve", "eve@elsewhere.example may not use this app"),
        ("unverified", "does not say that bob@uni.example has been verified"),
    ],
)
def test_who_may_not_use_it_is_told_and_shown_nothing(visit: Visit, name: str, told: str) -> None:
    page = visit("/Runs")
    sign_in(page, name)
    expect(page.get_by_role("alert")).to_contain_text(told)
    expect(page.get_by_test_id("stPageLink")).to_have_count(0)
    expect(page.get_by_role("heading")).to_have_count(0)
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()


def test_a_provider_out_of_reach_is_told(visit: Visit) -> None:
    page = visit()
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("does not answer as a provider")
    expect(page.get_by_test_id("stPageLink")).to_have_count(0)


def visit_with_cookie(visit: Visit, app: App, secret: str, age: float, **change: Any) -> Page:
    """Come with a cookie that says Ann has signed in."""

    class Signer(TimestampSigner):
        def get_timestamp(self) -> int:
            return int(time.time() - age)

    claims = {"is_logged_in": True, "origin": app.url, "provider": "default"}
    ann = {"iss": "anybody", "sub": "ann", **USERS[0].claims}
    signing = URLSafeTimedSerializer(secret, salt=COOKIE, signer=Signer)
    page = visit("/Method")
    cookie = signing.dumps(json.dumps(claims | ann | change))
    page.context.add_cookies([{"name": COOKIE, "value": cookie, "url": app.url}])
    page.reload()
    return page


def test_a_cookie_of_ours_is_enough(visit: Visit, app: App) -> None:
    page = visit_with_cookie(visit, app, SECRET, 29 * DAY)
    expect(page.get_by_role("heading", level=1)).to_be_visible()


@pytest.mark.parametrize(
    ("secret", "age", "change"),
    [
        ("another-secret-of-somebody-who-guesses", 0, {}),
        (SECRET, 40 * DAY, {}),
        (SECRET, 0, {"origin": "http://another.example"}),
    ],
    ids=["forged", "expired", "of another app"],
)
def test_a_cookie_that_is_not_ours_or_too_old_opens_nothing(
    visit: Visit, app: App, secret: str, age: float, change: dict[str, Any]
) -> None:
    expect_the_door(visit_with_cookie(visit, app, secret, age, **change))
