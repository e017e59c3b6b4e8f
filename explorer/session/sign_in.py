"""The one door of the app: where people sign in, no page shows anything before they have."""

import time
from collections.abc import Collection
from hashlib import sha256
from typing import Any

import streamlit as st

from coupling_core.base.errors import InputError
from coupling_core.base.settings import settings
from explorer.server.sign_in import ANYONE, admits, problem, provider_problem
from explorer.session.plain_text import plain, sentence

LASTS = 30 * 86_400
"""Seconds from a sign-in after which another is asked for, also of a tab that stayed open."""

# A provider sends everybody back to the Start page: the tab remembers which link was opened.
_REMEMBER_LINK = "<script>sessionStorage.setItem('coupling-link', location.href)</script>"
_RETURN_TO_LINK = """<script>{
const link = sessionStorage.getItem('coupling-link');
sessionStorage.removeItem('coupling-link');
if (link && link !== location.href) location.replace(link);
}</script>"""


def require() -> None:
    """End the page here unless whoever looks at it may use the app."""
    allowed = settings().sign_in
    if allowed is None:
        return
    auth = _auth()
    if wrong := problem(auth):
        raise InputError(wrong)
    if st.user.get("is_logged_in") is not True or _is_over():
        _offer_sign_in(auth["server_metadata_url"])
        st.stop()
    if refusal := _refusal(allowed):
        st.error(refusal, icon=":material/block:")
        offer_sign_out()
        st.stop()
    st.html(_RETURN_TO_LINK, unsafe_allow_javascript=True)


def person() -> str | None:
    """Who is signed in, by a name that tells nothing of them; None where nobody needs to."""
    if settings().sign_in is None:
        return None
    return sha256(f"{st.user['iss']} {st.user['sub']}".encode()).hexdigest()


def offer_sign_out() -> None:
    """Say who is signed in, with a way out."""
    if settings().sign_in is None:
        return
    who = st.user.get("email") or st.user.get("name") or ""
    with st.popover(plain(f"Sign out {who}"), type="tertiary"):
        st.caption(
            "In this browser (other tabs follow when they are reloaded), and at the sign-in's "
            "provider where it offers that."
        )
        if st.button("Sign out"):
            st.logout()
            st.stop()


def _is_over() -> bool:
    """Whether they signed in too long ago, by what their provider says of the time."""
    signed_in = st.user.get("iat")
    return isinstance(signed_in, int | float) and time.time() - signed_in > LASTS


def _auth() -> Any:
    return st.secrets.get("auth") if st.secrets.load_if_toml_exists() else None


def _offer_sign_in(url: str) -> None:
    st.html(_REMEMBER_LINK, unsafe_allow_javascript=True)
    if not st.button("Sign in", type="primary"):
        return
    if wrong := provider_problem(url):
        st.error(sentence(f"{wrong}: try again in a few minutes"), icon=":material/error:")
    else:
        st.login()


def _refusal(allowed: Collection[str]) -> str:
    """Why somebody who is signed in may not use the app; "" where they may."""
    if ANYONE in allowed:
        return ""
    address = st.user.get("email")
    if not isinstance(address, str):
        return "You are signed in without an e-mail address, and this app asks for one."
    if st.user.get("email_verified") is not True:
        return (
            f"Whoever signed you in does not say that {plain(address)} has been verified as yours."
        )
    if not admits(allowed, address):
        return f"{plain(address)} may not use this app. Ask whoever runs it to add your address."
    return ""
