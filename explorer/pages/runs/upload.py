"""Adding results from a file: to the store at home, to the session alone where strangers come."""

import streamlit as st

from coupling_core.base.errors import CouplingError, InputError
from coupling_core.base.settings import settings
from coupling_core.base.units import size
from coupling_core.store.archive import SUFFIX
from coupling_core.store.packs import Packed, take_in
from explorer.panels.uploader import taken, uploader
from explorer.server import admission, backend
from explorer.session.plain_text import plain, sentence

_FILE, _SAID = "file@runs", "_said_of_file"


def upload() -> None:
    """Draw the control, and what became of the last file."""
    for_all = admission.may_change_store()
    uploader(
        "Add the file of a result" + ", or of several" * for_all,
        _FILE,
        [SUFFIX, ".zip"] if for_all else [SUFFIX],
        on_change=_take_in,
        help="As the button Download"
        + (
            " or `coupling runs export` writes it. Every byte is verified."
            if for_all
            else " writes it. Every byte is verified. Only you see it, until you leave."
        ),
    )
    good, bad = st.session_state.pop(_SAID, ([], []))
    if good:
        st.success("  \n".join(good))
    if bad:
        st.error("  \n".join(bad), icon=":material/error:")


def _take_in() -> None:
    """Put what came into its store; for the callback of the control."""
    file = taken(_FILE)
    if file is None:
        return
    good, bad = st.session_state[_SAID] = ([], [])
    most = settings().upload_bytes
    try:
        if file.size > most:
            raise InputError(f"{file.name} has {size(file.size)}, and {size(most)} are taken here")
        for found in take_in(
            file, f"the file {file.name}", backend.shelf(), packs=admission.may_change_store()
        ):
            (bad if found.problem else good).append(_told(found))
    except CouplingError as error:
        bad.append(sentence(error))


def _told(found: Packed) -> str:
    if found.problem:
        return f"`{plain(found.name)}` was refused: {plain(found.problem)}."
    return f"`{found.name}` was there before." if found.state != "new" else f"Added `{found.name}`."
