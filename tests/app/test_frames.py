"""Who may show the app in a frame, as it is set; and what a browser is to fetch with it."""

from pathlib import Path

import pytest
import streamlit

from coupling_core.base.settings import settings
from explorer.server.headers import early, headers


def policy(monkeypatch: pytest.MonkeyPatch, framed_by: str) -> tuple[str, str | None]:
    monkeypatch.setenv("COUPLING_FRAMED_BY", framed_by)
    settings.cache_clear()
    told = headers()
    return told["Content-Security-Policy"].partition(";")[0], told.get("X-Frame-Options")


def test_the_sites_that_are_named_may_frame_it_and_no_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hub = "https://huggingface.co"
    assert policy(monkeypatch, f"{hub}, https://*.uni.example:8443") == (
        f"frame-ancestors 'self' {hub} https://*.uni.example:8443",
        None,
    )
    for none in ("", "*", "huggingface.co", "https://a b", "https://a;x", "https://a/b", "data:"):
        assert policy(monkeypatch, none) == ("frame-ancestors 'self'", "SAMEORIGIN"), none


def test_what_draws_figures_is_fetched_with_the_page() -> None:
    name = early().partition("/js/")[2].partition(">")[0]
    assert (Path(streamlit.__file__).parent / "static/static/js" / name).is_file()
    assert early().endswith("; rel=modulepreload; crossorigin")
