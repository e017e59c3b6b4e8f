"""The control that asks for a file."""

from collections.abc import Callable, Sequence

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.typing import UploadedFile

from explorer.server import visitors
from explorer.server.uploads import megabytes, uploads


def uploader(
    label: str, key: str, endings: Sequence[str], on_change: Callable[[], None], help: str
) -> None:
    """Draw it; without it, a page is handed no file.

    `on_change` is called once a file has come, and has `taken` give it.
    """
    uploads.ask(visitors.session())
    st.file_uploader(
        label,
        type=list(endings),
        key=key,
        max_upload_size=megabytes(),
        on_change=on_change,
        help=help,
    )


def taken(key: str) -> UploadedFile | None:
    """The file that has come, which the server keeps no longer; None where it was taken back."""
    file = st.session_state.get(key)
    if not isinstance(file, UploadedFile):
        return None
    if context := get_script_run_ctx():
        context.uploaded_file_mgr.remove_session_files(context.session_id)
    return file
