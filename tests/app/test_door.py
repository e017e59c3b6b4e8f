"""Every page behind the one door, without a browser."""

import sys
import time
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from coupling_core.base.settings import settings
from explorer.frame.contents import PAGES
from explorer.server import backend

ROOT = Path(__file__).parents[2]
FILES = ["app.py", *(str(path.relative_to(ROOT)) for path in sorted(ROOT.glob("pages/*.py")))]
AUTH = {
    "redirect_uri": "https://coupling.example/oauth2callback",
    "cookie_secret": "0123456789abcdef0123456789abcdef",
    "client_id": "coupling",
    "client_secret": "known to the provider",
    "server_metadata_url": "https://provider.example/.well-known/openid-configuration",
}
ANN = {
    "is_logged_in": True,
    "iss": "https://provider.example",
    "sub": "1",
    "email": "ann@uni.example",
    "email_verified": True,
}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Those of a university may use the app."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COUPLING_SIGN_IN", "*@uni.example")
    settings.cache_clear()
    backend.store.forget()
    yield monkeypatch
    settings.cache_clear()


def opened(file: str, user: dict[str, Any], auth: Any = AUTH) -> AppTest:
    """A page as its link alone runs it."""
    app = AppTest.from_file(str(ROOT / file), default_timeout=60)
    app.secrets["auth"] = auth
    app.user = user
    return app.run()


def shown(app: AppTest) -> list[str]:
    """What there is on a page, but for what nobody sees."""
    unseen = ("main", "sidebar", "html")
    return [element.type for element in (*app.main, *app.sidebar) if element.type not in unseen]


def test_these_are_the_pages_there_are() -> None:
    assert sorted(page.file for page in PAGES.values()) == sorted(FILES)


@pytest.mark.parametrize("file", FILES)
@pytest.mark.usefixtures("asked")
def test_before_signing_in_there_is_a_button_and_nothing_else(file: str) -> None:
    app = opened(file, {"is_logged_in": False})
    assert shown(app) == ["button"]
    assert app.button[0].label == "Sign in"
    assert not app.exception
    assert "_chosen" not in app.session_state


@pytest.mark.usefixtures("asked")
def test_after_signing_in_there_is_the_page_and_a_way_out() -> None:
    app = opened("app.py", ANN)
    assert app.title
    (asking,) = [one for one in app.sidebar.get("popover") if "Sign out" in one.proto.popover.label]
    assert asking.proto.popover.label == "Sign out ann@uni.example"
    (button,) = asking.button
    left = button.click().run()
    assert not left.title
    assert not left.exception
    assert shown(left.run()) == ["button"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"email": "ann@else.example"}, "ann@else.example may not use this app"),
        ({"email": "ann@uni.example.evil.example"}, "may not use this app"),
        ({"email": None}, "without an e-mail address"),
        ({"email_verified": False}, "has been verified"),
        ({"email_verified": "true"}, "has been verified"),
        ({"email": "*ann*@else.example"}, r"\*ann\*@else.example"),
    ],
)
@pytest.mark.usefixtures("asked")
def test_who_is_not_meant_is_told_and_shown_nothing(change: dict[str, Any], told: str) -> None:
    app = opened("app.py", ANN | change)
    assert told in app.error[0].value
    assert shown(app) == ["error", "popover", "caption", "button"]
    assert "Sign out" in [button.label for button in app.button]


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize(("days", "door"), [(29, False), (30.01, True)])
def test_a_sign_in_lasts_for_thirty_days_though_a_tab_stays_open(days: float, door: bool) -> None:
    app = opened("app.py", ANN | {"iat": int(time.time() - days * 86_400)})
    assert (shown(app) == ["button"]) is door
    assert bool(app.title) is not door


def test_whoever_can_sign_in_may_use_it_where_it_says_so(asked: pytest.MonkeyPatch) -> None:
    asked.setenv("COUPLING_SIGN_IN", "*")
    settings.cache_clear()
    assert opened("app.py", {"is_logged_in": True, "iss": "p", "sub": "1"}).title
    assert shown(opened("app.py", {"is_logged_in": "yes"})) == ["button"]


@pytest.mark.parametrize(
    ("auth", "told"),
    [
        (None, "no section \\[auth\\]"),
        ({}, "lacks redirect\\_uri, cookie\\_secret, client\\_id"),
        (AUTH | {"client_secret": 3}, "lacks client\\_secret"),
        (AUTH | {"cookie_secret": "guess"}, "less than 32 characters"),
        (AUTH | {"redirect_uri": "https://coupling.example/"}, "followed by /oauth2callback"),
        (AUTH | {"server_metadata_url": "file:///etc/passwd"}, "must begin with https"),
    ],
)
@pytest.mark.usefixtures("asked")
def test_an_app_that_nobody_can_sign_in_to_shows_nothing(auth: Any, told: str) -> None:
    app = opened("app.py", ANN, auth)
    assert told in app.error[0].value
    assert shown(app) == ["error"]


def test_without_secrets_or_authlib_nothing_is_shown(
    asked: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    app.user = ANN
    assert "no section" in app.run().error[0].value
    assert shown(app) == ["error"]
    asked.setitem(sys.modules, "authlib", None)
    app = opened("app.py", ANN)
    assert "Authlib is missing" in app.error[0].value
    assert shown(app) == ["error"]


@pytest.mark.parametrize("value", ["", "true", "uni.example", "*@", "a@b@c", "a*@b.example"])
def test_a_setting_that_names_nobody_shows_nothing(asked: pytest.MonkeyPatch, value: str) -> None:
    asked.setenv("COUPLING_SIGN_IN", value)
    settings.cache_clear()
    app = opened("app.py", ANN)
    expected = "it is no address" if value else "at least 1 item"
    assert expected in app.error[0].value
    assert shown(app) == ["error"]
