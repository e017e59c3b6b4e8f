"""Who may use the app where people sign in, and what Streamlit needs to know of their provider."""

import json
import re
import tomllib
import urllib.request
from collections.abc import Collection, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from coupling_core.base.errors import InputError
from coupling_core.base.extras import remedy
from coupling_core.base.settings import settings

ANYONE = "*"
"""In place of addresses: whoever the provider lets sign in."""

SECRET_LENGTH = 32
"""Characters of `cookie_secret` at least: who guesses it can forge anybody's cookie."""

_ATOM = r"[\w!#$%&'*+/=?^`{|}~-]+"
_ADDRESS = re.compile(rf"{_ATOM}(\.{_ATOM})*@[a-z0-9.-]+", re.ASCII | re.IGNORECASE)
"""An address as people have them (RFC 5322's dot-atom): no quotes, comments, spaces or breaks,
which programs read in different ways, and no letters of other alphabets, which look alike."""

SECONDS = 5
_FILES = (Path("~/.streamlit/secrets.toml"), Path(".streamlit/secrets.toml"))
_NEEDED = ("redirect_uri", "cookie_secret", "client_id", "client_secret", "server_metadata_url")


def look() -> Iterator[tuple[str, str]]:
    """What `coupling doctor` is told: as it has them, states with what was found."""
    auth, allowed = read_auth(), settings().sign_in
    if allowed is None:
        unused = "; [auth] of secrets.toml is not used: set sign_in" if auth else ""
        yield ("note" if auth else "ok"), f"whoever reaches the app may use it{unused}"
    elif wrong := problem(auth):
        yield "wrong", wrong
    elif auth:
        url = auth["server_metadata_url"]
        yield "ok", f"{', '.join(allowed)} may use the app, by {url}"
        if wrong := provider_problem(url):
            yield "wrong", wrong


def read_auth() -> Mapping[str, Any] | None:
    """The section `[auth]` of the secrets that Streamlit would read here; None without one."""
    found: dict[str, Any] = {}
    for path in (file.expanduser() for file in _FILES):
        try:
            found |= tomllib.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            raise InputError(f"{path} cannot be read as TOML: {error}") from error
    return found.get("auth")


def problem(auth: Mapping[str, Any] | None) -> str:
    """Why nobody can sign in; "" where nothing is known to be wrong."""
    if find_spec("authlib") is None:
        return f"nobody can sign in, since Authlib is missing: {remedy('app')}"
    if not isinstance(auth, Mapping):
        return "nobody can sign in, since Streamlit's secrets.toml has no section [auth]: write it"
    if missing := [name for name in _NEEDED if not isinstance(auth.get(name), str)]:
        return (
            f"nobody can sign in, since [auth] of secrets.toml lacks {', '.join(missing)}: add it"
        )
    if not auth["redirect_uri"].endswith("/oauth2callback"):
        return (
            "nobody can sign in, since redirect_uri in [auth] of secrets.toml must be the app's "
            "address followed by /oauth2callback"
        )
    if not auth["server_metadata_url"].startswith(("https://", "http://")):
        return "nobody can sign in, since server_metadata_url in [auth] must begin with https://"
    if len(auth["cookie_secret"]) < SECRET_LENGTH:
        return (
            f"nobody can sign in, since cookie_secret in [auth] of secrets.toml has less than "
            f"{SECRET_LENGTH} characters and could be guessed: give a random one"
        )
    return ""


def provider_problem(url: str) -> str:
    """Why the provider cannot sign anybody in at this moment; "" where it answers."""
    try:
        with urllib.request.urlopen(url, timeout=SECONDS) as answer:  # nosec B310  # `problem` looked
            json.load(answer)["authorization_endpoint"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        return f"{url} does not answer as a provider of OpenID Connect ({error})"
    return ""


def admits(allowed: Collection[str], address: str) -> bool:
    """Whether the whole of an address is among those allowed, by itself or by its domain."""
    if not _ADDRESS.fullmatch(address):
        return False
    _, domain = address.lower().split("@")
    return not {address.lower(), f"*@{domain}"}.isdisjoint(map(str.lower, allowed))
