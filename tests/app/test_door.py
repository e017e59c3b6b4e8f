"""Who is let in: which addresses a list admits, every page behind the one door, and the doctor.

That people sign in at a real provider is tested in a browser.
"""

import json
import sys
import time
import tomllib
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from saying import saying
from streamlit.testing.v1 import AppTest
from waiting import PATIENCE

from coupling_core.base.errors import InputError
from coupling_core.base.settings import settings
from coupling_core.serving.doctor import OTHERS
from explorer.frame.contents import PAGES
from explorer.server import backend
from explorer.server.sign_in import admits, look, provider_problem, read_auth

ROOT = Path(__file__).parents[2]
FILES = ["app.py", *(str(path.relative_to(ROOT)) for path in sorted(ROOT.glob("pages/*.py")))]
AUTH = {
    "redirect_uri": "https://coupling.example/oauth2callback",
    "cookie_secret": "0123456789abcdef0123456789abcdef",
    "client_id": "coupling",
    "client_secret": "known to the provider",
    "server_metadata_url": "https://127.0.0.1:9/.well-known/openid-configuration",
}
ANN = {"is_logged_in": True, "iss": "https://provider.example", "sub": "1"}
ANN |= {"email": "ann@uni.example", "email_verified": True}

# ---- the list

ALLOWED = ("*@uni.example", "kim@else.example")
ON_IT = (
    *("ann@uni.example", "Ann@UNI.example", "KIM@else.example"),
    "o'ann+a_b.c-d%e=f@uni.example",
)
NOT_ON_IT = (
    *("other@else.example", "ann@sub.uni.example", "ann@uni.example.evil.example", "uni.example"),
    *("ann@uni.example@evil.example", "@", "", "*", "kim@else.example "),
    "\u212aim@else.example",  # the sign of the kelvin, whose small letter is k
    "ann@\uff55ni.example",  # a full-width u
    "\u0430nn@uni.example",  # a Cyrillic a
    *("ann@uni.example\u200b", "ann\u202e@uni.example", "x@evil.example\n@uni.example"),
    *("x@evil.example @uni.example", "x@evil.example@uni.example"),
    *("x@evil.example,ann@uni.example", "x@evil.example;ann@uni.example"),
    *('"x@evil.example"@uni.example', '"ann"@uni.example', "x@evil.example(@uni.example"),
    *("ann(x)@uni.example", "Ann <ann@uni.example>", "<ann@uni.example>", "ann@uni.example\n"),
    *("\nann@uni.example", " ann@uni.example", "ann @uni.example", "ann@ uni.example"),
    *("ann\0@uni.example", "ann\t@uni.example", "ann%40evil.example\r@uni.example"),
    *("@uni.example", "@@uni.example", ".ann@uni.example", "ann.@uni.example"),
    *("a..nn@uni.example", "ann@uni.example.", "ann@.uni.example", "ann@[uni.example]"),
    *("ann:x@uni.example", "ann\\@uni.example", "mailto:ann@uni.example"),
)


def test_who_is_on_the_list_comes_in_and_nobody_else() -> None:
    assert [address for address in ON_IT if not admits(ALLOWED, address)] == []
    assert [address for address in NOT_ON_IT if admits(ALLOWED, address)] == []


# ---- the door


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Those of a university may use the app."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COUPLING_SIGN_IN", "*@uni.example")
    settings.cache_clear()
    backend.store.forget()
    yield monkeypatch
    settings.cache_clear()


def opened(file: str, user: dict[str, Any], secrets: dict[str, Any] | None = None) -> AppTest:
    """A page as its link alone runs it."""
    app = AppTest.from_file(str(ROOT / file), default_timeout=PATIENCE)
    app.secrets.update({"auth": AUTH} if secrets is None else secrets)
    app.user = user
    return app.run()


def shown(app: AppTest) -> list[str]:
    """What there is on a page, but for what nobody sees."""
    unseen = ("main", "sidebar", "html")
    return [element.type for element in (*app.main, *app.sidebar) if element.type not in unseen]


def test_before_signing_in_every_page_is_a_button_and_nothing_else(asked) -> None:
    assert sorted(page.file for page in PAGES.values()) == sorted(FILES)
    for file in FILES:
        app = opened(file, {"is_logged_in": False})
        assert (file, shown(app)) == (file, ["button"])
        assert app.button[0].label == "Sign in"
        assert "_chosen" not in app.session_state


