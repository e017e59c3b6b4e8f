"""Which addresses a list lets in, and what is said of a provider that lets nobody in."""

import json
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from saying import saying

from coupling_core.base.errors import InputError
from coupling_core.serving.doctor import OTHERS
from explorer.server.sign_in import admits, look, provider_problem, read_auth

ROOT = Path(__file__).parents[2]
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


def test_a_later_file_of_secrets_counts_more(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    assert read_auth() is None
    for folder, text in (("home", "[auth]\na = 1"), (".", "[auth]\na = 2")):
        (tmp_path / folder / ".streamlit").mkdir(parents=True)
        (tmp_path / folder / ".streamlit" / "secrets.toml").write_text(text)
        assert read_auth() == {"a": 1 if folder == "home" else 2}
    (tmp_path / ".streamlit" / "secrets.toml").write_text("[auth")
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


AUTH = """[auth]
redirect_uri = "https://coupling.example/oauth2callback"
cookie_secret = "0123456789abcdef0123456789abcdef"
client_id = "coupling"
client_secret = "known to the provider"
server_metadata_url = "http://127.0.0.1:9/.well-known/openid-configuration"
"""


@pytest.mark.parametrize(
    ("allowed", "secrets", "state", "told"),
    [
        (None, "", "ok", "whoever reaches"),
        (None, AUTH, "note", "not used"),
        ("*@uni.example", "", "wrong", "no section [auth]"),
        ("*@uni.example", AUTH.replace("0123", ""), "wrong", "32"),
        ("*@uni.example", AUTH, "ok", "*@uni.example"),
        ("*@uni.example", AUTH, "wrong", "provider"),
    ],
)
def test_the_doctor_knows_whether_people_can_sign_in(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    allowed: str | None,
    secrets: str,
    state: str,
    told: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / ".streamlit").mkdir()
    (tmp_path / ".streamlit" / "secrets.toml").write_text(secrets)
    if allowed:
        monkeypatch.setenv("COUPLING_SIGN_IN", allowed)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (declared,) = project["entry-points"][OTHERS].items()
    assert EntryPoint(*declared, OTHERS).load() is look
    assert [text for found_state, text in look() if found_state == state and told in text]
