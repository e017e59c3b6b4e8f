"""Every page behind the one door, without a browser."""

import sys
import time
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest
from syrupy.assertion import SnapshotAssertion
from waiting import PATIENCE

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
    app = AppTest.from_file(str(ROOT / file), default_timeout=PATIENCE)
    app.secrets["auth"] = auth
    app.user = user
    return app.run()


def shown(app: AppTest) -> list[str]:
    """What there is on a page, but for what nobody sees."""
    unseen = ("main", "sidebar", "html")
    return [element.type for element in (*app.main, *app.sidebar) if element.type not in unseen]


@pytest.mark.usefixtures("asked")
def test_before_signing_in_every_page_is_a_button_and_nothing_else() -> None:
    assert sorted(page.file for page in PAGES.values()) == sorted(FILES)
    for file in FILES:
        app = opened(file, {"is_logged_in": False})
        assert (file, shown(app)) == (file, ["button"])
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


@pytest.mark.usefixtures("asked")
def test_who_is_not_meant_is_shown_nothing(snapshot: SnapshotAssertion) -> None:
    told = {}
    for change in (
        {"email": "ann@else.example"},
        {"email": "ann@uni.example.evil.example"},
        {"email": None},
        {"email_verified": False},
        {"email_verified": "true"},
        {"email": "*ann*@else.example"},
    ):
        app = opened("app.py", ANN | change)
        told[str(change)] = app.error[0].value
        assert shown(app) == ["error", "popover", "caption", "button"]
        assert "Sign out" in [button.label for button in app.button]
    assert told == snapshot


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


def test_an_app_that_nobody_can_sign_in_to_shows_nothing(
    asked: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    told = {}

    def open_it(name: str, auth: Any = AUTH) -> None:
        settings.cache_clear()
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=PATIENCE)
        app.user = ANN
        if name != "no secrets":
            app.secrets["auth"] = auth
        app.run()
        assert (name, shown(app)) == (name, ["error"])
        told[name] = app.error[0].value

    open_it("no secrets")
    for name, auth in {
        "no section": None,
        "an empty section": {},
        "a secret that is no text": AUTH | {"client_secret": 3},
        "a short cookie secret": AUTH | {"cookie_secret": "guess"},
        "another callback": AUTH | {"redirect_uri": "https://coupling.example/"},
        "a file for a provider": AUTH | {"server_metadata_url": "file:///etc/passwd"},
    }.items():
        open_it(name, auth)
    for value in ("", "true", "uni.example", "*@", "a@b@c", "a*@b.example"):
        asked.setenv("COUPLING_SIGN_IN", value)
        open_it(f"who may use it: {value!r}")
    asked.setenv("COUPLING_SIGN_IN", "*@uni.example")
    asked.setitem(sys.modules, "authlib", None)
    open_it("no Authlib")
    assert told == snapshot