def test_after_signing_in_there_is_the_page_and_a_way_out(asked) -> None:
    app = opened("app.py", ANN)
    assert app.title
    (asking,) = [one for one in app.sidebar.get("popover") if "Sign out" in one.proto.popover.label]
    assert asking.proto.popover.label == "Sign out ann@uni.example"
    (button,) = asking.button
    left = button.click().run()
    assert not left.title
    assert shown(left.run()) == ["button"]


def test_who_is_not_meant_is_shown_nothing(asked, snapshot) -> None:
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


def test_a_sign_in_lasts_for_thirty_days_though_a_tab_stays_open(asked) -> None:
    for days, is_over in ((29, False), (30.01, True)):
        app = opened("app.py", ANN | {"iat": int(time.time() - days * 86_400)})
        assert (shown(app) == ["button"], not app.title) == (is_over, is_over)


def test_whoever_can_sign_in_may_use_it_where_it_says_so(asked) -> None:
    asked.setenv("COUPLING_SIGN_IN", "*")
    settings.cache_clear()
    assert opened("app.py", {"is_logged_in": True, "iss": "p", "sub": "1"}).title
    assert shown(opened("app.py", {"is_logged_in": "yes"})) == ["button"]


WRONG = {
    "no secrets": {},
    "no section": {"auth": None},
    "an empty section": {"auth": {}},
    "a secret that is no text": {"auth": AUTH | {"client_secret": 3}},
    "a short cookie secret": {"auth": AUTH | {"cookie_secret": "guess"}},
    "another callback": {"auth": AUTH | {"redirect_uri": "https://coupling.example/"}},
    "a file for a provider": {"auth": AUTH | {"server_metadata_url": "file:///etc/passwd"}},
}


def test_an_app_that_nobody_can_sign_in_to_shows_nothing(asked, snapshot) -> None:
    told = {}

    def open_it(name: str, secrets: dict[str, Any] | None = None) -> None:
        settings.cache_clear()
        app = opened("app.py", ANN, secrets)
        assert (name, shown(app)) == (name, ["error"])
        told[name] = app.error[0].value

    for name, secrets in WRONG.items():
        open_it(name, secrets)
    for value in ("", "true", "uni.example", "*@", "a@b@c", "a*@b.example"):
        asked.setenv("COUPLING_SIGN_IN", value)
        open_it(f"who may use it: {value!r}")
    asked.setenv("COUPLING_SIGN_IN", "*@uni.example")
    asked.setitem(sys.modules, "authlib", None)
    open_it("no Authlib")
    assert told == snapshot


# ---- what is said of it before anybody comes


def write_secrets(folder: Path, text: str) -> None:
    (folder / ".streamlit").mkdir(parents=True, exist_ok=True)
    (folder / ".streamlit" / "secrets.toml").write_text(text)


def test_a_later_file_of_secrets_counts_more(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    assert read_auth() is None
    for folder, number in (("home", 1), (".", 2)):
        write_secrets(tmp_path / folder, f"[auth]\na = {number}")
        assert read_auth() == {"a": number}
    write_secrets(tmp_path, "[auth")
    with pytest.raises(InputError, match="TOML"):
        read_auth()


def test_a_site_that_is_no_provider_or_out_of_reach_is_told() -> None:
    with saying(b"") as (url, handler):
        page = f"{url}/.well-known/openid-configuration"
        handler.said = json.dumps({"authorization_endpoint": "here"}).encode()
        assert provider_problem(page) == ""
        for said in ("<html>", "[]", "{}", "null"):
            handler.said = said.encode()
            assert provider_problem(page), said
    assert provider_problem("http://127.0.0.1:9/x")


SECRETS = "[auth]\n" + "\n".join(f"{name} = {json.dumps(text)}" for name, text in AUTH.items())


DOCTOR = (
    (None, "", "ok", "whoever reaches"),
    (None, SECRETS, "note", "not used"),
    ("*@uni.example", "", "wrong", "no section [auth]"),
    ("*@uni.example", SECRETS.replace("0123", ""), "wrong", "32"),
    ("*@uni.example", SECRETS, "ok", "*@uni.example"),
    ("*@uni.example", SECRETS, "wrong", "provider"),
)
"""Who may sign in, the secrets, and what of it the doctor finds and tells."""


def test_the_doctor_knows_whether_people_can_sign_in(monkeypatch, tmp_path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (declared,) = project["entry-points"][OTHERS].items()
    assert EntryPoint(*declared, OTHERS).load() is look
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for allowed, secrets, state, told in DOCTOR:
        write_secrets(tmp_path, secrets)
        if allowed:
            monkeypatch.setenv("COUPLING_SIGN_IN", allowed)
        settings.cache_clear()
        assert [text for found, text in look() if found == state and told in text], told
